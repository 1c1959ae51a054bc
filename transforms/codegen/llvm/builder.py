"""Writes LLVM functions as text: instructions in structured loops and branches.

The text is appended line by line and never read again. An object for each instruction would let one inspect and change it, and
cost several times as long (see ``docs/decisions/0017-one-llvm-builder.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from wengert.transforms.codegen.llvm.control_flow import Conditional, Loop, Switch, WhileLoop
from wengert.transforms.codegen.llvm.instruction_builder import Index, InstructionBuilder, Operand

__all__ = ["FunctionBuilder", "Index", "Operand"]


class FunctionBuilder(InstructionBuilder):
    """Appends the body of one function: instructions, and blocks by structured loops and branches."""

    def body(self) -> list[str]:
        """The instructions, what is on the stack first."""
        return [*self._allocas, *self.lines]

    def definition(
        self, symbol: str, parameters: Sequence[str], *, result: str = "void", returns: str = "", head: str = "internal", attributes: str = ""
    ) -> str:
        """The function as text.

        Args:
            symbol: its name.
            parameters: its parameters with their types and attributes.
            result: the type of its result.
            returns: the value that it ends with.
            head: linkage and calling convention.
            attributes: what follows the parameters.
        """
        end = f"ret {result} {returns}" if returns else "ret void"
        first = " ".join([part for part in ("define", head, result, f"@{symbol}({', '.join(parameters)})", attributes, "{") if part])
        return "\n".join([first, *self.body(), end, "}"]) + "\n"

    def next_block(self) -> None:
        """Begins a new block in straight-line code."""
        label = self.label("next")
        self.line(f"br label %{label}")
        self.line(f"{label}:")

    # -- loops

    @contextmanager
    def loop(self, start: Index, end: Index, carried: Sequence[Operand] = (), *, step: int = 1, downward: bool = False) -> Generator[Loop]:
        """A loop from ``start`` up to ``end`` (excluded), or from ``end`` - 1 down to ``start``, which may have no iterations.

        Args:
            start: the first index, or the last one of a loop that counts down.
            end: the index after the last one.
            carried: types and initial values of what goes from one iteration to the next; the body says what by ``carry``.
            step: the distance between indices.
            downward: whether the loop counts down.
        """
        label, kind = self.label("loop"), self.index_type
        first = self.add(end, -1) if downward else start
        loop, phis = self._open_loop(label, carried)
        predicate, limit = ("sge", start) if downward else ("slt", end)
        test = self.icmp(predicate, kind, loop.index, limit)
        self.line(f"br i1 {test}, label %{label}.body, label %{label}.after")
        self.line(f"{label}.body:")
        yield loop
        assert len(loop.following) == len(carried), "a loop must say what it carries on"
        self._latch(label)
        following = self.op(f"add nsw {kind} {loop.index}, {-step if downward else step}")
        self.line(f"br label %{label}")
        self._close_loop(label, loop, phis, first, following, carried)

    @contextmanager
    def rotated_loop(self, end: Index, carried: Sequence[Operand] = (), *, start: Index = 0, step: Index = 1) -> Generator[Loop]:
        """A loop from ``start`` up to ``end`` (excluded) that is known to have an iteration: the test is at its end, as after LLVM's loop rotation.

        The carried values of the last iteration are known after it without a register of their own.
        """
        label, kind = self.label("loop"), self.index_type
        loop, phis = self._open_loop(label, carried)
        yield loop
        assert len(loop.following) == len(carried), "a loop must say what it carries on"
        self._latch(label)
        following = self.op(f"add nuw nsw {kind} {loop.index}, {step}")
        test = self.icmp("ult", kind, following, end)
        self.line(f"br i1 {test}, label %{label}, label %{label}.after")
        self._close_loop(label, loop, phis, start, following, carried)
        loop.results = loop.following

    def _open_loop(self, label: str, carried: Sequence[Operand]) -> tuple[Loop, int]:
        """The loop, and where its phis go."""
        loop = Loop(self.fresh(), [self.fresh() for _ in carried])
        return loop, self._open_block(label, 1 + len(carried))

    def _open_block(self, label: str, phis: int) -> int:
        """Begins the block to which a loop returns; where its phis go, whose values are not known before the end."""
        self.line(f"br label %{label}.before")
        self.line(f"{label}.before:")
        self.line(f"br label %{label}")
        self.line(f"{label}:")
        place = len(self.lines)
        self.lines += [""] * phis
        self._shared.append({})
        return place

    def _latch(self, label: str) -> None:
        self._shared.pop()
        self.line(f"br label %{label}.latch")
        self.line(f"{label}.latch:")

    def _close_loop(self, label: str, loop: Loop, place: int, first: Index, following: str, carried: Sequence[Operand]) -> None:
        phis = [(type, name, x, y) for (type, x), name, y in zip(carried, loop.values, loop.following, strict=True)]
        self._close_block(label, place, [(self.index_type, loop.index, first, following), *phis])

    def _close_block(self, label: str, place: int, phis: Sequence[tuple[str, str, Index, str]]) -> None:
        """Fills in the phis: their types, names, first values and values from the end of the loop."""
        self.line(f"{label}.after:")
        for number, (type, name, initial, following) in enumerate(phis, place):
            self.lines[number] = f"{name} = phi {type} [{initial}, %{label}.before], [{following}, %{label}.latch]"

    @contextmanager
    def while_loop(self, carried: Sequence[Operand]) -> Generator[WhileLoop]:
        """A loop without a counter: it ends where a condition fails that its body gives to ``test``."""
        label = self.label("while")
        values = [self.fresh() for _ in carried]
        place = self._open_block(label, len(carried))
        loop = WhileLoop(self.line, label, values)
        yield loop
        assert len(loop.following) == len(carried), "a loop must say what it carries on"
        self._latch(label)
        self.line(f"br label %{label}")
        self._close_block(label, place, [(type, name, x, y) for (type, x), name, y in zip(carried, values, loop.following, strict=True)])

    @contextmanager
    def loops(self, extents: Sequence[int]) -> Generator[list[Index]]:
        """Nested loops over a box, which carry nothing; their indices. Extents of 1 cost no loop."""
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
    def repeat(self, count: int) -> Generator[str]:
        """The index of a rotated loop of so many iterations, which carries nothing; one iteration costs no loop."""
        if count == 1:
            yield "0"
            return
        with self.rotated_loop(count) as loop:
            yield loop.index

    # -- branches

    @contextmanager
    def when(self, condition: str, metadata: str = "") -> Generator[None]:
        """Runs what is inside only if the condition holds; metadata may say how often it does."""
        label = self.label("when")
        self.line(f"br i1 {condition}, label %{label}.then, label %{label}.after{', ' if metadata else ''}{metadata}")
        self.line(f"{label}.then:")
        self._shared.append({})
        yield
        self._shared.pop()
        self.line(f"br label %{label}.after")
        self.line(f"{label}.after:")

    @contextmanager
    def leaving(self, condition: str, *, unless: bool = False) -> Generator[None]:
        """Runs what is inside, which returns from the function, if the condition holds, or unless it does."""
        label = self.label("leave")
        targets = (f"{label}.not", label) if unless else (label, f"{label}.not")
        self.line(f"br i1 {condition}, label %{targets[0]}, label %{targets[1]}")
        self.line(f"{label}:")
        yield
        self.line(f"{label}.not:")

    @contextmanager
    def conditional(self, condition: str, types: Sequence[str] = ()) -> Generator[Conditional]:
        """Runs what is inside before ``otherwise()`` if the condition holds, and what is after it if not; each alternative gives values of these types."""
        label = self.label("if")
        self.line(f"br i1 {condition}, label %{label}.then, label %{label}.else")
        branches = Conditional(self.line, self._forget, label, types)
        self._shared.append({})
        branches.begin("then")
        yield branches
        self._join(label, branches, types)

    @contextmanager
    def switch(self, type: str, value: str, types: Sequence[str] = ()) -> Generator[Switch]:
        """Alternatives by the value of an integer, each after ``case(...)`` or ``default()``; each gives values of these types."""
        label, place = self.label("switch"), len(self.lines)
        self.line("")
        branches = Switch(self.line, self._forget, label, types)
        self._shared.append({})
        yield branches
        assert branches.otherwise or not types, "a switch that gives values has a default"
        self._join(label, branches, types)
        targets = " ".join([f"{type} {number}, label %{target}" for number, target in branches.targets])
        self.lines[place] = f"switch {type} {value}, label %{branches.otherwise or f'{label}.after'} [{targets}]"

    def _forget(self) -> None:
        """Begins an alternative, in which the shared instructions of the one before are not known."""
        self._shared[-1] = {}

    def _join(self, label: str, branches: Conditional | Switch, types: Sequence[str]) -> None:
        branches.end()
        self._shared.pop()
        self.line(f"{label}.after:")
        branches.results = [self.phi(type, branches.incoming(number)) for number, type in enumerate(types)]

    def rarely(self, condition: str, likely: Sequence[Operand], otherwise: Callable[[], Sequence[str]]) -> list[str]:
        """The likely values, or if the condition holds all of them computed anew, in a block that is rarely run."""
        label = self.label("rarely")
        last = f"{label}.anew"
        self.line(f"br label %{label}")
        self.line(f"{label}:")
        self.line(f"br i1 {condition}, label %{last}, label %{label}.after")
        self.line(f"{last}:")
        self._shared.append({})
        begin = len(self.lines)
        anew = otherwise()
        if any(line.endswith(":") for line in self.lines[begin:]):  # what is computed has blocks of its own
            last = f"{label}.end"
            self.line(f"br label %{last}")
            self.line(f"{last}:")
        self._shared.pop()
        self.line(f"br label %{label}.after")
        self.line(f"{label}.after:")
        return [self.phi(type, [(x, label), (y, last)]) for (type, x), y in zip(likely, anew, strict=True)]
