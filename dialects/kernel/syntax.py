"""The pieces of the kernel dialect's text: a nest names its loops and results, and what stands in its body refers to them.

A subscript is an affine expression of the loops, as in ``affine.load``. Buffers are flat, so one subscript is a position in the buffer; several
subscripts, one for each dimension of the type, are written where they mean the same position.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.kernel.affine import AffineError, AffineText
from wengert.dialects.kernel.attributes import KINDS, AtAttr, WhereAttr, at_attr, guards_text, string
from wengert.dialects.kernel.functions import arity, is_comparison
from wengert.dialects.kernel.positions import ZERO, Position, combine, flatten, index, span, strides, unflatten
from wengert.ir.attributes import int_array, ints
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax.types import FunctionType
from wengert.ir.tensor_types import i1, shape_of_type

T = TypeVar("T")


class Nest(Struct):
    """What the header of a nest says to its body: the numbers of its loops and results, by name."""

    loops: Mapping[str, int]
    outputs: Mapping[str, int]
    types: Sequence[Attribute]
    """Those of the outputs."""


# -- affine text where the parser or printer stands


def read_affine(reader: Reader, read: Callable[[AffineText], T]) -> T:
    """Reads affine text of the enclosing nest's loops; what is wrong with it becomes a diagnostic at its place."""
    text = AffineText(reader.text, reader.here, nest_around(reader).loops)
    try:
        value = read(text)
    except AffineError as error:
        reader.fail(str(error), error.position)
    reader.here = text.here
    return value


def nest_around(reader: Reader) -> Nest:
    """The nest whose body is being read."""
    nest = reader.enclosing[-1] if reader.enclosing else None
    if not isinstance(nest, Nest):
        reader.fail("this op has its place in the body of a 'kernel.nest'")
    return nest


@contextmanager
def inside(reader: Reader, nest: Nest | None) -> Generator[None]:
    """What is read inside belongs to a nest, or to an op that is none."""
    reader.enclosing.append(nest)
    yield
    reader.enclosing.pop()


class Subscripts(Struct):
    """What stands in brackets: an operand that holds a computed position, and affine expressions."""

    base: tuple[str, int, int] | None
    parts: list[Position]
    position: int

    def flat(self, reader: Reader, type: Attribute) -> Position:
        """The position in a buffer of this type."""
        shape = buffer_shape(type)
        if shape is None:
            reader.fail(f"a buffer is a tensor of static shape, found {type}", self.position)
        if len(self.parts) == len(shape):
            return flatten(self.parts, shape) if shape else ZERO
        if len(self.parts) != 1:
            wanted = "1 subscript" if len(shape) < 2 else f"{len(shape)} subscripts, or one for the whole buffer"
            reader.fail(f"{type} takes {wanted}; there are {len(self.parts)}", self.position)
        return self.parts[0]


def read_subscripts(reader: Reader) -> Subscripts:
    """Reads ``[d0, d1 + 1]`` or ``[%base + d0 * 4]``."""
    position = reader.skip()
    reader.need("[")
    if reader.accept("]"):
        return Subscripts(None, [], position)
    if reader.peek() == "%":
        base = reader.operand()
        rest = read_affine(reader, lambda text: text.rest_of_sum(ZERO))
        reader.need("]")
        return Subscripts(base, [rest], position)
    parts: list[Position] = []
    while True:
        parts.append(read_affine(reader, AffineText.position))
        if not reader.accept(","):
            break
    reader.need("]")
    return Subscripts(None, parts, position)


def buffer_shape(type: Attribute) -> tuple[int, ...] | None:
    """The shape of a tensor; None if it is none, or leaves an extent open."""
    if not isinstance(type, TensorType):
        return None
    shape = tuple(cast("TensorType[Any]", type).get_shape())
    return shape if all(n >= 0 for n in shape) else None


def element_of_buffer(type: Attribute) -> Attribute:
    """The type of the elements of a tensor."""
    if not isinstance(type, TensorType):
        raise Unwritable
    return cast("Attribute", cast("TensorType[Any]", type).element_type)


def subscripts_text(at: Position, type: Attribute, extents: Sequence[int], base: str = "", *, guarded: bool = False) -> str:
    """The subscripts of a position in a buffer: one for each dimension if there are such, and no computed base."""
    shape = buffer_shape(type)
    if shape is None:
        raise Unwritable
    if base:
        rest = "" if at == ZERO else f" - {text[1:]}" if (text := str(at)).startswith("-") else f" + {text}"
        return f"[{base}{rest}]"
    parts = indices(at, shape, extents, guarded=guarded) if len(shape) != 1 else None
    return f"[{', '.join(map(str, (at,) if parts is None else parts))}]"


