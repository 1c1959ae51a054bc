"""Writes LLVM functions as text: fresh names, typed instructions, addresses, structured loops and branches.

A value is the name of a register (``%v12``), of a parameter, or a literal; its type is given with every instruction, as in
LLVM's own text. Nothing here knows a processor: how wide vectors are, which address spaces there are and which
functions may be called is for those who use it to say.

The text is appended line by line and never read again. An object for each instruction would let one inspect and change it, and
cost several times as long (see ``docs/decisions/0017-one-llvm-builder.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from wengert.transforms.codegen.llvm.control_flow import Conditional, Loop, Switch
from wengert.transforms.codegen.llvm.module import ModuleBuilder
from wengert.transforms.codegen.llvm.types import Element, vector

Index = str | int
"""A register, or a number that is known; arithmetic on known numbers costs no instruction."""
Operand = tuple[str, str]
"""A type and a value."""


class FunctionBuilder:
    """Appends the instructions of one function's body.

    Attributes:
        lines: the body so far, without the function's head; ``line`` appends to it.
        module: what the module must contain besides this function.
        index_type: the type of loop counters and of index arithmetic.
        address_spaces: the address spaces of pointers that are not generic, such as parameters of a GPU's kernel; what is
            computed from such a pointer has the same one.
    """

    def __init__(self, module: ModuleBuilder | None = None, *, index_type: str = "i64"):
        self.module = ModuleBuilder() if module is None else module
        self.index_type = index_type
        self.lines: list[str] = []
        self.line: Callable[[str], None] = self.lines.append
        self.address_spaces: dict[str, int] = {}
        self._count = 0
        self._labels = 0
        self._allocas: list[str] = []
        self._shared: list[dict[str, str]] = [{}]

    # -- names and text

    def fresh(self) -> str:
        """A register that has not been used."""
        self._count += 1
        return f"%v{self._count}"

    def label(self, name: str) -> str:
        """A label that has not been used, without the percent sign."""
        self._labels += 1
        return f"{name}{self._labels}"

    def op(self, text: str) -> str:
        """Appends an instruction; its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.line(f"{name} = {text}")
        return name

    def shared(self, text: str) -> str:
        """The result of an instruction without effects, which is written once wherever it is known to have been computed."""
        for scope in self._shared:
            if (known := scope.get(text)) is not None:
                return known
        result = self._shared[-1][text] = self.op(text)
        return result

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

    # -- instructions

    def binary(self, opcode: str, type: str, x: str, y: str) -> str:
        return self.op(f"{opcode} {type} {x}, {y}")

    def icmp(self, predicate: str, type: str, x: Index, y: Index) -> str:
        return self.op(f"icmp {predicate} {type} {x}, {y}")

    def fcmp(self, predicate: str, type: str, x: str, y: str) -> str:
        return self.op(f"fcmp {predicate} {type} {x}, {y}")

    def select(self, condition: str, type: str, x: Index, y: Index) -> str:
        """x if the ``i1`` holds, else y, both of any type."""
        return self.op(f"select i1 {condition}, {type} {x}, {type} {y}")

    def cast(self, opcode: str, x: Index, source: str, target: str) -> str:
        return self.op(f"{opcode} {source} {x} to {target}")

    def call(self, symbol: str, result: str, operands: Sequence[Operand]) -> str:
        """Calls a function; its result."""
        return self.op(f"call {result} @{symbol}({', '.join([f'{type} {value}' for type, value in operands])})")

    def call_void(self, symbol: str, operands: Sequence[Operand]) -> None:
        """Calls a function that returns nothing."""
        self.line(f"call void @{symbol}({', '.join([f'{type} {value}' for type, value in operands])})")

    def intrinsic(self, name: str, type: str, *operands: Index) -> str:
        """Calls an intrinsic function of scalar operands of one integer type, which is that of its result."""
        return self.op(f"call {type} @llvm.{name}.{type}({', '.join([f'{type} {x}' for x in operands])})")

    def phi(self, type: str, incoming: Sequence[tuple[str, str]]) -> str:
        """The value by the block from which control came: pairs of a value and a label."""
        return self.op(f"phi {type} {', '.join([f'[{value}, %{label}]' for value, label in incoming])}")

    # -- memory

    def pointer(self, pointer: str) -> str:
        """The operand with its type, which names the address space if that is not the generic one."""
        space = self.address_spaces.get(pointer)
        return f"ptr {pointer}" if space is None else f"ptr addrspace({space}) {pointer}"

    def load(self, type: str, pointer: str, align: int = 0) -> str:
        return self.op(f"load {type}, {self.pointer(pointer)}{f', align {align}' if align else ''}")

    def store(self, type: str, value: Index, pointer: str, align: int = 0) -> None:
        self.line(f"store {type} {value}, {self.pointer(pointer)}{f', align {align}' if align else ''}")

    def alloca(self, type: str, align: int = 0) -> str:
        """Memory on the stack for as long as the function runs, wherever this is asked for."""
        name, space = self.fresh(), self.module.address_spaces.stack
        placed = f", addrspace({space})" if space else ""
        self._allocas.append(f"{name} = alloca {type}{f', align {align}' if align else ''}{placed}")
        return self._in_space(name, space)

    def constant(self, symbol: str, type: str, initializer: str, *, linkage: str = "internal", align: int = 0) -> str:
        """The address of a constant of the module, by its symbol."""
        name = f"@{self.module.constant(symbol, type, initializer, linkage=linkage, align=align)}"
        return self._in_space(name, self.module.address_spaces.constants)

    def offset(self, pointer: str, type: str, index: Index) -> str:
        """The address so many elements of this type further on."""
        if index == 0:
            return pointer
        result = self.op(f"getelementptr {type}, {self.pointer(pointer)}, {self.index_type} {index}")
        return self._in_space(result, self.address_spaces.get(pointer, 0)) if self.address_spaces else result

    def address(self, pointer: str, element: Element, index: Index) -> str:
        """The address of an element of an array."""
        return self.offset(pointer, f"[2 x {element.memory}]" if element.kind == "c" else element.memory, index)

    def shared_offset(self, pointer: str, type: str, index: str = "0", scale: int = 1, offset: int = 0) -> str:
        """The address of element ``index * scale + offset``, whose parts are computed once for all addresses that have them in common."""
        if index != "0" and scale:
            scaled = index if scale == 1 else self.shared(f"mul nuw nsw {self.index_type} {index}, {scale}")
            pointer = self._shared_step(pointer, type, scaled)
        return self._shared_step(pointer, type, offset) if offset else pointer

    def _shared_step(self, pointer: str, type: str, index: Index) -> str:
        result = self.shared(f"getelementptr {type}, {self.pointer(pointer)}, {self.index_type} {index}")
        return self._in_space(result, self.address_spaces.get(pointer, 0)) if self.address_spaces else result

    def _in_space(self, pointer: str, space: int) -> str:
        if space:
            self.address_spaces[pointer] = space
        return pointer

    # -- index arithmetic

    def add(self, x: Index, y: Index) -> Index:
        """x + y."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.op(f"add nsw {self.index_type} {x}, {y}")

    def multiply(self, x: Index, y: Index) -> Index:
        """x y."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if x == 0 or y == 0:
            return 0
        if x == 1 or y == 1:
            return y if x == 1 else x
        return self.op(f"mul nsw {self.index_type} {x}, {y}")

    def linear(self, terms: Sequence[tuple[Index, Index]], offset: Index = 0) -> Index:
        """The sum of the products, plus an offset."""
        total = offset
        for x, y in terms:
            total = self.add(total, self.multiply(x, y))
        return total

    # -- vectors

    def splat(self, type: str, scalar: str, lanes: int) -> str:
        """A scalar register in every lane."""
        if lanes == 1:
            return scalar
        kind = vector(type, lanes)
        first = self.op(f"insertelement {kind} poison, {type} {scalar}, i32 0")
        return self.op(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def insert(self, type: str, lanes: int, whole: str, scalar: str, lane: Index) -> str:
        """The vector with another scalar in one lane."""
        return self.op(f"insertelement <{lanes} x {type}> {whole}, {type} {scalar}, {self._lane(lane)}")

    def extract(self, type: str, lanes: int, whole: str, lane: Index) -> str:
        """One lane of a vector."""
        return self.op(f"extractelement <{lanes} x {type}> {whole}, {self._lane(lane)}")

    def _lane(self, lane: Index) -> str:
        return f"i32 {lane}" if isinstance(lane, int) else f"{self.index_type} {lane}"

    def shuffle(self, type: str, lanes: int, x: str, y: str, order: Sequence[int]) -> str:
        """A vector of the lanes with these numbers, of which those of y follow those of x."""
        kind, listed = f"<{lanes} x {type}>", ", ".join([f"i32 {lane}" for lane in order])
        return self.op(f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{listed}>")

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
        self._latch(label)
        following = self.op(f"add nsw {kind} {loop.index}, {-step if downward else step}")
        self.line(f"br label %{label}")
        self._close_loop(label, loop, phis, first, following, carried)

    @contextmanager
    def rotated_loop(self, end: Index, carried: Sequence[Operand] = (), *, start: Index = 0, step: int = 1) -> Generator[Loop]:
        """A loop from ``start`` up to ``end`` (excluded) that is known to have an iteration: the test is at its end, as after LLVM's loop rotation.

        The carried values of the last iteration are known after it without a register of their own.
        """
        label, kind = self.label("loop"), self.index_type
        loop, phis = self._open_loop(label, carried)
        yield loop
        self._latch(label)
        following = self.op(f"add nuw nsw {kind} {loop.index}, {step}")
        test = self.icmp("ult", kind, following, end)
        self.line(f"br i1 {test}, label %{label}, label %{label}.after")
        self._close_loop(label, loop, phis, start, following, carried)
        loop.results = loop.following

    def _open_loop(self, label: str, carried: Sequence[Operand]) -> tuple[Loop, int]:
        """The loop, and where its phis go, whose values are not known before its end."""
        loop = Loop(self.fresh(), [self.fresh() for _ in carried], [type for type, _ in carried])
        self.line(f"br label %{label}.before")
        self.line(f"{label}.before:")
        self.line(f"br label %{label}")
        self.line(f"{label}:")
        place = len(self.lines)
        self.lines += [""] * (1 + len(carried))
        self._shared.append({})
        return loop, place

    def _latch(self, label: str) -> None:
        self._shared.pop()
        self.line(f"br label %{label}.latch")
        self.line(f"{label}.latch:")

    def _close_loop(self, label: str, loop: Loop, phis: int, first: Index, following: str, carried: Sequence[Operand]) -> None:
        assert len(loop.following) == len(carried), "a loop must say what it carries on"
        self.line(f"{label}.after:")
        before, latch = f"%{label}.before", f"%{label}.latch"
        self.lines[phis] = f"{loop.index} = phi {self.index_type} [{first}, {before}], [{following}, {latch}]"
        for number, ((type, initial), name, after) in enumerate(zip(carried, loop.values, loop.following, strict=True), phis + 1):
            self.lines[number] = f"{name} = phi {type} [{initial}, {before}], [{after}, {latch}]"

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
    def when(self, condition: str) -> Generator[None]:
        """Runs what is inside only if the condition holds."""
        label = self.label("when")
        self.line(f"br i1 {condition}, label %{label}.then, label %{label}.after")
        self.line(f"{label}.then:")
        self._shared.append({})
        yield
        self._shared.pop()
        self.line(f"br label %{label}.after")
        self.line(f"{label}.after:")

    @contextmanager
    def conditional(self, condition: str, types: Sequence[str] = ()) -> Generator[Conditional]:
        """What follows is done if the condition holds, and what comes after ``otherwise()`` if not; each gives values of these types."""
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
        """An alternative begins: what the one before has computed is not known in it."""
        self._shared[-1] = {}

    def _join(self, label: str, branches: Conditional | Switch, types: Sequence[str]) -> None:
        branches.end()
        self._shared.pop()
        self.line(f"{label}.after:")
        branches.results = [self.phi(type, branches.incoming(number)) for number, type in enumerate(types)]

    def rarely(self, condition: str, usual: Sequence[Operand], otherwise: Callable[[], Sequence[str]]) -> list[str]:
        """The usual values, or if the condition holds all of them computed anew, in a block that is mostly jumped over."""
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
        return [self.phi(type, [(x, label), (y, last)]) for (type, x), y in zip(usual, anew, strict=True)]
