"""Losses."""

from __future__ import annotations

from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor


def _reduced(values: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ShapeError(f"reduction must be 'mean', 'sum' or 'none', found {reduction!r}")
    return values.mean() if reduction == "mean" else values.sum() if reduction == "sum" else values


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The square of the difference, element by element."""
    return _reduced((x - target).square(), reduction)


def nll_loss(log_probabilities: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of the target class. ``log_probabilities: [n, c]``, ``target: integers[n]``; or ``[c]`` and one class."""
    if log_probabilities.ndim == 1:
        return -log_probabilities[target.reshape(1)].sum()
    if log_probabilities.ndim != 2 or target.shape != log_probabilities.shape[:1]:
        raise ShapeError(f"nll_loss: log-probabilities of shape {list(log_probabilities.shape)} do not go with targets of shape {list(target.shape)}")
    chosen = log_probabilities.gather(1, target.unsqueeze(1)).squeeze(1)
    return _reduced(-chosen, reduction)


def cross_entropy(x: Tensor, target: Tensor, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """The negative log-likelihood of classes under the softmax of ``x: [n, c]``; ``target`` holds n classes, or probabilities ``[n, c]``.

    With label smoothing, a share of the target is spread evenly over all classes.
    """
    logs = x.log_softmax(-1)
    if target.is_floating_point():
        smooth = target * (1 - label_smoothing) + label_smoothing / x.shape[-1]
        return _reduced(-(logs * smooth).sum(-1), reduction)
    loss = nll_loss(logs, target, reduction)
    if label_smoothing == 0:
        return loss
    return loss * (1 - label_smoothing) + _reduced(-logs.mean(-1), reduction) * label_smoothing
