"""Tensors over memory that another tensor has: ``as_strided``, ``resize_``, ``set_``.

A view by strides reads the elements of a dense tensor in the order in which they lie in memory. On the tape that is a gather at positions that are known,
and a change through it a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.containers import extents
from wengert.eager.errors import AutogradError, ShapeError
from wengert.eager.operations import indexing
from wengert.eager.operations.memory import inplace, layout, views
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.program import Array
from wengert.ir.tensor_types import shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Ints = tuple[int, ...]
Strided = tuple[Ints, Ints, int, Ints]
"""Extents, steps and first position, in elements, and the dimensions of the tensor that is seen, from the widest step to the smallest."""


def _positions(given: Strided) -> Array:
    """The place in memory of every element."""
    sizes, steps, first, _ = given
    places = np.full(sizes, first, np.int64)
    for d, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        places += (np.arange(size) * step).reshape([-1 if e == d else 1 for e in range(len(sizes))])
    return places


def _flat(b: OpBuilder, x: Value, order: Ints) -> Value:
    return b.reshape(b.transpose(x, list(order)), (int(np.prod(shape(x))),))


def _emit(b: OpBuilder, x: Sequence[Value], given: Strided) -> list[Value]:
    return indexing.read(b, (_flat(b, x[0], given[3]), b.constant(_positions(given))), (0,))


def _put(b: OpBuilder, base: Value, value: Value, given: Strided) -> Value:
    order = given[3]
    flat = indexing.written(core.Kind.set)(b, (_flat(b, base, order), value, b.constant(_positions(given))), (0,))[0]
    ordered = b.reshape(flat, [shape(base)[d] for d in order])
    return b.transpose(ordered, [order.index(d) for d in range(len(order))])


def _kernel(given: Strided, x: Array) -> Array:
    sizes, steps, first, order = given
    flat: Array = x.transpose(order).reshape(-1)
    return np.lib.stride_tricks.as_strided(flat[first:], sizes, [s * flat.itemsize for s in steps])


AS_STRIDED = register(OPERATIONS, "as_strided", "AsStridedBackward0", _emit, kernel=_kernel, view=True, put=_put)


def _order(x: Array) -> Ints | None:
    """The dimensions from the widest step to the smallest, if the elements lie without gaps; None otherwise."""
    order = tuple(sorted(range(x.ndim), key=lambda d: (-x.strides[d], d)))
    return order if x.transpose(order).flags.c_contiguous else None


def _is_within(sizes: Ints, steps: Ints, first: int, x: Tensor) -> bool:
    """Whether all places are those of elements of a tensor: to others of its memory no gradient flows."""
    own = _positions((x.array.shape, tuple(s // x.array.itemsize for s in x.array.strides), layout.storage_offset(x), ()))
    return bool(np.isin(_positions((sizes, steps, first, ())), own).all())


_BESIDE = "A view by strides of elements beside those of a detached tensor must not be changed in place by what requires a gradient; make a clone() first"


def as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of memory by the extents, and the steps and the first position in elements.

    Raises:
        ShapeError: it would reach beyond the memory, or extents and steps are not of one length.
        AutogradError: the memory has gaps; or the tensor requires a gradient, and elements beside its own are asked for or what it is a view of requires
            none.
    """
    sizes, steps = tuple(size), tuple(stride)
    if len(sizes) != len(steps) or min((*sizes, *steps), default=0) < 0:
        raise ShapeError(f"as_strided: sizes {list(sizes)} and strides {list(steps)} must have one length and not be negative")
    own = layout.storage_offset(x) if x.array.size else 0
    first = own if storage_offset is None else storage_offset
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True))
    base = x if x.view_of is None else x.view_of.base
    for y, start in ((x, first - own), (base, first - (layout.storage_offset(base) if base.array.size else 0))):
        order = _order(y.array) if y.array.dtype == x.array.dtype else None
        inside = order is not None and start >= 0 and (start + reach <= y.array.size or not reach)
        if order is not None and inside and (y is x or not x.tracked or (y.tracked and _is_within(sizes, steps, first, x))):
            return views.see(AS_STRIDED, y, (sizes, steps, start if reach else 0, order))
    memory = layout.memory(x)
    order = _order(memory)
    if order is None or x.tracked or base.tracked:
        raise AutogradError("as_strided: only of memory without gaps, and of elements of the tensor that gradients flow to; make a clone() first")
    elements: Array = memory.transpose(order).reshape(-1).view(x.array.dtype)
    if first < 0 or first + reach > elements.size:
        raise ShapeError(
            f"as_strided: sizes {list(sizes)} and strides {list(steps)} from {first} on can access memory outside of `tensor`: {elements.size} elements"
        )
    _untraced("as_strided of elements beside the tensor's own")
    whole = dispatch.new(elements)
    whole.storage = dispatch.storage_of(x)
    made = dispatch.new(_kernel((sizes, steps, first if reach else 0, (0,)), elements))
    made.is_inference_tensor = x.is_inference_tensor
    if x.is_inference_tensor:
        views.share_unbooked(x, made)
    else:
        views.attach(AS_STRIDED, whole, (sizes, steps, first if reach else 0, (0,)), made, _BESIDE)
    return made


def resize_(x: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Gives a tensor other extents: its elements in the order of memory, of which there may be fewer; new ones are zero.

    Raises:
        AutogradError: it requires a gradient, which could not follow.
    """
    sizes = extents(size)
    inplace.check_allowed(x, False)
    if sizes == x.array.shape:
        return x
    if x.tracked and not STATE.inference:
        raise AutogradError("cannot resize variables that require grad")
    _untraced("resize_")
    flat = x.array.reshape(-1)
    count = int(np.prod(sizes))
    if count > flat.size:
        flat = np.concatenate([flat, np.zeros(count - flat.size, flat.dtype)])
    x.array = flat[:count].reshape(sizes)
    if not x.is_inference_tensor:
        dispatch.storage_of(x).version += 1
    return x


def resize_as_(x: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """:func:`resize_` to the extents of another tensor."""
    return resize_(x, *other.array.shape)


def set_(x: Tensor, source: Tensor) -> Tensor:
    """Makes a tensor one over the memory of another.

    Raises:
        AutogradError: gradients are recorded, and one of them requires one.
    """
    if STATE.recording and (x.tracked or source.tracked):
        raise AutogradError("set_: the memory of a tensor that requires grad cannot be exchanged where that is recorded; do it inside no_grad()")
    _untraced("set_")
    x.array, x.storage, x.view_of = source.array, dispatch.leave_books(source, dispatch.storage_of(source)), None
    return x


def _untraced(what: str) -> None:
    if STATE.tape is not None:
        STATE.tape.refuse(f"{what} is used, which leaves no trace")


MEMORY = {"as_strided": as_strided, "resize_": resize_, "resize_as_": resize_as_, "set_": set_}
