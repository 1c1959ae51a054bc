"""From what a user passes to a function of the namespace (traced values, arrays, numbers) to values of the block being traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.tracing.context import active_trace
from wengert.frontends.tracing.errors import axis_error, type_error, value_error
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import WEAK, DType, join
from wengert.ir.tensor_types import element_of, is_complex, is_float, shape, tensor

_NUMPY: Any = np
"""NumPy where its own types say less than it does."""
NUMBERS = (bool, int, float, complex)
Shape = tuple[int, ...]


def is_traced(*operands: Any) -> bool:
    """Whether one of the operands is traced, or is a list or tuple that holds a traced value."""
    return any(isinstance(x, TracedArray) or (isinstance(x, list | tuple) and is_traced(*x)) for x in operands)  # pyright: ignore[reportUnknownArgumentType]


def builder() -> OpBuilder:
    """The builder of the block being traced."""
    return active_trace().builder


def traced(value: Value, weak: bool = False) -> TracedArray:
    """A value of the block being traced, for the user."""
    return TracedArray(value, active_trace(), weak)


def is_number(x: Any) -> bool:
    """Whether it is a Python number, whose dtype is weak (NumPy's scalars are arrays)."""
    return isinstance(x, NUMBERS) and not isinstance(x, np.generic)


def dtype_of_operand(x: Any) -> tuple[DType, bool]:
    """The dtype of an operand, and whether it is weak."""
    if isinstance(x, TracedArray):
        return x.dtype, x.weak
    if is_number(x):
        return WEAK[type(x)] if type(x) in WEAK else np.asarray(x).dtype, True
    return as_concrete(x).dtype, False


def shape_of(x: Any) -> Shape:
    """The extents of an operand."""
    return x.shape if isinstance(x, TracedArray) else np.shape(x)


def as_concrete(x: Any) -> np.ndarray[Any, Any]:
    """An operand that is not traced as a NumPy array; a TracedTypeError for what is none."""
    if isinstance(x, list | tuple) and is_traced(*x):  # pyright: ignore[reportUnknownArgumentType]
        raise type_error("a list with traced values in it is not an array", "write wengert.numpy.stack([...]) or wengert.numpy.asarray([...])")
    array = _NUMPY.asarray(x)
    try:
        element_of(array.dtype)
    except KeyError:
        raise type_error(f"expected an array or a number, found {x!r} of type {_type_name(x)}") from None
    return array


def value_of(x: Any, dtype: DType | None = None) -> Value:
    """An operand as a value of the block being traced, converted to a dtype if one is given."""
    trace = active_trace()
    if isinstance(x, TracedArray):
        value = trace.use(x)
        return value if dtype is None or dtype == x.dtype else convert(value, dtype)
    dtype = dtype_of_operand(x)[0] if dtype is None else dtype
    if is_number(x):
        _check_fits(x, dtype)
    return trace.builder.constant(as_concrete(x).astype(dtype))


def _type_name(x: Any) -> str:
    return type(x).__name__


def _check_fits(number: complex, dtype: DType) -> None:
    if dtype.kind in "iu" and isinstance(number, int) and not (np.iinfo(dtype).min <= number <= np.iinfo(dtype).max):
        raise value_error(f"the Python integer {number} does not fit {dtype.name}", f"convert the array first: wengert.numpy.astype(x, {_wider(number)})")


def _wider(number: int) -> str:
    return "wengert.numpy.int64" if np.iinfo(np.int64).min <= number <= np.iinfo(np.int64).max else "wengert.numpy.float64"


def convert(value: Value, dtype: DType) -> Value:
    """A value with another dtype, by the rules of NumPy's astype (a complex number loses its imaginary part; to bool: not zero)."""
    b, target = builder(), element_of(dtype)
    element_type = value.type.element_type  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
    if element_type == target:
        return value
    if dtype.kind == "b":
        return b.compare("NE", value, b.full_like(value, 0))
    if is_complex(element_type) and not is_complex(target):  # pyright: ignore[reportUnknownArgumentType]
        value = b.real(value)
    if is_complex(target) and not is_complex(element_type) and not is_float(element_type):  # pyright: ignore[reportUnknownArgumentType]
        value = b.convert(value, target.element_type)
    return b.convert(value, target)


def promoted(*operands: Any) -> tuple[list[Value], bool]:
    """Operands as values of their common dtype, and whether it is weak."""
    dtype, weak = join([dtype_of_operand(x) for x in operands])
    return [value_of(x, dtype) for x in operands], weak


def common_shape(*operands: Any) -> Shape:
    """The shape that operands are broadcast to, by NumPy's rules; names the shapes that do not fit."""
    shapes = [shape_of(x) for x in operands]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(str(s) for s in shapes)
        raise value_error(
            f"the shapes {shown} do not fit each other", "extents must be equal or 1, counted from the last dimension; see wengert.numpy.expand_dims"
        ) from None


def broadcast(value: Value, extents: Sequence[int]) -> Value:
    """A value repeated to a shape that it fits: new dimensions in front, and extents of 1 stretched."""
    b, extents = builder(), tuple(extents)
    own = shape(value)
    if own == extents:
        return value
    offset = len(extents) - len(own)
    kept = [d for d, n in enumerate(own) if n == extents[offset + d]]
    value = b.reshape(value, [own[d] for d in kept])
    return b.broadcast_in_dim(value, [offset + d for d in kept], extents)


def matched(*operands: Any) -> tuple[list[Value], bool]:
    """Operands as values of one dtype and one shape, and whether the dtype is weak."""
    extents = common_shape(*operands)
    values, weak = promoted(*operands)
    return [broadcast(v, extents) for v in values], weak


def full(extents: Sequence[int], number: complex, dtype: DType) -> Value:
    """A constant of one number."""
    return builder().full(number, tensor(tuple(extents), element_of(dtype)))


def listed(given: Any) -> tuple[Any, ...]:
    """The items of a sequence, or the one thing that is given instead."""
    return tuple(cast("Sequence[Any]", given)) if isinstance(given, Sequence) else (given,)


def axis_of(axis: Any, rank: int) -> int:
    """A dimension counted from the start; a TracedAxisError where there is none of this number."""
    if isinstance(axis, TracedArray) or not hasattr(axis, "__index__"):
        raise type_error(f"axis must be an integer, found {axis!r}")
    if not -rank <= int(axis) < rank:
        raise axis_error(f"axis {axis} is out of range for rank {rank}")
    return int(axis) % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the start, all for None; a TracedValueError where one is named twice."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis_of(a, rank) for a in listed(axis))
    if len(set(axes)) != len(axes):
        raise value_error(f"axis {axis} names a dimension twice")
    return axes


def shape_argument(given: Any) -> Shape:
    """A shape given as an integer or a sequence; a TracedTypeError where an extent is traced."""
    extents = listed(given)
    for extent in extents:
        if isinstance(extent, TracedArray):
            raise type_error(f"a shape needs Python integers, found {extent!r}", "use x.shape, or make the argument static: wg.jit(f, static_argnums=...)")
        if not hasattr(extent, "__index__"):
            raise type_error(f"a shape needs integers, found {extent!r}")
    return tuple(int(n) for n in extents)
