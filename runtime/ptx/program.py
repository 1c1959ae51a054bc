"""PTX programs as data: modules, functions, variables, instructions and their operands, all frozen.

Names are those of the text. A name declared in an inner block of a function gets a suffix if an outer one has it too, so that within a
function every name stands for one thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wengert.ir.diagnostics import Diagnostic
from wengert.runtime.ptx.types import Scalar


@dataclass(frozen=True)
class Source:
    """The text of a module, for messages."""

    name: str
    text: str
    lines: tuple[str, ...] = field(repr=False)

    def diagnostic(self, place: Place, message: str, hint: str = "") -> Diagnostic:
        """An error at a place of this text."""
        line = self.lines[place.line - 1] if 0 < place.line <= len(self.lines) else ""
        shown = line.replace("\t", " ")
        return Diagnostic(message, self.name, place.line, place.column, source_line=shown, length=place.length, hint=hint)


@dataclass(frozen=True)
class Place:
    """Line and column, from 1, and how many characters are meant."""

    line: int
    column: int
    length: int = 1


# -- operands


@dataclass(frozen=True)
class Register:
    """A register that the function declares."""

    name: str


@dataclass(frozen=True)
class Special:
    """A special register with its component: ``%tid.x``."""

    name: str


@dataclass(frozen=True)
class Integer:
    """An integer constant."""

    value: int


@dataclass(frozen=True)
class FloatBits:
    """A floating-point constant: ``0f`` and ``0d`` give the bits, other forms are doubles."""

    bits: int
    width: int


@dataclass(frozen=True)
class Symbol:
    """The address of a variable, or the name of a function or of a branch table."""

    name: str
    offset: int = 0
    generic: bool = False


@dataclass(frozen=True)
class Address:
    """``[base + offset]``; the base is a register, a symbol or a number."""

    base: Operand
    offset: int = 0


@dataclass(frozen=True)
class Negated:
    """``!p``."""

    register: Register


@dataclass(frozen=True)
class Sink:
    """``_``: a result that nobody wants."""


@dataclass(frozen=True)
class Vector:
    """``{a, b}``."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """``a|b``: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Arguments:
    """``(a, b)`` of a call."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True)
class Location:
    """A symbol that is linked: an address within a state space."""

    space: str
    address: int


@dataclass(frozen=True)
class Target:
    """A label that is linked: a position in the list of instructions."""

    position: int


@dataclass(frozen=True)
class Targets:
    """A branch table that is linked."""

    positions: tuple[int, ...]


Operand = Register | Special | Integer | FloatBits | Symbol | Address | Negated | Sink | Vector | Pair | Arguments | Location | Target | Targets


# -- statements


@dataclass(frozen=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """``@guard opcode.modifiers operands;``."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    place: Place

    @property
    def name(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Variable:
    """A variable of a state space.

    Attributes:
        space: global, const, shared, local or param.
        size: bytes; None for an array without extent (``.extern .shared``).
        data: initial bytes, shorter than the variable if the rest is zero; None if there are none.
        references: addresses in the initial data, by the place where they are written.
    """

    name: str
    space: str
    type: Scalar
    align: int
    size: int | None
    place: Place
    data: bytes | None = None
    references: tuple[tuple[int, Symbol], ...] = ()


@dataclass(frozen=True)
class Function:
    """An entry or a device function. ``labels`` and ``tables`` give places in ``body`` by name.

    Attributes:
        threads: the block's extents that ``.reqntid`` demands, or None.
        most_threads: the extents that ``.maxntid`` allows, or None.
    """

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: Mapping[str, Scalar] = field(repr=False)
    variables: tuple[Variable, ...] = field(repr=False)
    body: tuple[Instruction, ...] = field(repr=False)
    labels: Mapping[str, int] = field(repr=False)
    tables: Mapping[str, tuple[str, ...]] = field(repr=False)
    place: Place
    is_declaration: bool = False
    threads: tuple[int, int, int] | None = None
    most_threads: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Module:
    """A parsed text."""

    source: Source
    version: tuple[int, int]
    target: tuple[str, ...]
    functions: Mapping[str, Function]
    variables: tuple[Variable, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the entries, in the order of the text."""
        return tuple(f.name for f in self.functions.values() if f.is_entry)


def flat(operand: Operand) -> Iterator[Operand]:
    """The operand, and those it is made of."""
    yield operand
    if isinstance(operand, Vector | Arguments):
        for element in operand.elements:
            yield from flat(element)
    elif isinstance(operand, Pair):
        yield from flat(operand.first)
        yield from flat(operand.second)
    elif isinstance(operand, Address):
        yield operand.base
    elif isinstance(operand, Negated):
        yield operand.register
