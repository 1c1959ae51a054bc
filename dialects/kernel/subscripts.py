"""Subscripts in a nest's text: affine expressions of the loops, which name an element of a buffer, as in ``affine.load``.

Buffers are flat, so one subscript is a position in the buffer; several subscripts, one for each dimension of the type, are written where they mean
the same position.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.kernel.affine import AffineError, AffineText
from wengert.dialects.kernel.positions import ZERO, Position, combine, flatten, index, span, strides, unflatten
from wengert.ir.attributes import ints
from wengert.ir.parsing.operations import Reader
from wengert.ir.printing.printer import Unwritable

T = TypeVar("T")


class Nest(Struct):
    """The names that the header of a nest gives to its body: the numbers of its loops and results."""

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
    """Reads what is inside for a nest, or for an op that is none."""
    reader.enclosing.append(nest)
    yield
    reader.enclosing.pop()


class Subscripts(Struct):
    """The contents of brackets: an operand that holds a computed position, and affine expressions."""

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
