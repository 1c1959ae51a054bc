"""Running an operation: compute at once, and record it where a gradient may be asked for later.

The paths for one and two operands are written out, because this is what every small operation costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.eager.errors import InferenceTensorError, ShapeError
from wengert.eager.operations.promotion import FLOAT32, FLOAT64, default_dtype, result_dtype
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation, Signature
from wengert.eager.recording.places import here
from wengert.eager.recording.program import Array, Type
from wengert.eager.recording.record import Output, Record, Saved, Source, Storage

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

_ndarray = np.ndarray
_UNARY, _BINARY = 0b1, 0b11


class _Maker:
    """Makes tensors; the class is known once its module has been imported, which imports this one."""

    tensor: type[Tensor]


def results_are(cls: type[Tensor]) -> None:
    """Says what operations return."""
    _Maker.tensor = cls


# -- floating point exceptions


class _Quiet:
    """Infinities and NaN come without warnings. ``np.errstate`` costs more than a small operation; setting the context variable
    that it sets costs a tenth. Where NumPy has moved that variable, ``np.errstate`` it is."""

    def __init__(self) -> None:
        try:
            from numpy._core import umath  # pyright: ignore[reportPrivateUsage]

            internals: Any = umath
            variable = internals._extobj_contextvar
            ignore = internals._make_extobj(all="ignore")
            variable.reset(variable.set(ignore))
        except (ImportError, AttributeError, TypeError):
            self.begin: Callable[[], Any] = self._begin_slowly
            self.end: Callable[[Any], None] = self._end_slowly
        else:
            set_variable = variable.set
            self.begin = lambda: set_variable(ignore)
            self.end = variable.reset

    @staticmethod
    def _begin_slowly() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    @staticmethod
    def _end_slowly(state: Any) -> None:
        state.__exit__(None, None, None)


_QUIET = _Quiet()
begin_quiet, end_quiet = _QUIET.begin, _QUIET.end


# -- results


def new(array: Any) -> Tensor:
    """A tensor of this array (or NumPy scalar) that requires no gradient."""
    made = _Maker.tensor.__new__(_Maker.tensor)
    made.array = array if type(array) is _ndarray else np.asarray(array)
    if STATE.inference:
        made.is_inference_tensor = True
    return made


def constant(array: Any) -> Tensor:
    """A tensor made of data rather than by an operation: a constant to a tape that is listening."""
    made = new(array)
    if STATE.tape is not None:
        STATE.tape.created(made)
    return made


def operand(x: Any, dtype: Any) -> Tensor:
    """A tensor as it is, a number as a constant tensor of this dtype."""
    return x if type(x) is _Maker.tensor else constant(np.asarray(x, dtype))


def source_of(x: Tensor) -> Source:
    """The source that stands for x on the tape."""
    if not x.tracked:
        return None
    if x.view_of is not None:
        x.view_of.refresh(x)
    source = x.source
    return x if source is None else source


def tracked(x: Any) -> bool:
    """Whether x is a tensor that gradients flow to."""
    return isinstance(x, _Maker.tensor) and x.tracked


def storage_of(x: Tensor) -> Storage:
    """The memory of x, as far as its versions go."""
    storage = x.storage
    if storage is None:
        storage = x.storage = Storage()
    return storage


def leave_books(x: Tensor, storage: Storage) -> Storage:
    """The storage for a tensor that has x's memory and is not on the books as a view: it keeps what x is a part of."""
    if x.view_of is not None:
        storage.memory = x.view_of.base.array
    elif x.storage is not None and storage.memory is None:
        storage.memory = x.storage.memory
    return storage


def only_inference(operands: Sequence[Any]) -> bool:
    """Whether all were made in inference mode: what is computed of these alone is not recorded anywhere. (A number counts as a normal tensor.)"""
    for x in operands:  # noqa: SIM110  (a generator takes five times as long, and the first operand mostly decides)
        if type(x) is not _Maker.tensor or not x.is_inference_tensor:
            return False
    return True


# -- one operand, two operands


