"""Attention and the layers of transformers as modules (A. Vaswani et al., "Attention is all you need", 2017). Names and arguments are those of ``torch.nn``."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

from wengert.eager import zeros
from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor
from wengert.nn import activations, init
from wengert.nn.attention import multi_head_attention_forward
from wengert.nn.containers import ModuleList
from wengert.nn.module import Module, Parameter
from wengert.nn.modules import Dropout, Linear
from wengert.nn.normalization_modules import LayerNorm


def _xavier(*shape: int, dtype: Any) -> Tensor:
    made = Parameter(zeros(*shape, dtype=dtype))
    init.xavier_uniform_(made)
    return made


class MultiheadAttention(Module):
    """``num_heads`` heads with projections. ``query: [l, n, e]``, ``key: [s, n, kdim]``, ``value: [s, n, vdim]``, or n first if ``batch_first``."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = None,
    ):
        if embed_dim % num_heads:
            raise ShapeError(f"MultiheadAttention: {embed_dim} features do not divide among {num_heads} heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        widths = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.is_joint = widths == (embed_dim, embed_dim)
        if self.is_joint:
            self.in_proj_weight = _xavier(3 * embed_dim, embed_dim, dtype=dtype)
        else:
            self.q_proj_weight = _xavier(embed_dim, embed_dim, dtype=dtype)
            self.k_proj_weight, self.v_proj_weight = (_xavier(embed_dim, width, dtype=dtype) for width in widths)
        self.in_proj_bias = Parameter(zeros(3 * embed_dim, dtype=dtype)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)
        self.bias_k, self.bias_v = (_small(embed_dim, dtype) if add_bias_kv else None for _ in range(2))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        joint = self.in_proj_weight if self.is_joint else None
        separate = {} if self.is_joint else {f"{x}_proj_weight": getattr(self, f"{x}_proj_weight") for x in "qkv"}
        made, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, joint, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self.is_joint, average_attn_weights=average_attn_weights, is_causal=is_causal, **separate,
        )  # fmt: skip
        return made.transpose(0, 1) if turned else made, weights

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"


def _small(width: int, dtype: Any) -> Tensor:
    """The bias of keys or values, by Glorot's variance of a matrix [1, width] seen as [1, 1, width]."""
    made = Parameter(zeros(1, 1, width, dtype=dtype))
    init.xavier_normal_(made)
    return made


def _activation(given: Any) -> Callable[[Tensor], Tensor]:
    if callable(given):
        return cast("Callable[[Tensor], Tensor]", given)
    if given not in ("relu", "gelu"):
        raise ShapeError(f"activation is 'relu', 'gelu' or a function, found {given!r}")
    return getattr(activations, given)


class _Layer(Module):
    """The base class of layers of encoders and decoders: attention to itself, and two linear layers."""

    norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: Any = None,
    ):
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias, dtype=dtype), Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.dropout, self.norm_first, self.activation = Dropout(dropout), norm_first, _activation(activation)
        for number in range(1, self.norms + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
            setattr(self, f"dropout{number}", Dropout(dropout))

    def _added(self, x: Tensor, number: int, change: Callable[[Tensor], Tensor]) -> Tensor:
        """x and its change, normalised before or after."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + drop(change(norm(x))) if self.norm_first else norm(x + drop(change(x)))

    def _fed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention to itself, then two linear layers, each added to what goes in and normalised. ``src: [s, n, d_model]``."""

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        return self._added(self._added(src, 1, attended), 2, self._fed_forward)


class TransformerDecoderLayer(_Layer):
    """The same with attention to what an encoder made in between. ``tgt: [t, n, d_model]``, ``memory: [s, n, d_model]``."""

    norms = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def informed(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0]

        return self._added(self._added(self._added(tgt, 1, attended), 2, informed), 3, self._fed_forward)


class TransformerEncoder(Module):
    """Copies of a layer, one after another, and a normalisation at the end."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None):
        self.layers, self.norm = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)]), norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """The same of layers that look at what an encoder made."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        self.layers, self.norm = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)]), norm

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **keywords: Any) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **keywords)
        return tgt if self.norm is None else self.norm(tgt)
