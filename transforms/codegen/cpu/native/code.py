"""The text of one native function, written with structured loops instead of labels and phis.

``with code.loop(0, n, carried) as loop:`` opens a counted loop whose body sees ``loop.index`` and the carried registers
``loop.values``; the body gives their next values with ``loop.carry(...)``, and after the ``with`` statement ``loop.values``
are the final ones. The test is at the head, so a loop may have no trips.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from wengert.transforms.codegen.llvm.math import Emitter
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element, vector
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.target import Target

Index = str | int


class Loop:
    """An open loop: its index, the registers that it carries, and what they become."""

    def __init__(self, index: str, values: list[str], kinds: list[str]):
        self.index = index
        self.values = values
        self.kinds = kinds
        self.following: list[str] = []

    def carry(self, *values: str) -> None:
        """The carried registers of the next trip."""
        assert len(values) == len(self.values)
        self.following = list(values)


class Code:
    """Appends instructions to the body of a function whose parameters are pointers: ``%p0...``, ``%q0...`` and ``%scratch``."""

    def __init__(self, target: Target, *, strict: bool, cut: Split | None = None):
        self.target = target
        self.cut = cut
        self.strict = strict
        self.out = Emitter(prefix="%v")
        self.symbols: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.labels = 0

    # -- instructions

    def line(self, text: str) -> None:
        """Appends one line."""
        self.out.line(text)

    def op(self, text: str) -> str:
        """Appends an instruction with a result."""
        name = self.out.fresh()
        self.out.line(f"{name} = {text}")
        return name

    def scalars(self, lanes: int = 1) -> Scalars:
        """Scalar functions on so many lanes."""
        return Scalars(self.out, lanes, not self.strict)

    def memory(self, lanes: int = 1, active: int | None = None) -> Memory:
        """Loads and stores of so many lanes, of which the first ``active`` take part."""
        return Memory(self.scalars(lanes), lanes if active is None else active)

    def call(self, symbol: str, arguments: Sequence[str]) -> None:
        """Calls an external function of pointers that returns nothing."""
        self.symbols[symbol] = f"declare void @{symbol}({', '.join(['ptr'] * len(arguments))})"
        self.line(f"call void @{symbol}({', '.join(f'ptr {a}' for a in arguments)})")

    def constant_at(self, kind: str, text: str | int | float) -> str:
        """The address of a constant, for functions that take everything by address."""
        name = "@KERNEL.constant." + "".join(c if c.isalnum() else "_" for c in f"{kind}.{text}")
        self.globals[name] = f"{name} = private unnamed_addr constant {kind} {text}"
        return name

    # -- integers

    def add(self, x: Index, y: Index) -> Index:
        """x + y."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.op(f"add nsw i64 {x}, {y}")

    def times(self, x: Index, y: Index) -> Index:
        """x y."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if x == 0 or y == 0:
            return 0
        if x == 1 or y == 1:
            return y if x == 1 else x
        return self.op(f"mul nsw i64 {x}, {y}")

    def at(self, terms: Sequence[tuple[Index, Index]], offset: Index = 0) -> Index:
        """The sum of the products, plus an offset."""
        total = offset
        for x, y in terms:
            total = self.add(total, self.times(x, y))
        return total

    def address(self, pointer: str, element: Element, index: Index) -> str:
        """The address of an element."""
        if index == 0:
            return pointer
        unit = f"[2 x {element.memory}]" if element.kind == "c" else element.memory
        return self.op(f"getelementptr {unit}, ptr {pointer}, i64 {index}")

    def byte(self, pointer: str, count: Index) -> str:
        """The address so many bytes further on."""
        return pointer if count == 0 else self.op(f"getelementptr i8, ptr {pointer}, i64 {count}")

    def splat(self, register: str, scalar: str, lanes: int) -> str:
        """A scalar in every lane."""
        if lanes == 1:
            return scalar
        kind = vector(register, lanes)
        first = self.op(f"insertelement {kind} poison, {register} {scalar}, i32 0")
        return self.op(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def widen(self, element: Element, value: Value, lanes: int) -> Value:
        """A value in every lane."""
        if isinstance(value, tuple):
            return self.splat(element.register, value[0], lanes), self.splat(element.register, value[1], lanes)
        return self.splat(element.register, value, lanes)

    # -- structure

    def label(self, name: str) -> str:
        """A new label."""
        self.labels += 1
        return f"{name}{self.labels}"

    @contextmanager
    def loop(self, start: Index, end: Index, carried: Sequence[tuple[str, str]] = (), *, step: int = 1, downward: bool = False) -> Generator[Loop]:
        """A loop from ``start`` up to ``end`` (excluded), or from ``end`` - 1 down to ``start``; ``carried`` lists types and initial values."""
        label = self.label("loop")
        first = self.add(end, -1) if downward else start
        index, following, test = self.out.fresh(), self.out.fresh(), self.out.fresh()
        names = [self.out.fresh() for _ in carried]
        self.line(f"br label %{label}.before")
        self.line(f"{label}.before:")
        self.line(f"br label %{label}")
        self.line(f"{label}:")
        phis = len(self.out.lines)
        self.out.lines += [""] * (1 + len(names))
        predicate, limit = ("sge", start) if downward else ("slt", end)
        self.line(f"{test} = icmp {predicate} i64 {index}, {limit}")
        self.line(f"br i1 {test}, label %{label}.body, label %{label}.after")
        self.line(f"{label}.body:")
        loop = Loop(index, names, [kind for kind, _ in carried])
        yield loop
        assert len(loop.following) == len(names), "a loop must say what it carries on"
        self.line(f"br label %{label}.latch")
        self.line(f"{label}.latch:")
        self.line(f"{following} = add nsw i64 {index}, {-step if downward else step}")
        self.line(f"br label %{label}")
        self.line(f"{label}.after:")
        incoming = [
            (index, "i64", first, following),
            *[(n, kind, initial, after) for n, (kind, initial), after in zip(names, carried, loop.following, strict=True)],
        ]
        for number, (name, kind, initial, after) in enumerate(incoming):
            self.out.lines[phis + number] = f"{name} = phi {kind} [{initial}, %{label}.before], [{after}, %{label}.latch]"

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        """Runs what is inside only if the condition holds."""
        label = self.label("when")
        self.line(f"br i1 {condition}, label %{label}.then, label %{label}.after")
        self.line(f"{label}.then:")
        yield
        self.line(f"br label %{label}.after")
        self.line(f"{label}.after:")

    @contextmanager
    def loops(self, extents: Sequence[int]) -> Generator[list[Index]]:
        """Nested loops over a box; what they contain carries nothing. Extents of 1 cost no loop."""
        if not extents:
            yield []
            return
        if extents[0] == 1:
            with self.loops(extents[1:]) as inner:
                yield [0, *inner]
            return
        with self.loop(0, extents[0]) as outer, self.loops(extents[1:]) as inner:
            yield [outer.index, *inner]

    @contextmanager
    def dealt(self, extents: Sequence[int]) -> Generator[list[Index]]:
        """Nested loops over a box whose points are independent: all of them, or those of this chunk if the kernel is a task."""
        if self.cut is None:
            with self.loops(extents) as inner:
                yield inner
            return
        with self.loop("%begin", "%end") as loop:
            rest: Index = loop.index
            found: list[Index] = []
            for extent in reversed(extents):
                if len(found) == len(extents) - 1:
                    found.insert(0, rest)
                elif extent == 1:
                    found.insert(0, 0)
                else:
                    found.insert(0, self.op(f"urem i64 {rest}, {extent}"))
                    rest = self.op(f"udiv i64 {rest}, {extent}")
            yield found
