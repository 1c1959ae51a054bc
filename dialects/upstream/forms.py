"""Parts of the custom forms of upstream ops.

A form reads what follows the name of an op into an :class:`~wengert.ir.parsing.operations.OpState`. Where MLIR infers a type, so does the form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType, TensorType, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects.upstream.arities import wrong_count
from wengert.dialects.upstream.parts import wrong_parts
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import DYNAMIC, i1, tensor

Operand = tuple[str, int, int]
Argument = tuple[str, Attribute, int, Any]
Read = Callable[[Reader, OpState], None]


class Form:
    """The custom form of an op, by the function that reads it. Ops are written in the generic form unless a form says how."""

    def __init__(self, read: Read, write: Callable[[Operation, Writer], None] | None = None):
        self._read, self._write = read, write

    def read(self, reader: Reader, state: OpState) -> None:
        """Reads what follows the op's name."""
        self._read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        """Writes what follows the op's name."""
        if self._write is None or wrong_count(op) or wrong_parts(op):
            raise Unwritable
        self._write(op, writer)


# -- operands and types


def use(state: OpState, operands: Sequence[Operand], types: Sequence[Attribute]) -> None:
    """Adds operands of these types."""
    state.operands += operands
    state.operand_types = [*state.operand_types, *types]


def operands(reader: Reader, until: str = "") -> list[Operand]:
    """Reads ``%a, %b``, nothing where no operand comes next."""
    if reader.peek() != "%":
        return []
    known = [reader.operand()]
    while reader.accept(","):
        known.append(reader.operand())
    return known


def bracketed(reader: Reader, open: str = "(", close: str = ")") -> list[Operand]:
    """Reads ``(%a, %b)``, nothing where there is no bracket."""
    return reader.listed(open, close, reader.operand) if reader.peek() == open else []


def segments(state: OpState, *sizes: int) -> None:
    """Notes how many operands each group has."""
    state.attributes["operandSegmentSizes"] = DenseArrayBase.from_list(i32, list(sizes))


def types_if(reader: Reader) -> list[Attribute]:
    """Reads ``-> T`` or ``-> (T, U)``, nothing where no arrow comes next."""
    if not reader.accept("->"):
        return []
    if reader.peek() == "(":
        return reader.listed("(", ")", reader.type)
    return [reader.type()]


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """The type of a value of the same shape with other elements: an element where the type is no tensor."""
    if isinstance(type, TensorType):
        return tensor(cast("TensorType[Any]", type).get_shape(), element)
    return element


def boolean(type: Attribute) -> Attribute:
    """The type of what a comparison of values of this type gives."""
    return with_element(type, i1)


def element_of(type: Attribute) -> Attribute:
    """The element type of a tensor or buffer, a scalar's own type."""
    return cast(Attribute, type.element_type) if isinstance(type, TensorType | MemRefType) else type  # pyright: ignore[reportUnknownMemberType]


# -- attributes


def integer(value: int, type: Any = i64) -> IntegerAttr[Any]:
    """An integer attribute."""
    return IntegerAttr(value, type)


def dense(values: Sequence[int], type: Any = i64) -> DenseArrayBase[Any]:
    """``array<i64: ...>``."""
    return DenseArrayBase.from_list(type, list(values))


def dictionary(reader: Reader, state: OpState) -> None:
    """Reads ``{a = 1}`` if it comes next."""
    state.attributes.update(reader.dictionary())


def keyword(reader: Reader, state: OpState, word: str, name: str = "") -> None:
    """Reads a word that stands for a unit attribute if it comes next."""
    if reader.accept_word(word):
        state.attributes[name or word] = UnitAttr()


_FLAGS = {"fastmath": "fastmath", "overflow": "overflowFlags"}


def flags(reader: Reader, state: OpState) -> None:
    """Reads ``fastmath<fast>``, ``overflow<nsw>``, a rounding mode, ``exact``: what an op may assume, which changes no value that it defines."""
    while (word := reader.next_word()) in _FLAGS or word in _MODES:
        reader.word()
        if word in _FLAGS:
            state.attributes[_FLAGS[word]] = cast(Any, reader.unregistered(f"arith.{word}", f"<{reader.balanced('<', '>')}>"))
        else:
            state.attributes["isExact" if word == "exact" else "nonNeg" if word == "nneg" else "roundingmode"] = UnitAttr()


_MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away", "exact", "nneg")


def mixed(reader: Reader, open: str = "[", close: str = "]") -> tuple[list[int], list[Operand]]:
    """Reads ``[1, %n]``: the static numbers, with DYNAMIC for each operand, and the operands."""
    static, dynamic = list[int](), list[Operand]()

    def entry() -> None:
        if reader.peek() == "%":
            dynamic.append(reader.operand())
            static.append(DYNAMIC)
        else:
            static.append(reader.integer())

    reader.listed(open, close, entry)
    return static, dynamic


def reassociation(reader: Reader) -> Attribute:
    """Reads ``[[0, 1], [2]]``."""
    groups = reader.listed("[", "]", reader.integers)
    return ArrayAttr([ArrayAttr([integer(i) for i in group]) for group in groups])


# -- regions


def arguments(reader: Reader) -> list[Argument]:
    """Reads ``(%a: T, %b: U)``."""
    return reader.listed("(", ")", reader.block_argument)


def body(reader: Reader, given: Sequence[Argument], terminator: str = "") -> Region:
    """Reads a region whose first block has these arguments, and ends it with an op of this name where it may be left out."""
    region = reader.region(list(given), named=True)
    return ended(reader, region, terminator) if terminator else region


def ended(reader: Reader, region: Region, terminator: str) -> Region:
    """The region, its last block ended with an op of this name where no terminator stands."""
    from wengert.dialects.upstream.tables import TERMINATORS

    if not region.blocks:
        region.add_block(Block())
    last = region.blocks[-1].last_op
    if last is None or last.name not in TERMINATORS:
        cls = reader.ctx.get_optional_op(terminator)
        assert cls is not None
        region.blocks[-1].add_op(cls.create(location=reader.place(max(0, reader.here - 1))))
    return region
