"""The context in which a builder makes an instruction executable: its modifiers, and readers and writers of its operands.

A reader gives the values of an operand for a set of threads, with the NumPy dtype of a type, or one value that they share; a writer
takes them. Every modifier must be taken: what is left over is not modelled, and the instruction is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Protocol, overload, runtime_checkable

import numpy as np

from wengert.runtime.ptx.accesses import AccessPath
from wengert.runtime.ptx.definitions import Definitions
from wengert.runtime.ptx.errors import ParseError, UnsupportedError
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import Machine, ThreadFault
from wengert.runtime.ptx.program import Address, FloatBits, Instruction, Integer, Location, Negated, Operand, Register, Sink, Special, Vector
from wengert.runtime.ptx.types import TYPES, UNSIGNED, Array, Scalar

if TYPE_CHECKING:
    from wengert.runtime.ptx.scheduler import Scheduler

Read = Callable[[Lanes], Array]
Write = Callable[[Lanes, Array], None]
Run = Callable[[Lanes], None]


@runtime_checkable
class Control(Protocol):
    """An instruction that decides where threads go on."""

    def execute(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """Executes the instruction at ``position`` for threads, and gives each of them to the scheduler."""
        ...


Step = Run | Control


class Context:
    """One instruction of a kernel on a machine.

    Attributes:
        unread: registers that no instruction reads.
        swapped: the addresses of the kernel's ``atom.cas``.
        undefined: registers that the instruction may read before anything was written to them.
    """

    def __init__(self, machine: Machine, instruction: Instruction, definitions: Definitions, undefined: frozenset[str]):
        self.machine = machine
        self.instruction = instruction
        self.unread = definitions.unread
        self.swapped = definitions.swapped
        self.undefined = undefined
        self._modifiers = list(instruction.modifiers)

    # -- modifiers

    def flag(self, *words: str) -> bool:
        """Whether one of these modifiers is there; it is taken."""
        return self.choice(*words) is not None

    def choice(self, *words: str) -> str | None:
        """The one of these modifiers that is there; it is taken."""
        for word in self._modifiers:
            if word in words:
                self._modifiers.remove(word)
                return word
        return None

    def required(self, *words: str) -> str:
        """The one of these modifiers that is there; without one the instruction is refused."""
        word = self.choice(*words)
        if word is None:
            self.refuse(f"a form without .{', .'.join(words)}")
        return word

    def type(self, *names: str) -> Scalar:
        """The last modifier that is a type; it is taken. If names are given, it must be one of them."""
        for at in range(len(self._modifiers) - 1, -1, -1):
            type = TYPES.get(self._modifiers[at])
            if type is not None:
                if names and type.name not in names:
                    self.refuse(f".{type.name}")
                del self._modifiers[at]
                return type
        self.refuse("a form without a type")

    def finish(self, operands: int | None = None) -> None:
        """Refuses the instruction if modifiers are left, or the number of operands is another one."""
        if self._modifiers:
            self.refuse(f"'.{self._modifiers[0]}' in this place")
        if operands is not None and len(self.operands) != operands:
            self.fail(f"'{self.instruction.name}' takes {operands} operands, not {len(self.operands)}")

    def refuse(self, what: str = "this form") -> NoReturn:
        """Raises an UnsupportedError at the instruction."""
        raise UnsupportedError(self.machine.source.diagnostic(self.instruction.place, f"'{self.instruction.name}' is not modelled: {what}"))

    def fail(self, message: str) -> NoReturn:
        """Raises a ParseError at the instruction."""
        raise ParseError(self.machine.source.diagnostic(self.instruction.place, message))

    # -- operands

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the instruction."""
        return self.instruction.operands

    def elements(self, at: int) -> tuple[Operand, ...]:
        """The elements of a vector operand, or the operand alone."""
        operand = self.operands[at]
        return operand.elements if isinstance(operand, Vector) else (operand,)

    def read(self, at: int, type: Scalar) -> Read:
        """The reader of an operand by its number."""
        return self.reader(self.operands[at], type)

    def write(self, at: int, type: Scalar) -> Write:
        """The writer of an operand by its number."""
        return self.writer(self.operands[at], type)

    def reader(self, operand: Operand, type: Scalar) -> Read:
        """The reader of an operand."""
        if isinstance(operand, Register):
            return self._register_reader(operand.name, type)
        if isinstance(operand, Special):
            return _reader(self.machine.special[operand.name], type)
        if isinstance(operand, Negated):
            inner = self._register_reader(operand.register.name, type)
            return lambda lanes: ~inner(lanes)
        constant = self.constant(operand, type)
        return lambda lanes: constant

    def constant(self, operand: Operand, type: Scalar) -> Array:
        """The value of an operand that is not a register, as an array of one element."""
        if isinstance(operand, Location):
            operand = Integer(operand.address)
        if isinstance(operand, Integer) and type.kind == "p":
            return np.array([operand.value != 0])
        if isinstance(operand, Integer) and type.kind != "f":
            return np.array([operand.value & ((1 << type.bits) - 1)], UNSIGNED[type.bits]).view(type.dtype)
        if isinstance(operand, FloatBits) and operand.width == type.bits:
            return np.array([operand.bits], UNSIGNED[type.bits]).view(type.dtype)
        if isinstance(operand, FloatBits) and type.kind == "f" and operand.width == 64:
            return np.array([operand.bits], np.uint64).view(np.float64).astype(type.dtype)
        self.fail(f"this is no operand of type .{type.name} for '{self.instruction.name}'")

    def _register_reader(self, name: str, type: Scalar) -> Read:
        array = self.machine.registers[name]
        if (array.dtype == np.bool_) != (type.kind == "p") or array.itemsize * 8 < type.bits:
            self.fail(f"register '{name}' is no operand of type .{type.name} for '{self.instruction.name}'")
        read = _reader(array, type)
        if name not in self.undefined:
            return read
        defined = self.machine.defined[name]

        def checked(lanes: Lanes) -> Array:
            known = defined[lanes.index]
            if not known.all():
                raise ThreadFault("undefined register", f"'{name}' is read before anything was written to it", int(lanes.numbers[np.argmin(known)]))
            return read(lanes)

        return checked

    def writer(self, operand: Operand, type: Scalar) -> Write:
        """The writer of a result: a narrow one is extended to the register, by its sign if the type is signed."""
        if isinstance(operand, Sink):
            return lambda lanes, value: None
        if not isinstance(operand, Register):
            self.fail(f"a result of '{self.instruction.name}' must be a register")
        array = self.machine.registers[operand.name]
        if (array.dtype == np.bool_) != (type.kind == "p") or array.itemsize * 8 < type.bits:
            self.fail(f"register '{operand.name}' cannot hold a result of type .{type.name} of '{self.instruction.name}'")
        write = _writer(array, type)
        defined = self.machine.defined.get(operand.name)
        if defined is None:
            return write

        def marked(lanes: Lanes, value: Array) -> None:
            write(lanes, value)
            defined[lanes.index] = True

        return marked

    def is_unread(self, operand: Operand) -> bool:
        """Whether nobody looks at a result."""
        return isinstance(operand, Sink) or (isinstance(operand, Register) and operand.name in self.unread)

    def address(self, at: int) -> Read:
        """The reader of the address in brackets: u64."""
        operand = self.operands[at]
        if not isinstance(operand, Address):
            self.fail(f"operand {at + 1} of '{self.instruction.name}' must be an address")
        base, offset = operand.base, operand.offset
        if not isinstance(base, Register):
            constant = self.constant(base, TYPES["u64"]) + np.array([offset & ((1 << 64) - 1)], np.uint64)
            return lambda lanes: constant
        narrow = self.machine.registers[base.name].itemsize == 4
        read = self._register_reader(base.name, TYPES["u32" if narrow else "u64"])
        added = np.array([offset & ((1 << 64) - 1)], np.uint64)
        if narrow:
            return lambda lanes: read(lanes).astype(np.uint64) + added
        return read if not offset else lambda lanes: read(lanes) + added

    def path(self, space: str, width: int, count: int = 1, *, strong: bool = False, unread: frozenset[int] = frozenset()) -> AccessPath:
        """How the instruction reaches a space."""
        self.machine.note_width(space, width)
        return AccessPath(self.machine, space, width, count, strong=strong, unread=unread)

    # -- elementwise instructions

    @overload
    def elementwise(self, function: Callable[[Array], Array], result: Scalar, x: Scalar, /) -> Run: ...
    @overload
    def elementwise(self, function: Callable[[Array, Array], Array], result: Scalar, x: Scalar, y: Scalar, /) -> Run: ...
    @overload
    def elementwise(self, function: Callable[[Array, Array, Array], Array], result: Scalar, x: Scalar, y: Scalar, z: Scalar, /) -> Run: ...
    @overload
    def elementwise(self, function: Callable[..., Array], result: Scalar, *sources: Scalar) -> Run: ...
    def elementwise(self, function: Callable[..., Array], result: Scalar, *sources: Scalar) -> Run:
        """The instruction whose first operand is a function of the others."""
        self.finish(1 + len(sources))
        write = self.write(0, result)
        reads = [self.read(1 + k, source) for k, source in enumerate(sources)]
        if len(reads) == 1:
            (x,) = reads
            return lambda lanes: write(lanes, function(x(lanes)))
        if len(reads) == 2:
            x, y = reads
            return lambda lanes: write(lanes, function(x(lanes), y(lanes)))
        return lambda lanes: write(lanes, function(*[read(lanes) for read in reads]))


def _reader(array: Array, type: Scalar) -> Read:
    if type.kind == "p":
        return lambda lanes: array[lanes.index]
    dtype = type.dtype
    if array.itemsize == dtype.itemsize:
        view = array.view(dtype)
        return lambda lanes: view[lanes.index]
    narrow = UNSIGNED[type.bits]
    return lambda lanes: array[lanes.index].astype(narrow).view(dtype)


def _writer(array: Array, type: Scalar) -> Write:
    if type.kind == "p":

        def write_predicate(lanes: Lanes, value: Array) -> None:
            array[lanes.index] = value

        return write_predicate
    dtype = type.dtype
    view = array.view(dtype) if array.itemsize == dtype.itemsize else array
    signed = np.dtype(f"i{array.itemsize}")

    def write(lanes: Lanes, value: Array) -> None:
        view[lanes.index] = value

    def write_narrow(lanes: Lanes, value: Array) -> None:
        array[lanes.index] = value.astype(signed).view(array.dtype) if type.kind == "s" else value.view(UNSIGNED[type.bits])

    return write if array.itemsize == dtype.itemsize else write_narrow
