"""Views: operations whose result shares the memory of their operand.

A view knows the tensor whose memory it is (its base) and the path of operations that leads from there to it. A change in place
through a view changes the base's history: on the tape the base becomes a new value, into which the view's new value was *put*; the
view, and every other view of the base, is then that new value seen along its path again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import InPlaceError, ShapeError
from wengert.eager.gradients.hooks import follow_retained
from wengert.eager.operations import kernels
from wengert.eager.operations.elementwise import CLONE, broadcast
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.places import describe, here
from wengert.eager.recording.program import Array
from wengert.eager.recording.record import Output, Record, Source, Storage
from wengert.ir.tensor_types import element, i32, shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Path = tuple[tuple[Operation, Any], ...]
UNRECORDED = {
    block: f"A view was created in {mode} mode and is being modified inplace with grad mode enabled; so is a view of a view that is being made there."
    f" Make the view and change it both inside the {block} block (where the change is not recorded) or both outside"
    for block, mode in (("no_grad", "no_grad"), ("inference_mode", "inference"))
}
"""Why views that were made where gradients are not recorded must not be changed where they are."""


ONE_OF_SEVERAL = "This view is the output of a function that returns multiple views."
"""Why views that one operation made together must not be changed in place; what follows names the operation."""


class View:
    """A view of another tensor: its base, and the operations that lead there.

    Attributes:
        base: the tensor whose memory it shares, which is not a view itself.
        path: the operations that lead from the base to the view, with their parameters.
        version: of the memory, when the view's place on the tape was found.
        frozen: why it must not be changed in place where changes are recorded, if so.
    """

    __slots__ = ("base", "frozen", "path", "version")

    def __init__(self, base: Tensor, path: Path, version: int, frozen: str = ""):
        self.base = base
        self.path = path
        self.version = version
        self.frozen = frozen

    def refresh(self, x: Tensor) -> None:
        """Finds the view's place on the tape again if the memory was changed since."""
        storage = dispatch.storage_of(self.base)
        if storage.version == self.version:
            return
        if self.frozen:
            what = "This tensor is a view" if self.frozen.startswith(ONE_OF_SEVERAL) else self.frozen.partition(" and is being")[0]
            if self.base.tracked and (what != self.frozen or self.frozen in UNRECORDED.values()):
                why = f". {self.frozen}" if self.frozen.startswith(ONE_OF_SEVERAL) else ""
                raise InPlaceError(
                    f"{what} and its base or another view of its base has been modified inplace (at {describe(storage.place)}){why}; make the view again"
                )
            return
        self.version = storage.version
        base = self.base
        if not base.tracked:
            return
        source: Source = base if base.source is None else base.source
        along = base.array
        for op, params in self.path:
            source = Record(op.signature(((along.shape, along.dtype),), params, 0b1), (source,), (), here())
            along = op.kernel(params, along)  # pyright: ignore[reportOptionalCall]
        before, x.source = x.source, source if isinstance(source, Record | Output) else None
        if before is not None:
            follow_retained(x, before, x.source)
        x.tracked = True


def see(op: Operation, x: Tensor, params: Any) -> Tensor:
    """A view of x."""
    a = x.array
    made = dispatch.new(op.kernel(params, a))  # pyright: ignore[reportOptionalCall]
    if not STATE.recording:
        _see_unrecorded(op, x, params, made)
    elif x.is_inference_tensor:
        share_unbooked(x, made)
    elif not x.tracked:
        attach(op, x, params, made)
    else:
        attach(op, x, params, made)
        key = (a.shape, a.dtype, params)
        signature = op.signatures.get(key)
        if signature is None:
            signature = op.signatures[key] = op.signature(((a.shape, a.dtype),), params, 0b1)
        made.source = Record(signature, (dispatch.source_of(x),), (), here())
        made.tracked = True
    if STATE.tape is not None:
        STATE.tape.note(op, params, (x,), (made,))
    return made


def unrecorded() -> str:
    """Why a view that is made now must not be changed in place later, because gradients are not recorded; empty where they are."""
    return "" if STATE.recording else UNRECORDED["inference_mode" if STATE.inference else "no_grad"]


