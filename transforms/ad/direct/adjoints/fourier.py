"""Adjoints of Fourier transforms. The matrix F of a transform is symmetric, so without conjugation x_bar = F y_bar; where half
of the values is omitted because it mirrors the other half, the adjoint is the inverse transform, weighted."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import FftType, FftTypeAttr
from wengert.ir.attributes import int_array, ints
from wengert.ir.tensor_types import dtype_of, element, rank, real_element, type_of
from wengert.transforms.ad.direct.adjoint import Bars, adjoint


def _transform(b: OpBuilder, kind: FftType, x: Value, lengths: Sequence[int], result: Attribute) -> Value:
    return b.one(hlo.FftOp, (x,), result, fft_type=FftTypeAttr(kind), fft_length=int_array(lengths))


@adjoint(hlo.FftOp)
def fft(b: OpBuilder, op: hlo.FftOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    kind, lengths, x, y_bar = op.fft_type.data, ints(op.fft_length), op.operand, y_bars[0]
    if kind in (FftType.FFT, FftType.IFFT):
        return [_transform(b, kind, y_bar, lengths, x.type)]
    n = lengths[-1]
    # how often the inverse transform uses each element of the half: twice, but once for those that are their own mirror image
    counts = np.array([1.0 if k in (0, n - k) else 2.0 for k in range(n // 2 + 1)])
    if kind is FftType.RFFT:
        # x_bar_j = Re sum_k y_bar_k w^(jk) = N irfft(conj(y_bar) / counts)_j
        weighted = _weighted(b, b.conj(y_bar), prod(lengths) / counts)
        return [_transform(b, FftType.IRFFT, weighted, lengths, x.type)]
    # y_j = 1/N sum_k counts_k Re(x_k w^(-jk)): x_bar_k = counts_k / N conj(rfft(y_bar)_k)
    return [_weighted(b, b.conj(_transform(b, FftType.RFFT, y_bar, lengths, x.type)), counts / prod(lengths))]


def _weighted(b: OpBuilder, x: Value, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Value:
    """x scaled along its last dimension."""
    constant = b.constant(weights.astype(dtype_of(real_element(element(x)))).astype(dtype_of(element(x))))
    return b.multiply(x, b.broadcast_in_dim(constant, [rank(x) - 1], type_of(x).get_shape()))
