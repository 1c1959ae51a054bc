"""Scaled dot-product attention (Vaswani et al. 2017), and the ops that PyTorch chooses for it on different hardware.

All are one program: scores, a mask, softmax, dropout, and a product. What keeps the scores out of memory is a pass (``tile-products``), not an op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.random_numbers import kept_by_dropout
from wengert.frontends.aten.result_types.matrices import attended_and_divisors, attended_with_weights
from wengert.frontends.aten.result_types.rules import asked
from wengert.ir.tensor_types import element, f32, f64, i1, i64, is_boolean, shape, tensor


@dataclass(frozen=True)
class _Settings:
    mask: Value | None = None
    dropout: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    dropout_mask: Value | None = None


def attended(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """The queries' shape, with as many features as values have."""
    q, k, v = (shape(given[name]) for name in ("query", "key", "value"))
    heads = q[:-2] if given.get("enable_gqa") else np.broadcast_shapes(q[:-2], k[:-2], v[:-2])
    return (tensor((*heads, q[-2], v[-1]), element(given["query"])),)


def _softmax(b: AtenBuilder, scores: Value, is_masked: bool) -> tuple[Value, Value]:
    """The softmax along the last dimension, 0 in rows of which a mask hides all; and the logarithm of its divisor."""
    d = len(shape(scores)) - 1
    top = b.stopped(b.reduce(core.Kind.max, scores, [d]))
    if is_masked:
        hidden = b.compare("EQ", top, b.full_like(top, float("-inf")))
        top = b.select(hidden, b.full_like(top, 0), top)
    raised = b.exponential(b.subtract(scores, b.along(scores, top, [d])))
    total = b.reduce_sum(raised, [d])
    if is_masked:
        total = b.select(hidden, b.full_like(total, 1), total)  # pyright: ignore[reportPossiblyUnboundVariable]
    return b.divide(raised, b.along(scores, total, [d])), b.add(b.log(total), top)


def _attention(b: AtenBuilder, q: Value, k: Value, v: Value, settings: _Settings) -> tuple[Value, Value, Value]:
    """softmax(scale q k^T + mask) v, the logarithms of the divisors, and the weights.

    Shapes: q: [..., h, l, e], k: [..., g, s, e], v: [..., g, s, f] -> [..., h, l, f], where h is a multiple of g: h / g queries share a key.
    """
    own = element(q)
    wide = own if own in (f32, f64) else f32
    q, k, v = (b.convert(x, wide) for x in (q, k, v))
    (length, features), source = shape(q)[-2:], shape(k)[-2]
    outer = shape(q)[:-2]
    q, k, v, batch = _grouped(b, q, k, v)
    scale = 1 / sqrt(features) if settings.scale is None else settings.scale
    lead = tuple(range(len(batch)))
    # [batch, shared, l, e] with [batch, s, e]
    scores = b.dot_general(b.multiply(q, b.full_like(q, scale)), k, ((len(batch) + 2,), (len(batch) + 1,)), (lead, lead))
    heads = tuple(np.broadcast_shapes(outer, (*batch[: len(outer)],))) if len(batch) == len(outer) and shape(q)[len(batch)] == 1 else outer
    grouped = shape(scores)
    scores = _masked(b, b.reshape(scores, [*heads, length, source]), settings)
    weights, divisors = _softmax(b, scores, settings.mask is not None)
    dropped = _dropped(b, weights, settings)
    mixed = b.dot_general(b.reshape(dropped, grouped), v, ((len(batch) + 2,), (len(batch),)), (lead, lead))
    return b.convert(b.reshape(mixed, [*heads, length, shape(v)[-1]]), own), divisors, dropped


def _grouped(b: AtenBuilder, q: Value, k: Value, v: Value) -> tuple[Value, Value, Value, tuple[int, ...]]:
    """q: [batch, shared, l, e], k: [batch, s, e], v: [batch, s, f], and the batch, to which dimensions in front are broadcast."""
    heads, groups = (shape(x)[-3] if len(shape(x)) > 2 else 1 for x in (q, k))
    if heads != groups and groups != 1 and heads != 1:
        shared = heads // groups
        q = b.reshape(q, [*shape(q)[:-3], groups, shared, *shape(q)[-2:]])
        batch = np.broadcast_shapes(shape(q)[:-3], shape(k)[:-2], shape(v)[:-2])
        q = b.expanded(q, [*batch, *shape(q)[-3:]])
    else:
        batch = np.broadcast_shapes(*(shape(x)[:-2] for x in (q, k, v)))
        q = b.expanded(q, [*batch, *shape(q)[-2:]])
        q = b.reshape(q, [*batch, 1, *shape(q)[-2:]])
    return q, b.expanded(k, [*batch, *shape(k)[-2:]]), b.expanded(v, [*batch, *shape(v)[-2:]]), batch


def _masked(b: AtenBuilder, scores: Value, settings: _Settings) -> Value:
    """Scores of hidden places are minus infinity."""
    extents, rank = shape(scores), len(shape(scores))
    hidden = b.full_like(scores, float("-inf"))
    if settings.is_causal:
        places = tensor(extents, i64)
        scores = b.select(b.compare("GE", b.iota(rank - 2, places), b.iota(rank - 1, places)), scores, hidden)
    if settings.mask is None:
        return scores
    if is_boolean(element(settings.mask)):
        return b.select(b.expanded(settings.mask, extents), scores, hidden)
    return b.add(scores, b.expanded(b.convert(settings.mask, element(scores)), extents))