def _see_unrecorded(op: Operation, x: Tensor, params: Any, made: Tensor) -> None:
    """A view that is made where gradients are not recorded. It is as normal as what it is a view of, and in inference mode requires a gradient as that does."""
    if x.is_inference_tensor:
        share_unbooked(x, made)
        return
    made.is_inference_tensor = False
    attach(op, x, params, made, unrecorded())
    made.tracked = STATE.inference and x.tracked


def share_unbooked(x: Tensor, made: Tensor) -> None:
    """Makes a tensor one over the memory of an inference tensor: such views are not on the books, but know the memory that they are a part of."""
    made.is_inference_tensor = True
    storage = made.storage = dispatch.storage_of(x)
    if storage.memory is None:
        storage.memory = x.array


def attach(op: Operation, x: Tensor, params: Any, made: Tensor, frozen: str = "") -> None:
    """Makes a tensor that was computed as a view one on the books."""
    storage = x.storage
    if storage is None:
        storage = x.storage = Storage()
    made.storage = storage
    outer = x.view_of
    if outer is None:
        base = x
        made.view_of = View(x, ((op, params),), storage.version, frozen)
    else:
        base = outer.base
        made.view_of = View(base, (*outer.path, (op, params)), storage.version, frozen or outer.frozen)
    known = base.viewers
    if known is None:
        base.viewers = [ref(made)]
    else:
        if len(known) > 64:
            known[:] = [r for r in known if r() is not None]
        known.append(ref(made))


# -- the operations


def _view(name: str, node: str, emit: Any, kernel: Any, put: Any) -> Operation:
    return register(OPERATIONS, name, node, emit, kernel=kernel, view=True, put=put)


def _reshape_emit(b: OpBuilder, x: Sequence[Value], extents: tuple[int, ...]) -> list[Value]:
    return [b.reshape(x[0], extents)]


def _reshape_put(b: OpBuilder, base: Value, value: Value, extents: tuple[int, ...]) -> Value:
    return b.reshape(value, shape(base))


def _reshaped(extents: tuple[int, ...], x: Array) -> Array:
    return x.reshape(extents)


def _permute_put(b: OpBuilder, base: Value, value: Value, order: tuple[int, ...]) -> Value:
    return b.transpose(value, [order.index(d) for d in range(len(order))])


def _permute_emit(b: OpBuilder, x: Sequence[Value], order: tuple[int, ...]) -> list[Value]:
    return [b.transpose(x[0], order)]


def _transposed(order: tuple[int, ...], x: Array) -> Array:
    return x.transpose(order)


def _expand_emit(b: OpBuilder, x: Sequence[Value], extents: tuple[int, ...]) -> list[Value]:
    return [broadcast(b, x[0], extents)]


def _expand_put(b: OpBuilder, base: Value, value: Value, extents: tuple[int, ...]) -> Value:
    if prod(shape(value)) != prod(shape(base)):
        return base  # of what is repeated only parts without elements are written to
    return b.reshape(value, shape(base))


Cut = tuple[int, int, int, int]
"""Dimension, start, stop, step; 0 <= start <= stop <= extent."""


def _slice_emit(b: OpBuilder, x: Sequence[Value], cut: Cut) -> list[Value]:
    dim, start, stop, step = cut
    extents = shape(x[0])
    starts, stops, steps = [0] * len(extents), list(extents), [1] * len(extents)
    starts[dim], stops[dim], steps[dim] = start, stop, step
    return [b.slice(x[0], starts, stops, steps)]


def _slice_put(b: OpBuilder, base: Value, value: Value, cut: Cut) -> Value:
    dim, start, stop, step = cut
    extents = shape(base)
    if step == 1:
        starts = [b.scalar(start if d == dim else 0, i32) for d in range(len(extents))]
        return b.dynamic_update_slice(base, value, starts)
    inside = np.zeros(extents, np.bool_)
    inside[(*[slice(None)] * dim, slice(start, stop, step))] = True
    low, high, interior = ([0] * len(extents) for _ in range(3))
    covered = (shape(value)[dim] - 1) * step + 1 if shape(value)[dim] else 0
    low[dim], high[dim], interior[dim] = start, extents[dim] - start - covered, step - 1
    return b.select(b.constant(inside), b.pad(value, b.scalar(0, element(value)), low, high, interior), base)


def _sliced(cut: Cut, x: Array) -> Array:
    dim, start, stop, step = cut
    return x[(*[slice(None)] * dim, slice(start, stop, step))]


