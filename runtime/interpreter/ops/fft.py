"""Discrete Fourier transforms by pocketfft, in the operand's precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from wengert.dialects import stablehlo
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.interpreter.rules import Array, Function, evaluates

_fft: Any = scipy.fft
_TRANSFORMS = {"FFT": _fft.fftn, "IFFT": _fft.ifftn, "RFFT": _fft.rfftn, "IRFFT": _fft.irfftn}


@evaluates(stablehlo.FftOp)
def fft(op: stablehlo.FftOp) -> Function:
    """Transforms over the trailing dimensions; lengths are those of the real side; inverses are divided by the size."""
    transform, lengths = _TRANSFORMS[op.fft_type.data], ints(op.fft_length)
    axes = tuple(range(-len(lengths), 0))
    result, dtype = shape(op.result), dtype_of(element(op.result))

    def run(x: Any) -> Array:
        if 0 in result or 0 in x.shape:
            return np.zeros(result, dtype)
        return transform(x, s=lengths, axes=axes).astype(dtype, copy=False)

    return run
