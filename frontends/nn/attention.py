"""Attention of several heads with its projections (A. Vaswani et al., "Attention is all you need", 2017), as ``torch.nn.functional`` has it."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy as np

from wengert.eager.errors import ShapeError
from wengert.eager.operations.creation import zeros
from wengert.eager.operations.joining import cat
from wengert.nn.activations import dropout, softmax
from wengert.nn.layers import linear
from wengert.nn.padding import pad


def _as_added(mask: Any, dtype: Any) -> Any:
    """A mask of what is hidden as numbers to add: minus infinity there."""
    if mask is None or mask.array.dtype != np.bool_:
        return mask
    return zeros(*mask.array.shape, dtype=dtype).masked_fill(mask, -float("inf"))


def _projected(query: Any, key: Any, value: Any, weight: Any, bias: Any, separate: Any) -> tuple[Any, Any, Any]:
    width = query.array.shape[-1]
    weights = [weight.narrow(0, i * width, width) for i in range(3)] if separate is None else separate
    biases = [None if bias is None else bias.narrow(0, i * width, width) for i in range(3)]
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    return q, k, v


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """query: [l, n, e], key: [s, n, e], value: [s, n, e] -> [l, n, e], and the weights [n, l, s] where they are needed; without n for one sequence.

    Masks are True at what is hidden, or numbers that are added: ``attn_mask: [l, s]`` or ``[n heads, l, s]``, ``key_padding_mask: [n, s]``.

    Raises:
        ShapeError: extents do not fit each other; ``is_causal`` without the mask that it speaks of.
    """
    if is_batched := query.array.ndim == 3:
        queries, keys, values = query, key, value
    else:
        queries, keys, values = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, n, width = queries.array.shape
    if width != embed_dim_to_check or width % num_heads:
        raise ShapeError(f"multi_head_attention_forward: {width} features are not the {embed_dim_to_check} expected, or do not divide among {num_heads} heads")
    if is_causal and attn_mask is None:
        raise ShapeError("multi_head_attention_forward: is_causal is a hint about attn_mask, which is needed with it")
    size = width // num_heads
    separate = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else None
    q, k, v = _projected(queries, keys, values, in_proj_weight, in_proj_bias, separate)
    mask, padding = _as_added(attn_mask, q.array.dtype), _as_added(key_padding_mask, q.array.dtype)
    added = 0
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, b.expand(1, n, width)]) for x, b in ((k, bias_k), (v, bias_v)))
        added += 1

    def by_head(x: Any) -> Any:
        return x.reshape(x.array.shape[0], n * num_heads, size).transpose(0, 1)

    q, k, v = by_head(q), by_head(k) if static_k is None else static_k, by_head(v) if static_v is None else static_v
    if add_zero_attn:
        k, v = (cat([x, zeros(n * num_heads, 1, size, dtype=x.array.dtype)], 1) for x in (k, v))
        added += 1
    if added:
        mask, padding = (None if x is None else pad(x, (0, added)) for x in (mask, padding))
    source = k.array.shape[1]
    if mask is not None and mask.array.ndim == 2:
        mask = mask.unsqueeze(0)
    if padding is not None:
        wide = padding.reshape(n, 1, 1, source).expand(n, num_heads, 1, source).reshape(n * num_heads, 1, source)
        mask = wide if mask is None else mask + wide
    scores = (q * size**-0.5).matmul(k.transpose(-2, -1))
    weights = softmax(scores if mask is None else scores + mask, -1)
    weights = dropout(weights, dropout_p) if training and dropout_p else weights
    mixed = weights.matmul(v).transpose(0, 1).reshape(length, n, width)
    made = linear(mixed, out_proj_weight, out_proj_bias)
    made = made if is_batched else made.squeeze(1)
    if not need_weights:
        return made, None
    weights = weights.reshape(n, num_heads, length, source)
    weights = weights.mean(1) if average_attn_weights else weights
    return made, weights if is_batched else weights.squeeze(0)