def _select_emit(b: OpBuilder, x: Sequence[Value], chosen: tuple[int, int]) -> list[Value]:
    dim, index = chosen
    extents = shape(x[0])
    return [b.reshape(_slice_emit(b, x, (dim, index, index + 1, 1))[0], [n for d, n in enumerate(extents) if d != dim])]


def _select_put(b: OpBuilder, base: Value, value: Value, chosen: tuple[int, int]) -> Value:
    dim, index = chosen
    extents = list(shape(base))
    extents[dim] = 1
    return _slice_put(b, base, b.reshape(value, extents), (dim, index, index + 1, 1))


def _selected(chosen: tuple[int, int], x: Array) -> Array:
    dim, index = chosen
    return x[(*[slice(None)] * dim, index, ...)]


def _squeeze_emit(b: OpBuilder, x: Sequence[Value], dims: tuple[int, ...]) -> list[Value]:
    return [b.reshape(x[0], [n for d, n in enumerate(shape(x[0])) if d not in dims])]


def _squeezed(dims: tuple[int, ...], x: Array) -> Array:
    return x.squeeze(dims) if dims else x.view()


def _unsqueeze_emit(b: OpBuilder, x: Sequence[Value], dim: int) -> list[Value]:
    extents = shape(x[0])
    return [b.reshape(x[0], (*extents[:dim], 1, *extents[dim:]))]


VIEW = _view("view", "ViewBackward0", _reshape_emit, _reshaped, _reshape_put)
ALIAS = _view("alias", "AliasBackward0", _reshape_emit, _reshaped, _reshape_put)
UNSAFE_VIEW = register(OPERATIONS, "unsafe_view", "UnsafeViewBackward0", _reshape_emit, kernel=_reshaped)
PERMUTE = _view("permute", "PermuteBackward0", _permute_emit, _transposed, _permute_put)
TRANSPOSE = _view("transpose", "TransposeBackward0", _permute_emit, _transposed, _permute_put)
T = _view("t", "TBackward0", _permute_emit, _transposed, _permute_put)
EXPAND = _view("expand", "ExpandBackward0", _expand_emit, kernels.expand, _expand_put)
SLICE = _view("slice", "SliceBackward0", _slice_emit, _sliced, _slice_put)
SELECT = _view("select", "SelectBackward0", _select_emit, _selected, _select_put)
SQUEEZE = _view("squeeze", "SqueezeBackward0", _squeeze_emit, _squeezed, _reshape_put)
SQUEEZE_DIM = _view("squeeze_dim", "SqueezeBackward1", _squeeze_emit, _squeezed, _reshape_put)
SQUEEZE_PRODUCT = _view("squeeze_product", "SqueezeBackward4", _squeeze_emit, _squeezed, _reshape_put)
UNSQUEEZE = _view("unsqueeze", "UnsqueezeBackward0", _unsqueeze_emit, kernels.unsqueeze, _reshape_put)

# -- as functions of tensors


def dimension(dim: int, rank: int, what: str) -> int:
    """A dimension counted from the start; a ShapeError if there is none of this number."""
    size = max(rank, 1)
    if not -size <= dim < size:
        raise ShapeError(f"{what}: dim {dim} is out of range for rank {rank}")
    return dim % size


def check_rank(x: Tensor, what: str, least: int, most: int) -> None:
    """Raises a ShapeError unless x has so many dimensions."""
    if not least <= x.array.ndim <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ShapeError(f"{what}: expected a tensor of {wanted} dimensions, found one of {x.array.ndim}")


def alias(x: Tensor) -> Tensor:
    """All of x, as a view."""
    return see(ALIAS, x, x.array.shape)


def view(x: Tensor, extents: Sequence[int], name: str = "view") -> Tensor:
    """x in another shape, sharing its memory; a ShapeError if that is not possible."""
    full = _resolved(x, extents, name)
    if x.array.size and not np.may_share_memory(x.array.reshape(full), x.array):
        raise ShapeError(f"view: shape {list(full)} is not compatible with the strides of this {list(x.array.shape)} tensor; use reshape()")
    return see(VIEW, x, full)