def indices(at: Position, shape: tuple[int, ...], extents: Sequence[int], *, guarded: bool) -> tuple[Position, ...] | None:
    """The index in each dimension of a position, such that they mean this position and lie in their ranges; None if none is seen."""
    if 0 in shape or 0 in extents:
        return None
    candidates = [_balanced(at, shape), unflatten(at, shape, extents)]
    if len(extents) == len(shape):
        candidates.insert(0, tuple([index(d) for d in range(len(extents))]))
    for parts in candidates:
        if (flatten(parts, shape) if parts else ZERO) != at or (at.is_affine() and not all(part.is_affine() for part in parts)):
            continue
        spans = [span(part, extents) for part in parts]
        if guarded or all(low >= 0 and high < n for (low, high), n in zip(spans, shape, strict=True)):
            return parts
    return None


def _balanced(at: Position, shape: tuple[int, ...]) -> tuple[Position, ...]:
    """Every coefficient as a sum of multiples of strides, those of inner dimensions as small as they can be, of either sign."""
    parts: list[Position] = []
    for step in strides(shape):
        taken = combine(_rounded(at.offset, step), [(atom, _rounded(c, step)) for atom, c in at.terms])
        parts.append(taken)
        at = at.plus(taken.times(-step))
    return tuple(parts)


def _rounded(number: int, step: int) -> int:
    """The nearest multiple of a step, divided by it; halves go towards zero."""
    quotient, rest = divmod(abs(number), step)
    quotient += 2 * rest > step
    return quotient if number >= 0 else -quotient


def extents_around(op: Operation) -> tuple[int, ...]:
    """The bounds of the nest that an op stands in."""
    nest = op.parent_op()
    if nest is None or nest.name != "kernel.nest":
        raise Unwritable
    return ints(nest.properties["bounds"])


# -- ops in the body of a nest


class LoadText(Struct, frozen=True):
    """``%x[d0, d1 - 1] where (1 <= d1 < 5) : tensor<4x8xf32>``, or ``%x[%base + d0] : tensor<32xf32>, i32``."""

    properties: tuple[str, ...] = ("at", "where")

    def read(self, reader: Reader, state: OpState) -> None:
        nest_around(reader)
        state.operands.append(reader.operand())
        subscripts = read_subscripts(reader)
        if reader.accept_word("where"):
            state.properties["where"] = WhereAttr(read_affine(reader, AffineText.guards))
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.skip()
        type = reader.type()
        state.properties["at"] = at_attr(subscripts.flat(reader, type))
        state.operand_types = (type,)
        state.result_types = (element_of_buffer(type),)
        if subscripts.base is not None:
            state.operands.append(subscripts.base)
            reader.need(",")
            state.operand_types = (type, reader.type())

    def write(self, op: Operation, writer: Writer) -> None:
        source, *base = op.operands
        if op.results[0].type != element_of_buffer(source.type):
            raise Unwritable
        at, where = cast(AtAttr, op.properties["at"]).data, cast("WhereAttr | None", op.properties.get("where"))
        text = subscripts_text(at, source.type, extents_around(op), writer.values(base), guarded=where is not None)
        writer.write(f" {writer.value(source)}{text}")
        if where is not None:
            writer.write(f" where ({guards_text(where.data)})")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.types([source.type, *[value.type for value in base]])}")