def unary(op: Operation, x: Tensor) -> Tensor:
    """An operation with a kernel that maps floats to floats of the same dtype (integers are converted first)."""
    a = x.array
    dtype = a.dtype
    if dtype is not FLOAT32 and dtype is not FLOAT64:
        if dtype.kind not in "fVc":
            return unary(op, x.to(default_dtype()))
        return apply(op, (x,))
    kernel = op.kernel
    if kernel is None:
        return apply(op, (x,))
    token = begin_quiet()
    r = kernel(a)
    end_quiet(token)
    made = new(r)
    if x.tracked and STATE.recording and not x.is_inference_tensor:
        signature = op.signatures.get((a.shape, dtype))
        if signature is None:
            signature = op.signatures[a.shape, dtype] = op.signature(((a.shape, dtype),), None, _UNARY)
        source = x.source if x.view_of is None else source_of(x)
        saved: tuple[Saved, ...] = ()
        for position in signature.keeps:
            operand = made if position else x
            saved += ((operand.array, storage := storage_of(operand), storage.version),)
        made.source = Record(signature, (x if source is None else source,), saved, here())
        made.tracked = True
    if STATE.tape is not None:
        STATE.tape.note(op, None, (x,), (made,))
    return made


def binary(op: Operation, x: Tensor, y: Tensor | float) -> Tensor:
    """An arithmetic operation with a kernel, on tensors of one dtype or a tensor and a number."""
    a = x.array
    dtype = a.dtype
    other: Any = y
    if type(y) is _Maker.tensor:
        b = other.array
        if b.dtype is not dtype or (dtype is not FLOAT32 and dtype is not FLOAT64):
            return apply(op, (x, y), converted=op.arithmetic)
        shape, tracked = b.shape, other.tracked
    else:
        if type(y) not in _NUMBERS:
            return binary(op, x, _from_outside(op, other, dtype))
        if dtype is not FLOAT32 and dtype is not FLOAT64:
            return apply(op, (x, y), converted=True)
        b, shape, tracked = other, (), False
    token = begin_quiet()
    try:
        r = op.kernel(a, b)  # pyright: ignore[reportOptionalCall]
    except ValueError:
        raise unequal_shapes(op, (x, y)) from None
    finally:
        end_quiet(token)
    made = new(r)
    if (tracked or x.tracked) and STATE.recording and not (x.is_inference_tensor and only_inference((x, y))):
        mask = x.tracked + 2 * tracked
        key = (a.shape, shape, dtype, mask)
        signature = op.signatures.get(key)
        if signature is None:
            signature = op.signatures[key] = op.signature(((a.shape, dtype), (shape, dtype)), None, mask)
        made.source = Record(signature, (_input(x), _input(y)), _saved(signature, (x, y), made), here())
        made.tracked = True
    if STATE.tape is not None:
        STATE.tape.note(op, None, (x, y), (made,))
    return made


_NUMBERS = frozenset((int, float, bool))


def _from_outside(op: Operation, value: Any, dtype: np.dtype[Any]) -> Tensor | float:
    """An array or a complex number as a tensor and a NumPy scalar as a number; anything else raises a TypeError."""
    if isinstance(value, complex):
        base = dtype if dtype.kind in "fc" else default_dtype()
        return constant(np.asarray(value, np.complex64 if base.itemsize * (2 - (base.kind == "c")) < 16 else np.complex128))
    if isinstance(value, np.generic):
        return cast(Any, value).item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{op.name}: expected a tensor or a number, found {type(value).__name__}")
    return constant(cast(Array, value))


def single(op: Operation, x: Tensor, params: Any) -> Tensor:
    """An operation with a kernel and parameters on one tensor."""
    a = x.array
    token = begin_quiet()
    r = op.kernel(params, a)  # pyright: ignore[reportOptionalCall]
    end_quiet(token)
    made = new(r)
    if x.tracked and STATE.recording and not x.is_inference_tensor:
        key = (a.shape, a.dtype, params)
        signature = op.signatures.get(key)
        if signature is None:
            signature = op.signatures[key] = op.signature(((a.shape, a.dtype),), params, _UNARY)
        if signature.differentiable:
            made.source = Record(signature, (_input(x),), _saved(signature, (x,), made), here())
            made.tracked = True
    if STATE.tape is not None:
        STATE.tape.note(op, params, (x,), (made,))
    return made


def _input(x: Any) -> Source:
    if type(x) is not _Maker.tensor:
        return x
    if not x.tracked:
        return None
    if x.view_of is not None:
        return source_of(x)
    source = x.source
    return x if source is None else source


def _saved(signature: Signature, operands: Sequence[Any], made: Tensor) -> tuple[Saved, ...]:
    """The values that an operation with one result keeps."""
    keeps = signature.keeps
    if not keeps:
        return ()
    saved: list[Saved] = []
    for position in keeps:
        kept: Any = operands[position] if position < len(operands) else made
        if type(kept) is _Maker.tensor:
            if kept.is_inference_tensor:
                raise InferenceTensorError(
                    f"'{signature.operation.name}' keeps its operand. Inference tensors cannot be saved for backward; use a clone() instead"
                )
            storage = kept.storage
            if storage is None:
                storage = kept.storage = Storage()
            saved.append((kept.array, storage, storage.version))
        else:
            saved.append((kept, None, 0))
    return tuple(saved)


