"""Changes in place, and what they do to history.

The memory is written to and its version counted up, so that a record that kept the old value notices. On the tape nothing is ever
written over: the tensor becomes the name of a new value. If it is a view, its base becomes a new value too, by one operation
(``CopySlices``) that sees the base along the view's path, computes the new value of the view, and puts it in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import InPlaceError, LeafModifiedError
from wengert.eager.gradients.hooks import follow_retained
from wengert.eager.operations import kernels
from wengert.eager.operations.elementwise import ADD, DIV, MUL, SUB, broadcast
from wengert.eager.operations.promotion import category, result_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import MOST_SIGNATURES, Operation, register
from wengert.eager.recording.places import here
from wengert.eager.recording.program import Array, Type
from wengert.eager.recording.record import Output, Record
from wengert.frontends import kinks
from wengert.ir.tensor_types import element, shape

if TYPE_CHECKING:
    from wengert.eager.operations.memory.views import Path
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}


def _filled(b: OpBuilder, x: Sequence[Value], value: float) -> list[Value]:
    return [b.full_like(x[0], value)]


def _copied(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    return [broadcast(b, b.convert(x[1], element(x[0])), shape(x[0]))]


FILL = register(OPERATIONS, "fill", "FillBackward0", _filled, kernel=kernels.fill)
ZERO = register(OPERATIONS, "zero", "ZeroBackward0", _filled, kernel=kernels.fill)
COPY = register(OPERATIONS, "copy", "CopyBackwards", _copied, kernel=kernels.copy)
DETACH = register(OPERATIONS, "detach", "", lambda b, x, _: [b.like(ad.StopGradientOp, x[0])], kernel=kernels.same)
UNRECORDED = register(OPERATIONS, "unrecorded", "", lambda b, x, _: [kinks.declared(b, x[0], (x[1], b.full_like(x[1], 1)))])
"""What a change that is not recorded made of a tensor, with the derivative of what it was: gradients go on to the tensor as if it had not been changed."""
_UFUNCS: dict[Operation, Any] = {ADD: np.add, SUB: np.subtract, MUL: np.multiply, DIV: np.divide}
_COPY_SLICES: dict[tuple[Operation, Path, Any], Operation] = {}


def change(op: Operation, x: Tensor, other: Any = None, params: Any = None) -> Tensor:
    """Replaces the elements of x by what the operation makes of them (and of another tensor or number)."""
    if op in _UFUNCS and not (x.tracked or x.is_inference_tensor) and _write(op, x, other):
        return x
    return change_many(op, x, () if other is None else (other,), params)


def _write(op: Operation, x: Tensor, other: Tensor | float) -> bool:
    """Arithmetic into untracked memory, written at once where dtypes and shapes allow it without looking further."""
    a = x.array
    if isinstance(other, int | float):
        b: Any = other
    elif not other.tracked and other.array.dtype == a.dtype and other.array.shape == a.shape:
        b = other.array
    else:
        return False
    if STATE.tape is not None or a.dtype.kind != "f" or not a.flags.writeable or (x.view_of is not None and x.view_of.base.tracked):
        return False
    if x.view_of is not None:
        check_memory(x)
    _about_to_write(x)
    token = dispatch.begin_quiet()
    _UFUNCS[op](a, b, a)
    dispatch.end_quiet(token)
    storage = x.storage
    if storage is None:
        storage = dispatch.storage_of(x)
    storage.version += 1
    storage.place = here()
    return True


def _about_to_write(x: Tensor) -> None:
    if STATE.mutations is not None:
        STATE.mutations.changing(dispatch.storage_of(x))


def change_many(op: Operation, x: Tensor, others: Sequence[Tensor | float], params: Any = None) -> Tensor:
    """The same with any number of other operands."""
    view = x.view_of
    moves = x.array.dtype.kind in "fVc"  # into integers no gradient flows
    tracked = moves and STATE.recording and (x.tracked or (view is not None and view.base.tracked) or any(getattr(v, "tracked", False) for v in others))
    check_memory(x)
    check_allowed(x, tracked)
    operands = (x, *others)
    old = x.array.copy() if tracked else None
    new, types, params = _computed(op, x, others, params)
    _about_to_write(x)
    storage = dispatch.storage_of(x)
    if x.array.size:
        x.array[...] = new
    storage.version += 1
    storage.place = here()
    if tracked and old is not None:
        if x.view_of is None:
            _rebase(op, x, operands, types, params, old)
        else:
            _rebase_view(op, x, others, types, params, old)
    if STATE.tape is not None:
        STATE.tape.changed(op, params, operands)
    return x


def _computed(op: Operation, x: Tensor, others: Sequence[Tensor | float], params: Any) -> tuple[Array, tuple[Type, ...], Any]:
    """The new elements, the types of the operands on the tape, and the parameters."""
    arrays: list[Any] = [x.array, *(getattr(v, "array", v) for v in others)]
    converted = params is None and len(arrays) == 2 and op is not COPY
    dtype = x.array.dtype
    if converted:
        dtype = result_dtype(arrays)
        check_result(op.name, x, dtype)
        params = x.array.dtype
    types: tuple[Type, ...] = tuple((a.shape, a.dtype) if type(a) is np.ndarray else ((), dtype) for a in arrays)
    arrays = [np.asarray(a, None if isinstance(a, np.ndarray) else dtype) for a in arrays]
    if op.kernel is None:
        new = op.signature(types, params, 0).compute(arrays)[0]
    else:
        token = dispatch.begin_quiet()
        try:
            new = op.kernel(*arrays) if converted or params is None else op.kernel(params, *arrays)
        except ValueError:
            raise dispatch.unequal_shapes(op, (x, *others)) from None
        finally:
            dispatch.end_quiet(token)
    if len(arrays) == 1 and params is None:
        check_result(op.name, x, np.asarray(new).dtype)
    if np.shape(new) != x.array.shape:
        raise InPlaceError(f"{op.name}_: the result has shape {list(np.shape(new))}, which does not fit the tensor of shape {list(x.array.shape)}")
    return new, types, params


def check_result(name: str, x: Tensor, dtype: Any) -> None:
    """Raises an error if a result of this dtype must not be stored in x: a float in a tensor of integers, and the like."""
    if category(dtype) > category(x.array.dtype):
        raise InPlaceError(f"{name}_: a result of {dtype.name} cannot be stored in a tensor of {x.array.dtype.name}")


def check_memory(x: Tensor) -> None:
    """Raises an error if elements of x must not be written, because several of them are one place in memory."""
    a = x.array
    if not a.size:
        return
    if a.size > 1 and any(n > 1 and s == 0 for n, s in zip(a.shape, a.strides, strict=True)):
        raise InPlaceError("more than one element of the tensor is the same place in memory (it was expanded); clone() it before changing it")
    if not a.flags.writeable:
        raise InPlaceError("the tensor is a view of an expanded one, where one place in memory is many elements; clone() it before changing it")
    if x.view_of is not None and any(step.overlaps for step, _ in x.view_of.path) and _overlaps(a):
        raise InPlaceError("windows of the tensor overlap, where one place in memory is several elements; clone() it before changing it")


def _overlaps(a: Array) -> bool:
    """Whether elements may be at one place, by the strides: one that is shorter than what lies within the dimensions of smaller ones."""
    reach = 1
    for n, stride in sorted(zip(a.shape, map(abs, a.strides), strict=True), key=lambda pair: pair[1]):
        if n > 1 and stride < reach:
            return True
        reach += (n - 1) * stride if n > 1 else 0
    return False


def check_allowed(x: Tensor, tracked: bool) -> None:
    """Raises an error if x must not be changed in place; ``tracked`` says that the change is recorded."""
    view = x.view_of
    if x.is_inference_tensor and not STATE.inference:
        raise InPlaceError("Inplace update to inference tensor outside InferenceMode is not allowed; clone() it first")
    if STATE.recording and view is not None and view.frozen and (tracked or view.base.tracked):
        raise InPlaceError(_refused(x, view.frozen))
    if tracked and view is None and x.tracked and x.is_leaf:
        raise LeafModifiedError("a leaf Variable that requires grad is being used in an in-place operation. Do it inside no_grad(), or change a clone()")
    if tracked:
        check_view(x)


def _refused(x: Tensor, reason: str) -> str:
    """The message for a view that must not be changed in place: which result of which node it is, and why."""
    record = x.source.record if isinstance(x.source, Output) else x.source
    if not isinstance(record, Record):
        return f"this view cannot be changed in place. {reason}"
    return f"Output {x.output_nr} of {record.name()} is a view and is being modified inplace. {reason}"


def check_view(x: Tensor) -> None:
    """Raises an error if x is a view that cannot be changed in place where that is recorded."""
    view = x.view_of
    if view is None:
        return
    if view.frozen:
        raise InPlaceError(_refused(x, view.frozen))
    if view.base.tracked and view.base.is_leaf:
        raise LeafModifiedError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation. Do it inside no_grad(), or change a clone()"
        )


def put_in_base(x: Tensor, value: Tensor) -> None:
    """Records that a view is another value now, which its memory holds already: its base is a new value, with that in the place of the view."""
    view = x.view_of
    assert view is not None
    base = view.base
    types = tuple((v.array.shape, v.array.dtype) for v in (base, value))
    before = base.source
    dispatch.record(copy_slices(COPY, view.path, None).signature(types, None, _mask((base, value))), (base, value), (base,))
    follow_retained(base, before, base.source)
    x.tracked = True
    _tell_views(base)


def _stand_in(x: Tensor, array: Array) -> Tensor:
    """The old value of a tensor that was written over, where a derivative needs it."""
    made = dispatch.new(array)
    made.source, made.tracked = x.source, x.tracked
    return made


def _mask(operands: Sequence[Any]) -> int:
    return sum(1 << i for i, v in enumerate(operands) if getattr(v, "tracked", False))


def _rebase(op: Operation, x: Tensor, operands: Sequence[Any], types: tuple[Type, ...], params: Any, old: Array) -> None:
    signature = op.signature(types, params, _mask(operands))
    before = x.source
    dispatch.record(signature, operands, (x,), _stand_in(x, old))
    follow_retained(x, before, x.source)
    _tell_views(x)


def _rebase_view(op: Operation, x: Tensor, others: Sequence[Any], types: tuple[Type, ...], params: Any, old: Array) -> None:
    view = x.view_of
    assert view is not None
    base = view.base
    operation = copy_slices(op, view.path, params)
    full = base.array.copy()
    seen = full
    for step, chosen in view.path:
        seen = step.kernel(chosen, seen)  # pyright: ignore[reportOptionalCall]
    if seen.size:
        seen[...] = old
    operands = (base, *others)
    signature = operation.signature(((base.array.shape, base.array.dtype), *types[1:]), None, _mask(operands))
    before = base.source
    dispatch.record(signature, operands, (base,), _stand_in(base, full))
    follow_retained(base, before, base.source)
    x.tracked = True
    _tell_views(base)


def _tell_views(base: Tensor) -> None:
    """All views of a base that is tracked are tracked. They find their new place on the tape when it is asked for, also those that were operands of the change,
    whose place as it was before was asked for behind it."""
    for reference in base.viewers or ():
        other = reference()
        if other is not None and other.view_of is not None and not other.view_of.frozen:
            other.tracked, other.view_of.version = True, -1


def copy_slices(op: Operation, path: Path, params: Any) -> Operation:
    """The operation on a base that changes it through a view."""
    key = (op, path, params)
    if key not in _COPY_SLICES:
        if len(_COPY_SLICES) >= MOST_SIGNATURES:
            _COPY_SLICES.clear()

        def emit(b: OpBuilder, operands: Sequence[Value], _: Any) -> list[Value]:
            along = [operands[0]]
            for step, chosen in path:
                along.append(step.emit(b, along[-1:], chosen)[0])
            value = op.emit(b, (along[-1], *operands[1:]), params)[0]
            for (step, chosen), base in zip(reversed(path), reversed(along[:-1]), strict=True):
                assert step.put is not None
                value = step.put(b, base, value, chosen)
            return [value]

        _COPY_SLICES[key] = Operation(f"{op.name} through a view", "CopySlices", emit)
    return _COPY_SLICES[key]