def _dropped(b: AtenBuilder, weights: Value, settings: _Settings) -> Value:
    if settings.dropout_mask is None and not settings.dropout:
        return weights
    if settings.dropout >= 1:
        return b.full_like(weights, 0)
    kept = settings.dropout_mask
    kept = kept_by_dropout(b, shape(weights), settings.dropout) if kept is None else b.expanded(b.convert(kept, i1), shape(weights))
    return b.select(kept, b.multiply(weights, b.full_like(weights, 1 / (1 - settings.dropout))), b.full_like(weights, 0))


@means(
    "scaled_dot_product_attention.default(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False)",
    results=attended,
)
def attention(
    b: AtenBuilder,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    dropout: float,
    is_causal: bool,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(scale q k^T + mask) v."""
    return _attention(b, q, k, v, _Settings(mask, dropout, is_causal, scale))[0]


@means(
    "_scaled_dot_product_attention_math.default(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, "
    "*, scale=None, enable_gqa=False)",
    "_scaled_dot_product_attention_math_for_mps.default(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, "
    "*, scale=None, enable_gqa=False)",
    results=attended_with_weights,
)
def attention_math(
    b: AtenBuilder,
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    dropout: float,
    is_causal: bool,
    dropout_mask: Value | None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Value, Value]:
    """The same, and the weights."""
    mixed, _, weights = _attention(b, q, k, v, _Settings(mask, dropout, is_causal, scale, dropout_mask))
    return mixed, b.convert(weights, element(q))


def _with_divisors(b: AtenBuilder, q: Value, k: Value, v: Value, settings: _Settings) -> tuple[Value | None, ...]:
    """The result and the logarithms of divisors; what says how dropout drew its numbers has no meaning here."""
    mixed, divisors, _ = _attention(b, q, k, v, settings)
    if 1 not in b.used:
        return mixed, *[None] * (len(b.types) - 1)
    type = b.types[1]
    if type is None or shape(divisors) != type.get_shape():
        return mixed, *[None] * (len(b.types) - 1)
    return mixed, b.convert(divisors, type.element_type), *[None] * (len(b.types) - 2)


@means(
    "_scaled_dot_product_flash_attention_for_cpu.default(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None)", results=attended
)
def attention_for_cpu(
    b: AtenBuilder, q: Value, k: Value, v: Value, dropout: float, is_causal: bool, *, attn_mask: Value | None = None, scale: float | None = None
) -> tuple[Value | None, ...]:
    """As a CPU has it."""
    return _with_divisors(b, q, k, v, _Settings(attn_mask, dropout, is_causal, scale))


@means(
    "_scaled_dot_product_flash_attention.default(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None)", results=attended
)
def flash_attention(
    b: AtenBuilder, q: Value, k: Value, v: Value, dropout: float, is_causal: bool, _: bool, *, scale: float | None = None
) -> tuple[Value | None, ...]:
    """As FlashAttention has it (Dao et al. 2022), without a mask."""
    return _with_divisors(b, q, k, v, _Settings(None, dropout, is_causal, scale))


@means(
    "_scaled_dot_product_efficient_attention.default(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None)",
    "_scaled_dot_product_cudnn_attention.default(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, "
    "return_debug_mask=False, *, scale=None)",
    results=attended_and_divisors,
)
def efficient_attention(
    b: AtenBuilder,
    q: Value,
    k: Value,
    v: Value,
    bias: Value | None,
    _: bool,
    dropout: float,
    is_causal: bool,
    *__: Any,
    scale: float | None = None,
) -> tuple[Value | None, ...]:
    """As other libraries for GPUs have it."""
    return _with_divisors(b, q, k, v, _Settings(bias, dropout, is_causal, scale))


@means(
    "_scaled_dot_product_fused_attention_overrideable.default(query, key, value, attn_bias=None, dropout_p=0.0, is_causal=False, "
    "return_debug_mask=False, *, scale=None)",
    results=attended_and_divisors,
)
def fused_attention(
    b: AtenBuilder, q: Value, k: Value, v: Value, bias: Value | None, dropout: float, is_causal: bool, _: bool, *, scale: float | None = None
) -> tuple[Value | None, ...]:
    """As other devices have it."""
    return _with_divisors(b, q, k, v, _Settings(bias, dropout, is_causal, scale))


@means("_safe_softmax.default(self, dim, dtype=None)", results=asked)
def safe_softmax(b: AtenBuilder, x: Value, dim: int) -> Value:
    """The softmax, with zeros where all elements along the dimension are minus infinity."""
    x = b.fitted(x)
    order = _last(axis(dim, len(shape(x))), len(shape(x)))
    return b.transpose(_softmax(b, b.transpose(x, order), True)[0], [order.index(d) for d in range(len(order))])


def _last(d: int, rank: int) -> Sequence[int]:
    return [*(i for i in range(rank) if i != d), d]
