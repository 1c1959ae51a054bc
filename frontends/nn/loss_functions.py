"""Losses by element, by pair and by margin, each reduced as PyTorch's of its name."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from wengert.eager.library import functions
from wengert.eager.library.shapes import broadcast_tensors
from wengert.eager.operations.elementwise import where
from wengert.eager.operations.promotion import floating, result_dtype
from wengert.eager.recording import dispatch
from wengert.nn.activations import logsigmoid
from wengert.nn.layers import linear
from wengert.nn.losses import cross_entropy, reduced

Function = Callable[..., Any]


def _of_elements(function: Function) -> Function:
    """A loss from what it is for each element."""

    def run(x: Any, target: Any, *args: Any, reduction: str = "mean", size_average: Any = None, reduce: Any = None, **keywords: Any) -> Any:
        return reduced(function(x, target, *args, **keywords), reduction)

    return run


def _smooth(x: Any, target: Any, beta: float = 1.0) -> Any:
    apart = (x - target).abs()
    return where(apart < beta, 0.5 * apart * apart / beta, apart - 0.5 * beta) if beta else apart


def _huber(x: Any, target: Any, delta: float = 1.0, weight: Any = None) -> Any:
    apart = (x - target).abs()
    made = where(apart <= delta, 0.5 * apart * apart, delta * (apart - 0.5 * delta))
    return made if weight is None else made * weight


def _binary(x: Any, target: Any, weight: Any = None) -> Any:
    made = -(target * x.log().clamp(min=-100) + (1 - target) * (1 - x).log().clamp(min=-100))
    return made if weight is None else made * weight


def _binary_logits(x: Any, target: Any, weight: Any = None, pos_weight: Any = None) -> Any:
    scale = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    made = (1 - target) * x - scale * logsigmoid(x)
    return made if weight is None else made * weight


def _poisson(x: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8) -> Any:
    made = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        safe = where(target > 1, target, 0 * target + 2)
        made = made + where(target > 1, target * safe.log() - target + 0.5 * (2 * pi * safe).log(), 0 * target)
    return made


def poisson_nll_loss(
    x: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The negative logarithm of a Poisson distribution."""
    return reduced(_poisson(x, target, log_input, full, eps), reduction)


def gaussian_nll_loss(x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """The negative logarithm of a normal distribution."""
    if not hasattr(var, "array"):
        var = 0 * x.detach() + var
    if var.array.ndim < x.array.ndim and var.array.shape == x.array.shape[:-1]:
        var = var.unsqueeze(-1)
    safe = var + (var.detach().clamp(min=eps) - var.detach())
    made = 0.5 * (safe.log() + (x - target) ** 2 / safe)
    return reduced(made + 0.5 * log(2 * pi) if full else made, reduction)


def kl_div(x: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False) -> Any:
    """The divergence of a distribution, given by logarithms, from another."""
    made = target.exp() * (target - x) if log_target else functions()["xlogy"](target, target) - target * x
    return made.sum() / x.array.shape[0] if reduction == "batchmean" else reduced(made, reduction)


def _margin(x1: Any, x2: Any, target: Any, margin: float = 0.0) -> Any:
    return (-target * (x1 - x2) + margin).clamp(min=0)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """How far pairs are from being in the given order."""
    return reduced(_margin(input1, input2, target, margin), reduction)


def _hinge(x: Any, target: Any, margin: float = 1.0) -> Any:
    zero = 0 * x
    return where(target != 1, (margin - x).clamp(min=0), zero) + where(target != -1, x, zero)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors, which broadcast."""
    dtype = floating(result_dtype((x1.array, x2.array)))
    x1, x2 = broadcast_tensors(x1.to(dtype), x2.to(dtype))
    first, second = (x.norm(2, dim, True) for x in (x1, x2))
    first, second = (n + (n.detach().clamp(min=eps) - n.detach()) for n in (first, second))
    return ((x1 / first) * (x2 / second)).sum(dim)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """How far pairs are from being like, or unlike, each other."""
    eps = 1e-12
    cosine = (input1 * input2).sum(-1) / (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    zero = 0 * cosine
    return reduced(where(target == 1, 1 - cosine, zero) + where(target == -1, (cosine - margin).clamp(min=0), zero), reduction)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of differences."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """How much nearer the positive one has to come than the negative one."""
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps), margin=margin, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Function | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
) -> Any:
    """The same for any distance."""
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)


def multilabel_soft_margin_loss(x: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """Binary cross entropy of many labels."""
    made = -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x))
    made = made if weight is None else made * weight
    return reduced(made.mean(-1), reduction)


def multi_margin_loss(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """How far classes come near the right one."""
    rows = x if x.array.ndim > 1 else x.unsqueeze(0)
    rows = rows if rows.array.ndim else rows.reshape(1)
    rows = rows if rows.array.ndim > 1 else rows.reshape(1, -1)
    places = target.reshape(-1, 1)
    made = (margin - rows.gather(1, places) + rows).clamp(min=0) ** p
    made = made if weight is None else made * weight[places.reshape(-1)].unsqueeze(-1)
    own = dispatch.new(np.arange(rows.array.shape[1]) == places.array)
    made = made.masked_fill(own, 0).sum(1) / rows.array.shape[1]
    return reduced(made if x.array.ndim > 1 else made.reshape(()), reduction)


def linear_cross_entropy(
    x: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """The cross entropy of ``linear(x, linear_weight)``; ``options``, which say how PyTorch divides the work, are without consequence."""
    classes, *features, width = linear_weight.array.shape
    logits = linear(x, linear_weight.reshape(-1, width), None if linear_bias is None else linear_bias.reshape(-1))
    logits = logits.reshape(*x.array.shape[:-1], classes, *features)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing)


LOSSES: dict[str, Function] = {
    "linear_cross_entropy": linear_cross_entropy,
    "l1_loss": _of_elements(lambda x, target, weight=None: (x - target).abs() if weight is None else (x - target).abs() * weight),
    "smooth_l1_loss": _of_elements(_smooth),
    "huber_loss": _of_elements(_huber),
    "binary_cross_entropy": _of_elements(_binary),
    "binary_cross_entropy_with_logits": _of_elements(_binary_logits),
    "poisson_nll_loss": poisson_nll_loss,
    "gaussian_nll_loss": gaussian_nll_loss,
    "kl_div": kl_div,
    "margin_ranking_loss": margin_ranking_loss,
    "hinge_embedding_loss": _of_elements(_hinge),
    "cosine_embedding_loss": cosine_embedding_loss,
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": pairwise_distance,
    "triplet_margin_loss": triplet_margin_loss,
    "triplet_margin_with_distance_loss": triplet_margin_with_distance_loss,
    "soft_margin_loss": _of_elements(lambda x, target: (-target * x).exp().log1p()),
    "multilabel_soft_margin_loss": multilabel_soft_margin_loss,
    "multi_margin_loss": multi_margin_loss,
}