def reshape(x: Tensor, extents: Sequence[int]) -> Tensor:
    """x in another shape: a view where memory allows it, else a copy."""
    full = _resolved(x, extents, "reshape")
    if x.array.size == 0 or np.may_share_memory(x.array.reshape(full), x.array):
        return see(VIEW, x, full)
    return dispatch.apply(UNSAFE_VIEW, (dispatch.apply(CLONE, (x,)),), full)


def _resolved(x: Tensor, extents: Sequence[int], name: str) -> tuple[int, ...]:
    size, known = x.array.size, int(np.prod([n for n in extents if n != -1], dtype=np.int64))
    full = tuple(int(n) if n != -1 else (size // known if known else 0) for n in extents)
    if not known and -1 in extents:
        raise ShapeError(f"{name}: of no elements, -1 in {list(extents)} may be any extent")
    if int(np.prod(full, dtype=np.int64)) != size or min(full, default=0) < 0 or list(extents).count(-1) > 1:
        raise ShapeError(f"{name}: shape {list(extents)} does not fit the {size} elements of this {list(x.array.shape)} tensor")
    return full


def permute(x: Tensor, order: Sequence[int], op: Operation = PERMUTE) -> Tensor:
    """x with its dimensions in another order."""
    full = tuple(dimension(d, x.array.ndim, op.name) for d in order)
    if sorted(full) != list(range(x.array.ndim)):
        raise ShapeError(f"{op.name}: {list(order)} is not an order of the dimensions of a tensor of {x.array.ndim}")
    return see(op, x, full)


def transpose(x: Tensor, first: int, second: int, op: Operation = TRANSPOSE) -> Tensor:
    """x with two dimensions exchanged."""
    order = list(range(x.array.ndim))
    i, j = (dimension(d, x.array.ndim, op.name) for d in (first, second))
    if order:
        order[i], order[j] = order[j], order[i]
    return see(op, x, tuple(order))


def expand(x: Tensor, extents: Sequence[int]) -> Tensor:
    """x repeated without copying along dimensions of extent 1, and along new ones in front; -1 leaves an extent as it is."""
    have = x.array.shape
    first = len(extents) - len(have)
    full = tuple(have[d - first] if n == -1 and d >= first else int(n) for d, n in enumerate(extents))
    if first < 0 or any(n not in (1, m) for n, m in zip(have, full[first:], strict=True)):
        raise ShapeError(f"expand: a {list(have)} tensor does not expand to {list(extents)}")
    return see(EXPAND, x, full)


def squeeze(x: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """x without its dimensions of extent 1, or without one of them."""
    if dim is None:
        return see(SQUEEZE, x, tuple(d for d, n in enumerate(x.array.shape) if n == 1))
    if not isinstance(dim, int):
        places = {dimension(d, x.array.ndim, "squeeze") for d in dim}
        return see(SQUEEZE_PRODUCT, x, tuple(d for d in sorted(places) if x.array.ndim and x.array.shape[d] == 1))
    d = dimension(dim, x.array.ndim, "squeeze")
    return see(SQUEEZE_DIM, x, (d,) if x.array.ndim and x.array.shape[d] == 1 else ())


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """x with a new dimension of extent 1."""
    return see(UNSQUEEZE, x, dimension(dim, x.array.ndim + 1, "unsqueeze"))


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """One position along a dimension, which disappears."""
    d = dimension(dim, x.array.ndim, "select")
    if x.array.ndim == 0 or not -x.array.shape[d] <= index < x.array.shape[d]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} of a {list(x.array.shape)} tensor")
    return see(SELECT, x, (d, index % x.array.shape[d]))


def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` positions along a dimension."""
    extent = x.array.shape[dimension(dim, x.array.ndim, "narrow")] if x.array.ndim else 0
    first = start + extent if start < 0 else start
    if not 0 <= first <= first + length <= extent:
        raise ShapeError(f"narrow: {length} positions from {start} on are not within dimension {dim}, whose extent is {extent}")
    start = first
    return cut(x, dim, slice(start, start + length))


def cut(x: Tensor, dim: int, chosen: slice) -> Tensor:
    """A slice along a dimension."""
    d = dimension(dim, x.array.ndim, "slice")
    start, stop, step = chosen.indices(x.array.shape[d])
    if step < 1:
        raise ShapeError("slice: steps must be positive; use flip()")
    return see(SLICE, x, (d, start, max(start, stop), step))
