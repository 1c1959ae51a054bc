"""The pass ``fourier-to-stages``: all kinds of ``stablehlo.fft`` as stages of butterflies on whole tensors.

A CPU transforms line by line, in code of its own. Where all kernels are made from nests, a transform is a few nests, each of which goes over all lines at
once (:mod:`.stages`). Real transforms of an even length are complex ones of half that length, of pairs of neighbours (Van Loan, section 4.3).

Before and after::

    %y = stablehlo.fft %x, type = FFT, length = [64]     stablehlo.real, stablehlo.imag of %x
                                                          two stages of radix 8: stablehlo.slice, add, multiply, ..., concatenate
                                                          %y = stablehlo.complex
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import FftType
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import shape, type_of
from wengert.transforms.fuse.fourier.roots import roots
from wengert.transforms.fuse.fourier.stages import along, inverse, transform
from wengert.transforms.fuse.fourier.tensors import Pair, Tensors, swapped
from wengert.transforms.fuse.rewriting import has_matches, replace_ops
from wengert.transforms.optimize.dce import dce


@dataclass(frozen=True)
class FourierToStagesPass(ModulePass):
    """Writes Fourier transforms as stages on whole tensors."""

    name = "fourier-to-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.changes(op):
            replace_ops(op, self.name, (hlo.FftOp,), lambda fft: True, lambda b, fft, _: _transformed(b, fft))
            dce(op)  # the parts that were joined as complex numbers only

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (hlo.FftOp,), lambda fft: True)


def _transformed(b: OpBuilder, op: hlo.FftOp) -> Value:
    if 0 in shape(op.result) or 0 in shape(op.operand):
        return b.zeros(type_of(op.result))
    kind, lengths = op.fft_type.data, ints(op.fft_length)
    axes = range(len(shape(op.operand)) - len(lengths), len(shape(op.operand)))
    if kind is FftType.RFFT:
        return _complex(b, _over(b, real_transform(b, op.operand), axes[:-1]))
    x = b.real(op.operand), b.imag(op.operand)
    if kind is FftType.FFT:
        return _complex(b, _over(b, x, axes))
    numbers = Tensors.like(b, x)
    x = numbers.scale(x, numbers.constant(1 / prod(lengths)))
    if kind is FftType.IFFT:
        return _complex(b, swapped(_over(b, swapped(x), axes)))
    return real_inverse(b, swapped(_over(b, swapped(x), axes[:-1])), lengths[-1])


def _complex(b: OpBuilder, x: Pair) -> Value:
    """Complex numbers from their parts; where these are joined from the results of a stage, the results of the stage are made complex, and then joined."""
    extents, joined = shape(x[0]), [part.owner for part in map(_behind_reshapes, x)]
    re, im = joined
    if not (isinstance(re, hlo.ConcatenateOp) and isinstance(im, hlo.ConcatenateOp)):
        return b.complex(*x)
    if [part.type for part in re.inputs] != [part.type for part in im.inputs] or int_of(re.dimension) != int_of(im.dimension):
        return b.complex(*x)
    parts = [b.complex(*pair) for pair in zip(re.inputs, im.inputs, strict=True)]
    return b.reshape(b.concatenate(parts, int_of(re.dimension)), extents)


def _behind_reshapes(value: Value) -> Value:
    while isinstance(value.owner, hlo.ReshapeOp):
        value = value.owner.operand
    return value


def _over(b: OpBuilder, x: Pair, axes: range) -> Pair:
    """Transforms along dimensions, one after the other."""
    for axis in reversed(axes):
        extents = shape(x[0])
        x = _through(b, x, [prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])], lambda lines: transform(b, lines))
    return x


def _through(b: OpBuilder, x: Pair, lines: list[int], apply: Callable[[Pair], Pair]) -> Pair:
    """Applies a function of lines ``[outer, n, inner]`` to tensors of some shape."""
    extents = shape(x[0])
    re, im = apply((b.reshape(x[0], lines), b.reshape(x[1], lines)))
    return b.reshape(re, extents), b.reshape(im, extents)


def real_transform(b: OpBuilder, x: Value) -> Pair:
    """The lower half of the transforms of real lines along the last dimension: ``[..., n]`` to ``[..., n // 2 + 1]``."""
    *batch, n = shape(x)
    lines, half = b.reshape(x, [prod(batch), n, 1]), n // 2
    if n % 2:
        re, im = transform(b, (lines, b.full_like(lines, 0.0)))
        spectrum = b.slice(re, [0, 0, 0], [prod(batch), half + 1, 1]), b.slice(im, [0, 0, 0], [prod(batch), half + 1, 1])
    else:
        spectrum = _untangled(b, lines)
    return b.reshape(spectrum[0], [*batch, half + 1]), b.reshape(spectrum[1], [*batch, half + 1])


def _untangled(b: OpBuilder, x: Value) -> Pair:
    """Of z_j = x_2j + i x_(2j + 1), h = n / 2 numbers: X_k = (Z_k + conj Z_(h - k)) / 2 + exp(-2 pi i k / n) (Z_k - conj Z_(h - k)) / 2i."""
    outer, n, _ = shape(x)
    half = n // 2
    z = transform(b, (b.slice(x, [0, 0, 0], [outer, n, 1], [1, 2, 1]), b.slice(x, [0, 1, 0], [outer, n, 1], [1, 2, 1])))
    re, im = [b.concatenate([part, b.slice(part, [0, 0, 0], [outer, 1, 1])], 1) for part in z]
    numbers = Tensors.like(b, (re, im))
    mirrored = b.reverse(re, [1]), b.negate(b.reverse(im, [1]))
    mean = numbers.scale(numbers.add((re, im), mirrored), numbers.constant(0.5))
    turns = along(b, roots(np.arange(half + 1), n) / 2j, re, 1)
    return numbers.add(mean, numbers.multiply(numbers.subtract((re, im), mirrored), turns))


def real_inverse(b: OpBuilder, x: Pair, n: int) -> Value:
    """The real lines of length n whose transforms have this lower half along the last dimension: n times their elements. Of what is real in
    a transform of real numbers, the imaginary part does not count."""
    *batch, extent = shape(x[0])
    re, im = [b.reshape(part, [prod(batch), extent, 1]) for part in x]
    mask = b.broadcast_in_dim(b.constant(np.isin(np.arange(extent), [0, n / 2])), [1], shape(re))
    spectrum = re, b.select(mask, b.full_like(im, 0.0), im)
    lines = _hermitian(b, spectrum) if n % 2 else _tangled(b, spectrum, n)
    return b.reshape(lines, [*batch, n])


def _hermitian(b: OpBuilder, x: Pair) -> Value:
    """From the upper half as well, the conjugate of the lower one in reverse."""
    outer, extent, _ = shape(x[0])
    re, im = [b.reverse(b.slice(part, [0, 1, 0], [outer, extent, 1]), [1]) for part in x]
    return inverse(b, (b.concatenate([x[0], re], 1), b.concatenate([x[1], b.negate(im)], 1)))[0]


def _tangled(b: OpBuilder, x: Pair, n: int) -> Value:
    """The inverse of :func:`_untangled`: 2 Z_k = X_k + conj X_(h - k) + i exp(2 pi i k / n) (X_k - conj X_(h - k))."""
    outer, half = shape(x[0])[0], n // 2
    low = b.slice(x[0], [0, 0, 0], [outer, half, 1]), b.slice(x[1], [0, 0, 0], [outer, half, 1])
    high = [b.reverse(b.slice(part, [0, 1, 0], [outer, half + 1, 1]), [1]) for part in x]
    numbers, mirrored = Tensors.like(b, low), (high[0], b.negate(high[1]))
    turns = along(b, 1j * roots(np.arange(half), n).conj(), x[0], 1)
    odd = numbers.multiply(numbers.subtract(low, mirrored), turns)
    z = inverse(b, numbers.add(numbers.add(low, mirrored), odd))
    return b.reshape(b.concatenate([b.reshape(part, [outer, half, 1, 1]) for part in z], 2), [outer, n, 1])
