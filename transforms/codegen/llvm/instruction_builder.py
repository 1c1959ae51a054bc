"""Writes LLVM instructions as text: fresh names, typed operations, memory and addresses, index arithmetic, vectors.

A value is the name of a register (``%12``), of a parameter, or a literal; its type is given with every instruction, as in
LLVM's own text. Registers are numbered as they follow one another in the text, which LLVM demands of those without a name: names go into a table,
and are made anew where functions are inlined, which takes it a twentieth of its time. Nothing here depends on a processor: callers choose how wide
vectors are, which address spaces there are and which functions are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.transforms.codegen.llvm.module import ModuleBuilder
from wengert.transforms.codegen.llvm.types import Element, vector

Index = str | int
"""A register, or a number that is known; arithmetic on known numbers costs no instruction."""
Operand = tuple[str, Index]
"""A type and a value."""


class InstructionBuilder:
    """Appends instructions to one function's body.

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
        """A register that has not been used: that of the next instruction of the text that has a result."""
        self._count += 1
        return f"%{self._count}"

    def label(self, name: str) -> str:
        """A label that has not been used, without the percent sign."""
        self._labels += 1
        return f"{name}{self._labels}"

    def op(self, text: str) -> str:
        """Appends an instruction; its result."""
        self._count += 1
        name = f"%{self._count}"
        self.line(f"{name} = {text}")
        return name

    def define(self, name: str, text: str) -> None:
        """Appends an instruction whose result has a name that is known beforehand."""
        self.line(f"{name} = {text}")

    def shared(self, text: str) -> str:
        """The result of an instruction without effects, which is written once wherever it is known to have been computed."""
        for scope in self._shared:
            if (known := scope.get(text)) is not None:
                return known
        result = self._shared[-1][text] = self.op(text)
        return result

    # -- instructions

    def binary(self, opcode: str, type: str, x: Index, y: Index) -> str:
        return self.op(f"{opcode} {type} {x}, {y}")

    def negate(self, type: str, x: str) -> str:
        """-x, for floats."""
        return self.op(f"fneg {type} {x}")

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

    def phi(self, type: str, incoming: Sequence[tuple[Index, str]]) -> str:
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
        """Memory on the stack for as long as the function runs, wherever in it this is called."""
        name, space = f"%slot{len(self._allocas)}", self.module.address_spaces.stack  # named, since it comes before what is numbered
        placed = f", addrspace({space})" if space else ""
        self._allocas.append(f"{name} = alloca {type}{f', align {align}' if align else ''}{placed}")
        return self._in_space(name, space)

    def constant(self, symbol: str, type: str, initializer: str, *, linkage: str = "internal", align: int = 0) -> str:
        """The address of a constant of the module, by its symbol."""
        name = f"@{self.module.constant(symbol, type, initializer, linkage=linkage, align=align)}"
        return self._in_space(name, self.module.address_spaces.constants)

    def offset(self, pointer: str, type: str, index: Index, index_type: str = "") -> str:
        """The address so many elements of this type further on."""
        if index == 0:
            return pointer
        result = self.op(f"getelementptr {type}, {self.pointer(pointer)}, {index_type or self.index_type} {index}")
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

    def set_bytes(self, pointer: str, count: Index, value: int = 0, *, align: int = 0) -> None:
        """Fills memory."""
        place = f"ptr align {align} {pointer}" if align else self.pointer(pointer)
        self.line(f"call void @llvm.memset.p{self.address_spaces.get(pointer, 0)}.i64({place}, i8 {value}, i64 {count}, i1 false)")

    def copy_bytes(self, source: str, target: str, count: Index) -> None:
        """Copies memory that does not overlap."""
        self._transfer("memcpy", source, target, count)

    def move_bytes(self, source: str, target: str, count: Index) -> None:
        """Copies memory that may overlap."""
        self._transfer("memmove", source, target, count)

    def _transfer(self, name: str, source: str, target: str, count: Index) -> None:
        spaces = [self.address_spaces.get(pointer, 0) for pointer in (target, source)]
        self.line(f"call void @llvm.{name}.p{spaces[0]}.p{spaces[1]}.i64({self.pointer(target)}, {self.pointer(source)}, i64 {count}, i1 false)")

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
        """A vector of the lanes with these numbers, of which those of y follow those of x; -1 is a lane that may hold anything."""
        kind, listed = f"<{lanes} x {type}>", ", ".join([f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in order])
        return self.op(f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{listed}>")

    def transposed(self, type: str, rows: Sequence[str]) -> list[str]:
        """As many vectors as they have lanes, transposed by exchanging blocks off the diagonal (J. O. Eklundh, 1972)."""
        lanes, rows, block = len(rows), list(rows), 1
        while block < lanes:
            low = [lane if not lane & block else lanes + lane - block for lane in range(lanes)]
            high = [lane + block if not lane & block else lanes + lane for lane in range(lanes)]
            for i in range(lanes):
                if not i & block:
                    x, y = rows[i], rows[i + block]
                    rows[i], rows[i + block] = self.shuffle(type, lanes, x, y, low), self.shuffle(type, lanes, x, y, high)
            block *= 2
        return rows
