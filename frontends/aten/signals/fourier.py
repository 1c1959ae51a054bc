"""Fourier transforms: one dimension after another, each moved to the end for it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import ComplexType

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.views import frequencies, half_frequencies, transformed, transformed_to_reals
from wengert.ir.attributes import int_array
from wengert.ir.tensor_types import dtype_of, element, real_element, shape, tensor

_SCALES = {0: 0.0, 1: -0.5, 2: -1.0}
"""The power of the number of elements that a transform is multiplied by, for PyTorch's three normalisations."""


def _one(b: AtenBuilder, kind: sa.FftType, x: Value, dim: int, n: int) -> Value:
    """One transform along one dimension; the inverse ones divide by n, as StableHLO has it."""
    rank = len(shape(x))
    order = [*(d for d in range(rank) if d != dim), dim]
    turned = b.transpose(x, order)
    element_type, last = element(x), n
    if kind is sa.FftType.RFFT:
        element_type, last = ComplexType(element_type), n // 2 + 1  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    elif kind is sa.FftType.IRFFT:
        element_type = real_element(element_type)
    result = tensor((*shape(turned)[:-1], last), element_type)  # pyright: ignore[reportUnknownArgumentType]
    transformed = b.one(hlo.FftOp, (turned,), result, fft_type=sa.FftTypeAttr(kind), fft_length=int_array((n,)))
    return b.transpose(transformed, [order.index(d) for d in range(rank)])


def _scaled(b: AtenBuilder, x: Value, factor: float) -> Value:
    return x if factor == 1.0 else b.multiply(x, b.full_like(x, factor))


def _c2c(b: AtenBuilder, x: Value, dims: Sequence[int], forward: bool) -> Value:
    """Transforms along several dimensions without a factor."""
    for dim in dims:
        n = shape(x)[dim]
        x = _one(b, sa.FftType.FFT if forward else sa.FftType.IFFT, x, dim, n)
        x = x if forward else _scaled(b, x, float(n))
    return x


def _dims(dims: Sequence[int], x: Value) -> list[int]:
    return [axis(d, len(shape(x))) for d in dims]


@means("_fft_c2c.default(self, dim, normalization, forward)", results=transformed)
def c2c(b: AtenBuilder, x: Value, dims: Sequence[int], normalization: int, forward: bool) -> Value:
    """Of complex numbers."""
    dims = _dims(dims, x)
    return _scaled(b, _c2c(b, x, dims, forward), float(prod(shape(x)[d] for d in dims)) ** _SCALES[normalization])


@means("_fft_r2c.default(self, dim, normalization, onesided)", results=transformed)
def r2c(b: AtenBuilder, x: Value, dims: Sequence[int], normalization: int, onesided: bool) -> Value:
    """Of real numbers; of the last of the dimensions one half says all."""
    dims = _dims(dims, x)
    factor = float(prod(shape(x)[d] for d in dims)) ** _SCALES[normalization]
    if not onesided:
        return _scaled(b, _c2c(b, b.convert(x, b.element_type), dims, True), factor)
    half = _one(b, sa.FftType.RFFT, x, dims[-1], shape(x)[dims[-1]])
    return _scaled(b, _c2c(b, half, dims[:-1], True), factor)


@means("_fft_c2r.default(self, dim, normalization, last_dim_size)", results=transformed_to_reals)
def c2r(b: AtenBuilder, x: Value, dims: Sequence[int], normalization: int, n: int) -> Value:
    """Back to n real numbers along the last of the dimensions, of which half a transform is given."""
    dims = _dims(dims, x)
    count = float(prod(shape(x)[d] for d in dims[:-1]) * n)
    x = _c2c(b, x, dims[:-1], False)
    last, needed = dims[-1], n // 2 + 1
    if shape(x)[last] > needed:
        x = b.slice(x, [0] * len(shape(x)), [needed if d == last else m for d, m in enumerate(shape(x))])
    inverse = _one(b, sa.FftType.IRFFT, x, last, n)
    return _scaled(b, inverse, float(n) * count ** _SCALES[normalization])


def _frequencies(b: AtenBuilder, frequencies: np.ndarray) -> Value:
    return b.constant(frequencies.astype(dtype_of(b.element_type)))


@means("fft_fftfreq.default(n, d=1.0, *, dtype=None)", results=frequencies)
def fftfreq(b: AtenBuilder, n: int, d: Number = 1.0, **_: object) -> Value:
    """The frequencies of a transform."""
    return _frequencies(b, np.fft.fftfreq(n, d))


@means("fft_rfftfreq.default(n, d=1.0, *, dtype=None)", results=half_frequencies)
def rfftfreq(b: AtenBuilder, n: int, d: Number = 1.0, **_: object) -> Value:
    """The frequencies of half a transform."""
    return _frequencies(b, np.fft.rfftfreq(n, d))
