"""The derivative of an operation in forward mode, as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.gradients.derive import optimized
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, Signature
from wengert.eager.recording.program import Array, inline, module_of
from wengert.transforms.ad.derive import jvp

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def pushforward(
    op: Operation, params: Any, operands: Sequence[Any], arrays: Sequence[Any], tangents: Sequence[Tensor | None], dtypes: Sequence[Any]
) -> list[Tensor | None]:
    """The tangents of an operation's results.

    Args:
        op: the operation.
        params: its parameters.
        operands: its operands, tensors and numbers.
        arrays: what they were when it ran.
        tangents: those of the operands, None where there is none.
        dtypes: of its results.

    Returns:
        The tangents of the results, None for those that are not of floats.
    """
    of_arrays: list[Array] = [a for a in arrays if isinstance(a, np.ndarray)]
    dtype: Any = of_arrays[0].dtype if not isinstance(params, np.dtype) else cast(Any, params)
    given: list[Array] = [a if isinstance(a, np.ndarray) else np.asarray(a, dtype) for a in arrays]
    mask = sum(1 << i for i, t in enumerate(tangents) if t is not None)
    signature = op.signature(tuple((a.shape, a.dtype) for a in given), params, mask)
    if not signature.differentiable:
        return [None] * len(dtypes)
    if signature.pushforward is None:
        signature.pushforward = _derived(signature)
    made = dispatch.apply_many(signature.pushforward, (*map(_primal, operands, given), *(t for t in tangents if t is not None)))
    result: list[Tensor | None] = [None] * len(dtypes)
    for position, tangent in zip(signature.differentiable, made, strict=True):
        result[position] = tangent
    return result


def _primal(operand: Any, array: Array) -> Any:
    """The operand, or what it was before it was changed in place."""
    return operand if getattr(operand, "array", None) is array else dispatch.new(array)


def _derived(signature: Signature) -> Operation:
    def body(b: OpBuilder, operands: Sequence[Value]) -> Sequence[Value]:
        return signature.operation.emit(b, operands, signature.params)

    module = module_of(signature.types, body)
    jvp(module, "main", signature.wanted, signature.differentiable)
    module = optimized(module, len(signature.results))
    base = signature.operation
    return Operation(f"{base.name}_forward", f"{base.node}Forward", lambda b, operands, _: inline(b, module, operands), exact_zeros=False)
