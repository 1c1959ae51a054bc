"""Transposes of Fourier transforms, which follow from the symmetry of the Fourier matrix.

Without conjugation the transpose of y = F x is x_bar = F y_bar, with the same F. A transform of real numbers omits half
of its result, and its inverse reconstructs this half; their transposes pad, slice and weight accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ComplexType

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import FftType, FftTypeAttr
from wengert.ir.attributes import int_array, ints
from wengert.ir.tensor_types import dtype_of, element, real_element, shape, tensor
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.rule import Tangent, transpose


def fft(b: OpBuilder, kind: FftType, x: Value, lengths: Sequence[int], result: Sequence[int] | None = None) -> Value:
    """A Fourier transform over the trailing dimensions."""
    element_type = element(x)
    if kind is FftType.RFFT:
        element_type = ComplexType(element_type)  # pyright: ignore[reportArgumentType]
    elif kind is FftType.IRFFT:
        element_type = real_element(element_type)
    return b.one(hlo.FftOp, (x,), tensor(shape(x) if result is None else result, element_type), fft_type=FftTypeAttr(kind), fft_length=int_array(lengths))


@transpose(hlo.FftOp)
def fft_transpose(b: OpBuilder, op: hlo.FftOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    kind, lengths, y_bar = op.fft_type.data, ints(op.fft_length), y_bars[0]
    if kind in (FftType.FFT, FftType.IFFT):
        return [fft(b, kind, y_bar, lengths)]
    if kind is FftType.RFFT:
        # the omitted half has no cotangent; the input was real
        missing = lengths[-1] - shape(y_bar)[-1]
        high = [0] * (len(shape(y_bar)) - 1) + [missing]
        whole = b.pad(y_bar, b.scalar(0, element(y_bar)), [0] * len(high), high)
        return [b.real(fft(b, FftType.FFT, whole, lengths))]
    return [_irfft_transpose(b, op.operand, y_bar, lengths)]


def _irfft_transpose(b: OpBuilder, x: Value, y_bar: Value, lengths: Sequence[int]) -> Value:
    """The inverse transform uses every element twice, except those that are their own mirror image."""
    whole = fft(b, FftType.IFFT, b.complex(y_bar, b.full_like(y_bar, 0)), lengths)
    limits = [*shape(whole)[:-1], shape(x)[-1]]
    half = b.slice(whole, [0] * len(limits), limits)
    weights = np.full(limits[-1], 2.0)
    weights[0] = 1
    if lengths[-1] % 2 == 0:
        weights[lengths[-1] // 2] = 1
    constant = b.constant(weights.astype(dtype_of(element(x))))
    return b.multiply(half, b.broadcast_in_dim(constant, [len(limits) - 1], limits))


CASES = [
    Case("fft", lambda b, x: fft(b, FftType.FFT, x, [3, 4]), (Arg((2, 3, 4), complex=True),)),
    Case("ifft", lambda b, x: fft(b, FftType.IFFT, x, [5]), (Arg((2, 5), complex=True),)),
    Case("rfft, even", lambda b, x: fft(b, FftType.RFFT, x, [6], (2, 4)), (Arg((2, 6)),)),
    Case("rfft, odd, two dimensions", lambda b, x: fft(b, FftType.RFFT, x, [3, 5], (2, 3, 3)), (Arg((2, 3, 5)),)),
    Case("irfft, even", lambda b, x: fft(b, FftType.IRFFT, x, [6], (2, 6)), (Arg((2, 4), complex=True),)),
    Case("irfft, odd, two dimensions", lambda b, x: fft(b, FftType.IRFFT, x, [3, 5], (3, 5)), (Arg((3, 3), complex=True),)),
    Case("rfft and back", lambda b, x: fft(b, FftType.IRFFT, b.like(hlo.SineOp, fft(b, FftType.RFFT, x, [4], (3,))), [4], (4,)), (Arg((4,)),)),
]