# -- any number of operands


def apply(op: Operation, operands: Sequence[Any], params: Any = None, *, converted: bool = False) -> Tensor:
    """An operation with one result.

    ``converted`` says that the operands are brought to a common dtype first; each keeps the dtype that it has on the tape.
    """
    return apply_many(op, operands, params, converted=converted)[0]


def apply_many(op: Operation, operands: Sequence[Any], params: Any = None, *, converted: bool = False) -> tuple[Tensor, ...]:
    """An operation with any number of results."""
    tensor = _Maker.tensor
    arrays: list[Any] = [x.array if type(x) is tensor else x for x in operands]
    if converted:
        params = dtype = result_dtype(arrays)
        types = tuple((x.shape, x.dtype) if type(x) is _ndarray else ((), dtype) for x in arrays)
        arrays = [x.astype(dtype, copy=False) if type(x) is _ndarray else _in_dtype(x, dtype) for x in arrays]
    else:
        arrays = [x if type(x) is _ndarray else np.asarray(x) for x in arrays]
        types = tuple((x.shape, x.dtype) for x in arrays)
    mask = 0
    if STATE.recording:
        for i, x in enumerate(operands):
            if type(x) is tensor and x.tracked:
                mask |= 1 << i
    results = _compute(op, operands, arrays, types, params, converted)
    made = tuple(new(r) for r in results)
    if mask and not only_inference(operands):
        record(op.signature(types, params, mask), operands, made)
    if STATE.tape is not None:
        STATE.tape.note(op, params, operands, made)
    return made


def _in_dtype(x: Any, dtype: Any) -> Array:
    """A number as an array; integers that are out of the range of the dtype wrap around."""
    try:
        return np.asarray(x, dtype)
    except OverflowError:
        return np.asarray(x).astype(dtype)


def _compute(op: Operation, operands: Sequence[Any], arrays: Sequence[Array], types: tuple[Type, ...], params: Any, converted: bool) -> Sequence[Any]:
    if op.kernel is None:
        try:
            return op.signature(types, params, 0).compute([operands_as(a, t) for a, t in zip(arrays, types, strict=True)])
        except (ValueError, TypeError, AssertionError, IndexError) as error:
            raise ShapeError(f"{op.name}: operands {describe_types(types)} do not fit ({error})") from None
    token = begin_quiet()
    try:
        results = op.kernel(*arrays) if converted or params is None else op.kernel(params, *arrays)
    except ValueError:
        raise unequal_shapes(op, operands) from None
    finally:
        end_quiet(token)
    return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)


def operands_as(array: Array, type: Type) -> Array:
    """The array in the dtype that the tape has it in."""
    return array.astype(type[1], copy=False)


def record(signature: Signature, operands: Sequence[Any], made: Sequence[Tensor], old: Tensor | None = None) -> Record:
    """Puts an operation on the tape and makes its differentiable results tracked.

    ``old`` stands for the first operand's value where the operation has written over it. Of other operands in the same memory the
    version before that is kept, so that their derivative is refused: what they were is gone.
    """
    tensor = _Maker.tensor
    inputs = tuple(_input(x) for x in operands)
    saved: list[Saved] = []
    for position in signature.keeps:
        kept: Any = operands[position] if position < len(operands) else made[position - len(operands)]
        if position == 0 and old is not None:
            kept = old
        if type(kept) is not tensor:
            saved.append((kept, None, 0))
            continue
        if kept.is_inference_tensor:
            raise InferenceTensorError(f"'{signature.operation.name}' keeps its operand. Inference tensors cannot be saved for backward; use a clone() instead")
        storage = storage_of(kept)
        gone = old is not None and 0 < position < len(operands) and storage is storage_of(operands[0])
        saved.append((kept.array, storage, storage.version - gone))
    entry = Record(signature, inputs, tuple(saved), here())
    results = signature.differentiable
    single = len(made) == 1
    for number in results:
        made[number].source = entry if single else Output(entry, number)
        made[number].tracked = True
    return entry


def describe_types(types: Sequence[Type]) -> str:
    """``float32[2, 3], float32[4]``."""
    return ", ".join(f"{dtype.name}{list(shape)}" for shape, dtype in types)


def unequal_shapes(op: Operation, operands: Sequence[Any]) -> ShapeError:
    """The error for operands that do not broadcast."""
    types = [(x.array.shape, x.array.dtype) for x in operands if type(x) is _Maker.tensor]
    return ShapeError(f"{op.name}: the shapes of {describe_types(types)} do not go together")