class IndexText(Struct, frozen=True):
    """``d0 * 2 + 1``."""

    properties: tuple[str, ...] = ("at",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["at"] = at_attr(read_affine(reader, AffineText.position))

    def write(self, op: Operation, writer: Writer) -> None:
        extents_around(op)
        writer.write(f" {cast(AtAttr, op.properties['at']).data}")


class GuardsText(Struct, frozen=True):
    """``(0 <= d0 - 1 < 8, 2 <= d1 < 4)``."""

    properties: tuple[str, ...] = ("where",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["where"] = WhereAttr(read_affine(reader, AffineText.guards))

    def write(self, op: Operation, writer: Writer) -> None:
        extents_around(op)
        writer.write(f" ({guards_text(cast(WhereAttr, op.properties['where']).data)})")


class ScalarText(Struct, frozen=True):
    """``2.500000e+00``: the element of a constant of rank 0, whose type comes after the colon."""

    properties: tuple[str, ...] = ("value",)

    def read(self, reader: Reader, state: OpState) -> None:
        start = reader.skip()
        end = reader.text.find(":", start)
        line = reader.text.find("\n", start)
        if end < 0 or 0 <= line < end:
            reader.unexpected("a number and its type, such as '1.0 : f32'")
        reader.here = end
        reader.need(":")
        type = reader.type()
        after = reader.here
        state.properties["value"] = reader.scalar(start, end, type)
        reader.here = after
        state.result_types = (type,)

    def write(self, op: Operation, writer: Writer) -> None:
        value = cast("Any", op.properties["value"])
        type = op.results[0].type
        if shape_of_type(value.type) or value.type.element_type != type or op.attributes:
            raise Unwritable
        text = writer.attribute_text(value)
        writer.write(f" {text[len('dense<') : text.rindex('> : ')]} : {writer.type_text(type)}")


class ScalarTypes(FunctionType):
    """``T`` for a function of operands of type T; the condition of ``select`` and the result of a comparison are i1. Else ``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        function = cast(StringAttr, state.properties["function"]).data
        wanted = arity(function)
        if wanted != len(state.operands):
            reader.fail(f"'{function}' takes {wanted} operands; there are {len(state.operands)}", state.start)
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        type = reader.type()
        state.operand_types, state.result_types = _types_of(function, type, len(state.operands))

    def types(self, op: Operation, writer: Writer) -> str:
        function = cast(StringAttr, op.properties["function"]).data
        types = tuple(op.operand_types), tuple(op.result_types)
        if types[0] and types == _types_of(function, op.operand_types[-1], len(op.operands)):
            return writer.type_text(op.operand_types[-1])
        return super().types(op, writer)


def _types_of(function: str, type: Attribute, count: int) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    operands = (i1, type, type) if function == "select" else (type,) * count
    return operands, (i1 if is_comparison(function) else type,)


class FunctionText(Struct, frozen=True):
    """``%a, %b : f32`` after the name of the function, which is the name that is written for the op."""

    function: str = ""
    properties: tuple[str, ...] = ("function",)

    def read(self, reader: Reader, state: OpState) -> None:
        if not self.function:
            reader.fail("a scalar function is written by its own name, such as 'kernel.add'", state.start)
        state.properties["function"] = string(self.function)
        reader.operands(state)
        ScalarTypes().read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        if arity(cast(StringAttr, op.properties["function"]).data) != len(op.operands):
            raise Unwritable
        writer.write(f" {writer.values(op.operands)}")
        ScalarTypes().write(op, writer)


# -- the end of a body


class YieldText(Struct, frozen=True):
    """``store %v to out0[d0, d1] : f32, add %w to out1[%base + d1] where %c : f32, i32``; in an op that is no nest ``%a, %b : T, U``."""

    properties: tuple[str, ...] = ("at", "kinds", "targets", "bases", "conditions")

    def read(self, reader: Reader, state: OpState) -> None:
        if reader.enclosing and isinstance(reader.enclosing[-1], Nest):
            self._read_writes(reader, state, reader.enclosing[-1])
        elif reader.peek() == "%":
            reader.operands(state)
            reader.need(":")
            state.types_at = reader.skip()
            state.operand_types = reader.types()

    def _read_writes(self, reader: Reader, state: OpState, nest: Nest) -> None:
        writes: list[_WriteText] = []
        while True:
            writes.append(_WriteText.read(reader, nest))
            if not reader.accept(","):
                break
        state.types_at = reader.here
        state.operands = [write.value for write in writes]
        types = [write.type for write in writes]
        state.properties["at"] = ArrayAttr([at_attr(write.at) for write in writes])
        state.properties["kinds"] = ArrayAttr([string(write.kind) for write in writes])
        if [write.target for write in writes] != list(range(len(writes))):
            state.properties["targets"] = int_array([write.target for write in writes])
        for name, extra in (("bases", [write.base for write in writes]), ("conditions", [write.condition for write in writes])):
            numbers = [-1] * len(writes)
            for number, operand in enumerate(extra):
                if operand is not None:
                    numbers[number] = len(state.operands)
                    state.operands.append(operand[0])
                    types.append(operand[1])
            if any(number >= 0 for number in numbers):
                state.properties[name] = int_array(numbers)
        state.operand_types = types

    def write(self, op: Operation, writer: Writer) -> None:
        if op.attributes:
            raise Unwritable
        if "at" not in op.properties:
            if op.operands:
                writer.write(f" {writer.values(op.operands)} : {writer.types(op.operand_types)}")
            return
        nest, extents = cast("Any", op.parent_op()), extents_around(op)
        texts: list[str] = []
        for write in nest.writes:
            at = subscripts_text(write.at, nest.outputs[write.target].type, extents, writer.value(write.base) if write.base is not None else "")
            where = "" if write.condition is None else f" where {writer.value(write.condition)}"
            types = writer.types([write.value.type, *([] if write.base is None else [write.base.type])])
            texts.append(f"{write.kind} {writer.value(write.value)} to out{write.target}{at}{where} : {types}")
        writer.write(" " + f",{writer.indent}             ".join(texts))


Operand = tuple[tuple[str, int, int], Attribute]


class _WriteText(Struct):
    """One write as it was read."""

    kind: str
    value: tuple[str, int, int]
    type: Attribute
    target: int
    at: Position
    base: Operand | None
    condition: Operand | None

    @staticmethod
    def read(reader: Reader, nest: Nest) -> _WriteText:
        kind = reader.word_in(KINDS, "kind of write")
        value = reader.operand()
        reader.need_word("to")
        target = nest.outputs[reader.word_in(nest.outputs, "result")]
        at = (subscripts := read_subscripts(reader)).flat(reader, nest.types[target])
        condition = (reader.operand(), cast(Attribute, i1)) if reader.accept_word("where") else None
        reader.need(":")
        type, base = reader.type(), None
        if subscripts.base is not None:
            reader.need(",")
            base = (subscripts.base, reader.type())
        return _WriteText(kind, value, type, target, at, base, condition)
