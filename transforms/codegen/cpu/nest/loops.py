"""Writes loops: their blocks, their indices, and registers that are carried around."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from wengert.transforms.codegen.cpu.nest.context import Context
from wengert.transforms.codegen.llvm.scalars import Value


class OpenLoop(Struct, frozen=True):
    """An open loop: its label, its index and the index of the next iteration, and carried registers with their values after one."""

    label: str
    index: str
    following: str
    carried: list[tuple[str, str]]


class LoopEmitter:
    """Opens and closes loops."""

    def __init__(self, nest: Context):
        self.nest = nest
        self.out = nest.out

    def open(self, start: int | str, starts: list[tuple[str, str]]) -> OpenLoop:
        """Opens a loop from ``start`` with registers that are carried around: (type, initial value)."""
        label = self.nest.out.label("loop")
        before, latch = f"{label}.before", f"{label}.latch"
        index, following = self.out.fresh(), self.out.fresh()
        self.out.line(f"br label %{before}")
        self.out.line(f"{before}:")
        self.out.line(f"br label %{label}")
        self.out.line(f"{label}:")
        self.out.line(f"{index} = phi i64 [{start}, %{before}], [{following}, %{latch}]")
        carried: list[tuple[str, str]] = []
        for kind, initial in starts:
            name, after = self.out.fresh(), self.out.fresh()
            self.out.line(f"{name} = phi {kind} [{initial}, %{before}], [{after}, %{latch}]")
            carried.append((name, after))
        return OpenLoop(label, index, following, carried)

    def close(self, loop: OpenLoop, step: int, end: int | str, finals: list[tuple[str, str]]) -> None:
        """Closes a loop; ``finals`` are the (type, value) that the carried registers have after an iteration."""
        for (_, after), (kind, value) in zip(loop.carried, finals, strict=True):
            self.out.line(f"{after} = {_copy(kind, value)}")
        self.out.line(f"br label %{loop.label}.latch")
        self.out.line(f"{loop.label}.latch:")
        self.out.line(f"{loop.following} = add nuw nsw i64 {loop.index}, {step}")
        test = self.out.fresh()
        self.out.line(f"{test} = icmp ult i64 {loop.following}, {end}")
        self.out.line(f"br i1 {test}, label %{loop.label}, label %{loop.label}.after")
        self.out.line(f"{loop.label}.after:")


def regroup(names: Iterable[str], like: Value) -> Value:
    """The next one or two names, as a value of the same form as another."""
    source = iter(names)
    return (next(source), next(source)) if isinstance(like, tuple) else next(source)


def _copy(kind: str, value: str) -> str:
    """An instruction whose result is the value (LLVM has no move)."""
    return f"bitcast {kind} {value} to {kind}"
