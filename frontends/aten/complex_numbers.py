"""Complex numbers: parts, polar form, and views as pairs of reals."""

from __future__ import annotations

from math import pi

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import of_parts, same, same_real
from wengert.frontends.aten.result_types.shapes import part_of_complex
from wengert.frontends.aten.result_types.views import from_pairs, pairs
from wengert.ir.tensor_types import element, is_complex, is_float, shape


def _pair(b: AtenBuilder, re: Value, im: Value) -> Value:
    wide = [*shape(re), 1]
    return b.concatenate([b.reshape(re, wide), b.reshape(im, wide)], len(shape(re)))


@means("view_as_real.default(self)", "view_as_real_copy.default(self)", results=pairs)
def view_as_real(b: AtenBuilder, z: Value) -> Value:
    """Real and imaginary parts along a new last dimension."""
    return _pair(b, b.real(z), b.imag(z))


@means("view_as_complex.default(self)", "view_as_complex_copy.default(self)", results=from_pairs)
def view_as_complex(b: AtenBuilder, x: Value) -> Value:
    """A complex number from each pair along the last dimension."""
    rank, extents = len(shape(x)), shape(x)[:-1]
    re, im = (b.reshape(b.slice(x, [0] * (rank - 1) + [i], [*extents, i + 1]), extents) for i in range(2))
    return b.complex(re, im)


@means("complex.default(real, imag)", results=of_parts)
def complex_(b: AtenBuilder, re: Value, im: Value) -> Value:
    """A complex number from its parts."""
    return b.complex(b.expanded(re, b.extents), b.expanded(im, b.extents))


@means("polar.default(abs, angle)", results=of_parts)
def polar(b: AtenBuilder, size: Value, angle: Value) -> Value:
    """A complex number from its absolute value and its angle."""
    size, angle = b.expanded(size, b.extents), b.expanded(angle, b.extents)
    return b.complex(b.multiply(size, b.cosine(angle)), b.multiply(size, b.sine(angle)))


@means("_conj.default(self)", "_conj_physical.default(self)", "conj_physical.default(self)", "conj.default(self)", results=same)
def conj(b: AtenBuilder, z: Value) -> Value:
    """The conjugate."""
    return b.conj(z) if is_complex(element(z)) else z


@means("real.default(self)", results=part_of_complex)
def real(b: AtenBuilder, z: Value) -> Value:
    """The real part."""
    return b.real(z) if is_complex(element(z)) else z


@means("imag.default(self)", results=part_of_complex)
def imag(b: AtenBuilder, z: Value) -> Value:
    """The imaginary part."""
    return b.imag(z)


@means("angle.default(self)", results=same_real)
def angle(b: AtenBuilder, z: Value) -> Value:
    """The angle; that of a negative number is pi, and its derivative 0. NaN stays."""
    if is_complex(element(z)):
        re, im = b.real(z), b.imag(z)
        # At 0 the derivative is 0, as in PyTorch.
        zero = b.and_(b.compare("EQ", re, b.full_like(re, 0)), b.compare("EQ", im, b.full_like(im, 0)))
        return b.select(zero, b.stopped(b.atan2(im, re)), b.atan2(b.select(zero, b.full_like(im, 0), im), b.select(zero, b.full_like(re, 1), re)))
    x = b.fitted(z)
    argument = b.select(b.compare("LT", x, b.full_like(x, 0)), b.full_like(x, pi), b.full_like(x, 0))
    return b.select(b.compare("NE", x, x), b.stopped(x), argument) if is_float(element(z)) else argument
