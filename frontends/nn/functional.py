"""Functions of layers beyond those with code of their own: activations, losses, normalisation, attention, convolutions and pooling of all ranks."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.eager.library import functions
from wengert.eager.operations.creation import rand
from wengert.eager.operations.elementwise import where
from wengert.eager.recording import dispatch
from wengert.nn.activations import dropout, logsigmoid, silu, softplus
from wengert.nn.loss_functions import LOSSES
from wengert.nn.normalization import group_norm, instance_norm, rms_norm
from wengert.nn.padding import interpolate, pad

Function = Callable[..., Any]
windows: Any = import_module("wengert.nn.windows")  # the package, which asks this module for names that it has not, is still being imported
unpooling: Any = import_module("wengert.nn.unpooling")
sampling: Any = import_module("wengert.nn.sampling")
attention: Any = import_module("wengert.nn.attention")

# -- activations


def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where it is positive, else alpha (exp(x) - 1)."""
    return where(x > 0, x, x.clamp(max=0).expm1() * alpha)


def celu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
    return where(x > 0, x, (x.clamp(max=0) / alpha).expm1() * alpha)


def selu(x: Any, inplace: bool = False) -> Any:
    """elu of such constants that variances are kept (Klambauer et al., "Self-Normalizing Neural Networks", 2017)."""
    return elu(x, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where it is positive, else a multiple of it."""
    return where(x > 0, x, x * negative_slope)


def threshold(x: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x above a threshold, else a number."""
    return where(x > threshold, x, float(value))


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x between bounds; its derivative on them is 0."""
    return where((x > min_val) & (x < max_val), x, x.detach().clamp(min_val, max_val))


def hardswish(x: Any, inplace: bool = False) -> Any:
    """x relu6(x + 3) / 6."""
    return where(x <= -3, 0 * x, where(x >= 3, x, x * (x + 3) / 6))


def prelu(x: Any, weight: Any) -> Any:
    """x where it is positive, else a multiple of it that each channel has."""
    slopes = weight.reshape(-1, *(1,) * (x.array.ndim - 2)) if weight.array.size > 1 and x.array.ndim > 1 else weight
    return where(x > 0, x, x * slopes)


def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """leaky_relu of random slopes, or of their mean."""
    slopes = rand(*x.array.shape, dtype=x.array.dtype) * (upper - lower) + lower if training else (lower + upper) / 2
    return where(x >= 0, x, x * slopes)


def glu(x: Any, dim: int = -1) -> Any:
    """Half of x times the sigmoid of the other half."""
    a, b = x.chunk(2, dim)
    return a * b.sigmoid()


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of a relaxed choice."""
    noise = -(-(rand(*logits.array.shape, dtype=logits.array.dtype).log())).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    picked = (soft.detach() == soft.detach().amax(dim, True)).to(soft.array.dtype)
    return picked - soft.detach() + soft


# -- normalisation and attention


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """x divided by its norm along a dimension."""
    return x / x.norm(p, dim, True).clamp(min=eps)


def local_response_norm(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """x divided by what neighbouring channels amount to."""
    squares = (x * x).unsqueeze(1)
    flat = squares.reshape(x.array.shape[0], 1, x.array.shape[1], -1)
    wide = pad(flat, [0, 0, size // 2, (size - 1) // 2])
    means = windows.avg_pool(2)(wide, (size, 1), 1).reshape(*x.array.shape)
    return x / (means * alpha + k) ** beta


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(q k^T scale + mask) v, for ``query: [..., l, e]``, ``key: [..., s, e]`` and ``value: [..., s, v]``."""
    if enable_gqa:
        repeat = functions()["repeat_interleave"]
        key, value = (repeat(x, query.array.shape[-3] // x.array.shape[-3], -3) for x in (key, value))
    scores = query.matmul(key.transpose(-2, -1)) * (query.array.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(dispatch.new(~np.tril(np.ones(scores.array.shape[-2:], np.bool_))), -float("inf"))
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -float("inf")) if attn_mask.array.dtype == np.bool_ else scores + attn_mask
    weights = scores.softmax(-1)
    weights = weights if attn_mask is None and not is_causal else weights.masked_fill(weights.detach() != weights.detach(), 0)
    return (dropout(weights, dropout_p) if dropout_p else weights).matmul(value)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """x1^T W x2 for every matrix of the weight."""
    from wengert.eager.operations.einsum import einsum

    made = einsum("...i,oij,...j->...o", input1, weight, input2)
    return made if bias is None else made + bias


def one_hot(x: Any, num_classes: int = -1) -> Any:
    """Rows of zeros with a one at the place of the class."""
    count = int(x.array.max()) + 1 if num_classes == -1 else num_classes
    return dispatch.new((x.array[..., None] == np.arange(count)).astype(np.int64))


def softmin(x: Any, dim: int, dtype: Any = None) -> Any:
    """The softmax of -x."""
    return (-x).softmax(dim, dtype=dtype)


def _dropped(rank: int) -> Function:
    """Whole channels set to zero."""

    def run(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if not training or not p:
            return x
        front = x.array.shape[: max(x.array.ndim - rank, 1)]
        mask = (rand(*front, *(1,) * (x.array.ndim - len(front)), dtype=x.array.dtype) >= p).to(x.array.dtype)
        return x * mask * (1 / (1 - p) if p < 1 else 0.0)

    return run


def _alpha_dropped(x: Any, p: float, training: bool, extents: Any) -> Any:
    """Dropout that keeps mean 0 and variance 1 of what SELU makes (G. Klambauer et al., 2017): what is dropped has SELU's smallest value."""
    if not training or p == 0:
        return x.clone()
    lowest = -1.7580993408473766
    scale = ((1 - p) * (1 + p * lowest**2)) ** -0.5 if p < 1 else 0.0
    kept = rand(*extents, dtype=x.array.dtype) >= p
    mask = kept.to(x.array.dtype).expand(*x.array.shape)
    return (x * mask + lowest * (1 - mask)) * scale - scale * lowest * p


def multilabel_margin_loss(x: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    """max(0, 1 - (x[right] - x[wrong])) over all pairs of a right class and a wrong one; targets end at the first -1."""
    rows, targets = (v.reshape(1, -1) if v.array.ndim < 2 else v for v in (x, target))
    classes = rows.array.shape[1]
    ended = np.cumsum(targets.array < 0, 1) > 0
    right = np.zeros(rows.array.shape, np.bool_)
    for row, (places, over) in enumerate(zip(targets.array, ended, strict=True)):
        right[row, places[~over]] = True
    wrong = dispatch.new((~right).astype(rows.array.dtype))
    index = dispatch.new(np.where(ended, 0, targets.array))
    counted = dispatch.new((~ended).astype(rows.array.dtype))
    margins = (1 - rows.gather(1, index).unsqueeze(2) + rows.unsqueeze(1)).relu() * counted.unsqueeze(2) * wrong.unsqueeze(1)
    losses = margins.sum((1, 2)) / classes
    losses = losses.reshape(()) if x.array.ndim < 2 else losses
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


FUNCTIONAL: dict[str, Function] = {
    "elu": elu,
    "celu": celu,
    "selu": selu,
    "leaky_relu": leaky_relu,
    "threshold": threshold,
    "hardtanh": hardtanh,
    "relu6": lambda x, inplace=False: hardtanh(x, 0.0, 6.0),
    "hardswish": hardswish,
    "hardsigmoid": lambda x, inplace=False: hardtanh(x, -3.0, 3.0) / 6 + 0.5,
    "hardshrink": lambda x, lambd=0.5: where((x >= -lambd) & (x <= lambd), 0 * x.detach(), x),
    "softshrink": lambda x, lambd=0.5: where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0 * x)),
    "tanhshrink": lambda x: x - x.tanh(),
    "softsign": lambda x: x / (x.abs() + 1),
    "logsigmoid": logsigmoid,
    "mish": lambda x, inplace=False: x * softplus(x).tanh(),
    "prelu": prelu,
    "rrelu": rrelu,
    "glu": glu,
    "gumbel_softmax": gumbel_softmax,
    "softmin": softmin,
    "swish": silu,
    "log_softmax": lambda x, dim=None, dtype=None: x.log_softmax(dim, dtype=dtype),
    **LOSSES,
    **sampling.SAMPLING,
    "multi_head_attention_forward": attention.multi_head_attention_forward,
    "normalize": normalize,
    "group_norm": group_norm,
    "instance_norm": instance_norm,
    "rms_norm": rms_norm,
    "local_response_norm": local_response_norm,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "bilinear": bilinear,
    "one_hot": one_hot,
    "pad": pad,
    "interpolate": interpolate,
    "upsample_nearest": lambda x, size=None, scale_factor=None: interpolate(x, size, scale_factor, "nearest"),
    "upsample_bilinear": lambda x, size=None, scale_factor=None: interpolate(x, size, scale_factor, "bilinear", True),
    "dropout1d": _dropped(1),
    "dropout2d": _dropped(2),
    "dropout3d": _dropped(3),
    "unfold": windows.columns,
    "fold": windows.fold,
    "pixel_shuffle": windows.pixel_shuffle,
    "pixel_unshuffle": windows.pixel_unshuffle,
    "channel_shuffle": windows.channel_shuffle,
    "cdist": lambda x1, x2, p=2.0: functions()["cdist"](x1, x2, p),
    "pdist": lambda x, p=2.0: functions()["cdist"](x, x, p)[
        dispatch.new(np.triu_indices(x.array.shape[0], 1)[0]), dispatch.new(np.triu_indices(x.array.shape[0], 1)[1])
    ],
    **{f"conv{n}d": windows.convolution(n) for n in (1, 3)},
    **{f"conv_transpose{n}d": windows.transposed_convolution(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": windows.max_pool(n) for n in (1, 3)},
    **{f"avg_pool{n}d": windows.avg_pool(n) for n in (1, 3)},
    **{f"max_unpool{n}d": unpooling.max_unpool(n) for n in (1, 2, 3)},
    "alpha_dropout": lambda x, p=0.5, training=False, inplace=False: _alpha_dropped(x, p, training, x.array.shape),
    "feature_alpha_dropout": lambda x, p=0.5, training=False, inplace=False: _alpha_dropped(
        x, p, training, (*x.array.shape[:2], *(1 for _ in x.array.shape[2:]))
    ),
    "multilabel_margin_loss": multilabel_margin_loss,
    **{f"lp_pool{n}d": windows.lp_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": windows.adaptive(n, largest=False) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": windows.adaptive(n, largest=True) for n in (1, 2, 3)},
}


def __getattr__(name: str) -> Any:
    """The functions of the table, and those of :mod:`wengert.nn`."""
    return FUNCTIONAL[name] if name in FUNCTIONAL else getattr(import_module("wengert.nn"), name)
