"""Losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.tensor import Tensor
from wengert.ir.tensor_types import element, i64, shape, tensor

OPERATIONS: dict[str, Operation] = {}
_IGNORED = -100
"""The class, PyTorch's by default, of a row that does not count."""


def reduced(values: Tensor, reduction: str) -> Tensor:
    """The mean of losses, their sum, or each of them."""
    _check_reduction(reduction)
    return values.mean() if reduction == "mean" else values.sum() if reduction == "sum" else values


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ShapeError(f"reduction must be 'mean', 'sum' or 'none', found {reduction!r}")


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The square of the difference, element by element."""
    return reduced((x - target).square(), reduction)


# -- classes


def _counted(b: OpBuilder, operands: Sequence[Value], ignored: int) -> Value:
    """The weight of each row's class: 0 where the row does not count."""
    rows = operands[0]
    (n, c), target = shape(rows), b.convert(operands[1], i64)
    hit = b.compare("EQ", b.iota(1, tensor((n, c), i64)), b.broadcast_in_dim(target, [0], (n, c)))
    ones = b.full_like(rows, 1) if len(operands) == 2 else b.broadcast_in_dim(b.convert(operands[2], element(rows)), [1], (n, c))
    counts = b.compare("NE", target, b.full_like(target, ignored))
    return b.select(b.and_(hit, b.broadcast_in_dim(counts, [0], (n, c))), ones, b.full_like(rows, 0))


def _nll(b: OpBuilder, operands: Sequence[Value], given: tuple[str, int]) -> list[Value]:
    """Of log-probabilities [n, c], classes [n] and possibly weights [c]: minus the weighted log-probability of each row's class."""
    reduction, ignored = given
    rows, weights = operands[0], _counted(b, operands, ignored)
    zero = b.full_like(rows, 0)
    each = b.negate(b.reduce_sum(b.select(b.compare("NE", weights, zero), b.multiply(weights, rows), zero), [1]))
    if reduction == "none":
        return [each]
    total = b.reduce_sum(each, [0])
    return [total if reduction == "sum" else b.divide(total, b.reduce_sum(weights, [0, 1]))]


def _nll_kernel(given: tuple[str, int], rows: Any, target: Any, weight: Any = None) -> Any:
    reduction, ignored = given
    kept = target != ignored
    safe = np.where(kept, target, 0)
    weights = kept.astype(rows.dtype) if weight is None else np.where(kept, weight[safe], 0).astype(rows.dtype)
    picked = rows[np.arange(len(rows)), safe]
    each = cast(Any, np.where(weights != 0, -weights * picked, rows.dtype.type(0)))
    if reduction == "none":
        return each
    total: Any = each.sum(dtype=rows.dtype)
    return total if reduction == "sum" else np.divide(total, weights.sum(dtype=rows.dtype))


NLL = register(OPERATIONS, "nll_loss", "NllLossBackward0", _nll, kernel=_nll_kernel, differentiable=slice(1))


def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = _IGNORED, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of the target class.

    Args:
        x: log-probabilities, ``[c]``, ``[n, c]`` or ``[n, c, ...]``.
        target: classes, integers of the shape of x without c.
        weight: what each class counts, ``[c]``; a mean is then a weighted one.
        ignore_index: the class of rows that do not count.
        reduction: ``mean``, ``sum`` or ``none``.

    Raises:
        ShapeError: shapes do not go together.
        IndexError: there is no such class.
    """
    _check_reduction(reduction)
    rows = _rows(x)
    flat = _classes("nll_loss", x, rows, target, ignore_index)
    loss = dispatch.apply(NLL, (rows, flat) if weight is None else (rows, flat, weight), (reduction, ignore_index))
    return loss.reshape(*target.shape) if reduction == "none" and loss.shape != target.shape else loss


def _rows(x: Tensor) -> Tensor:
    """[c], [n, c] or [n, c, ...] as a matrix with a row for each choice of a class."""
    if x.ndim == 2:
        return x
    return x.unsqueeze(0) if x.ndim == 1 else x.permute(0, *range(2, x.ndim), 1).reshape(-1, x.shape[1])


def _classes(what: str, x: Tensor, rows: Tensor, target: Tensor, ignored: int) -> Tensor:
    if x.ndim == 0 or target.shape != (x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()):
        raise ShapeError(f"{what}: scores of shape {list(x.shape)} do not go with targets of shape {list(target.shape)}")
    classes = target.array
    if ((classes < 0) | (classes >= rows.shape[1])).any() and ((classes != ignored) & ((classes < 0) | (classes >= rows.shape[1]))).any():
        raise IndexError(f"{what}: there are classes 0 to {rows.shape[1] - 1}, but targets from {classes.min()} to {classes.max()}")
    return target if target.ndim == 1 else target.reshape(-1)


def cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = _IGNORED, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """The negative log-likelihood of classes under the softmax of ``x``; ``target`` holds classes, or probabilities of the shape of x.

    With label smoothing, a share of the target is spread evenly over all classes. The arguments and errors are those of :func:`nll_loss`.
    """
    if not target.is_floating_point():
        logs = x.log_softmax(min(x.ndim - 1, 1))
        loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
        return loss if label_smoothing == 0 else loss * (1 - label_smoothing) + _spread(logs, target, weight, ignore_index, reduction) * label_smoothing
    if target.shape != x.shape:
        raise ShapeError(f"cross_entropy: scores of shape {list(x.shape)} do not go with probabilities of shape {list(target.shape)}")
    logs = _rows(x).log_softmax(-1)
    smooth = _rows(target) * (1 - label_smoothing) + label_smoothing / logs.shape[-1]
    each = -(logs * smooth if weight is None else logs * smooth * weight).sum(-1)
    return each.reshape(*(x.shape[:1] + x.shape[2:] if x.ndim > 1 else ())) if reduction == "none" else reduced(each, reduction)


def _spread(logs: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str) -> Tensor:
    """The loss of a target that is all classes alike."""
    rows, flat = _rows(logs), target.reshape(-1)
    each = -(rows if weight is None else rows * weight).sum(-1) / rows.shape[-1]
    kept = (flat != ignored).to(each.dtype)
    each = each * kept
    if reduction == "mean":
        if weight is None:
            return each.sum() / kept.sum()
        return each.sum() / (weight[(flat * (flat != ignored))] * kept).sum()
    return each.sum() if reduction == "sum" else each.reshape(*target.shape)
