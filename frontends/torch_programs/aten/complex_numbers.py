"""Complex numbers: parts, polar form, and views as pairs of reals."""

from __future__ import annotations

from math import pi

from wengert.dialects.builder import Value
from wengert.frontends.torch_programs.translation import TorchBuilder, translates
from wengert.ir.tensor_types import element, is_complex, is_float, shape


def _pair(b: TorchBuilder, re: Value, im: Value) -> Value:
    wide = [*shape(re), 1]
    return b.concatenate([b.reshape(re, wide), b.reshape(im, wide)], len(shape(re)))


@translates("view_as_real.default", "view_as_real_copy.default")
def view_as_real(b: TorchBuilder, z: Value) -> Value:
    """Real and imaginary parts along a new last dimension."""
    return _pair(b, b.real(z), b.imag(z))


@translates("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(b: TorchBuilder, x: Value) -> Value:
    """A complex number from each pair along the last dimension."""
    rank, extents = len(shape(x)), shape(x)[:-1]
    re, im = (b.reshape(b.slice(x, [0] * (rank - 1) + [i], [*extents, i + 1]), extents) for i in range(2))
    return b.complex(re, im)


@translates("complex.default")
def complex_(b: TorchBuilder, re: Value, im: Value) -> Value:
    """A complex number from its parts."""
    return b.complex(b.expanded(re, b.extents), b.expanded(im, b.extents))


@translates("polar.default")
def polar(b: TorchBuilder, size: Value, angle: Value) -> Value:
    """A complex number from its absolute value and its angle."""
    size, angle = b.expanded(size, b.extents), b.expanded(angle, b.extents)
    return b.complex(b.multiply(size, b.cosine(angle)), b.multiply(size, b.sine(angle)))


@translates("_conj.default", "_conj_physical.default", "conj_physical.default", "conj.default")
def conj(b: TorchBuilder, z: Value) -> Value:
    """The conjugate."""
    return b.conj(z) if is_complex(element(z)) else z


@translates("real.default")
def real(b: TorchBuilder, z: Value) -> Value:
    """The real part."""
    return b.real(z) if is_complex(element(z)) else z


@translates("imag.default")
def imag(b: TorchBuilder, z: Value) -> Value:
    """The imaginary part."""
    return b.imag(z)


@translates("angle.default")
def angle(b: TorchBuilder, z: Value) -> Value:
    """The angle; that of a negative number is pi, and its derivative 0. NaN stays."""
    if is_complex(element(z)):
        re, im = b.real(z), b.imag(z)
        # At 0 the derivative is 0, as in PyTorch.
        zero = b.and_(b.compare("EQ", re, b.full_like(re, 0)), b.compare("EQ", im, b.full_like(im, 0)))
        return b.select(zero, b.stopped(b.atan2(im, re)), b.atan2(b.select(zero, b.full_like(im, 0), im), b.select(zero, b.full_like(re, 1), re)))
    x = b.fitted(z)
    argument = b.select(b.compare("LT", x, b.full_like(x, 0)), b.full_like(x, pi), b.full_like(x, 0))
    return b.select(b.compare("NE", x, x), b.stopped(x), argument) if is_float(element(z)) else argument
