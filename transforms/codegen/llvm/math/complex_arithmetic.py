"""Moduli, quotients, squares and roots of complex numbers.

Quotients are Smith's (1962, Algorithm 116), of operands that are scaled first where they are near the ends of the range (M. Baudin and
R. L. Smith, "A Robust Complex Division in Scilab", 2012), with the infinities of C99 annex G. Errors are a few units of the last place of the
modulus; the parts of roots and squares are right by themselves.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.llvm.math.inverse_trigonometric import atan2
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN
from wengert.transforms.codegen.llvm.math.power import cbrt as real_cbrt
from wengert.transforms.codegen.llvm.math.trigonometric import cosine_of, reduce, sine_of
from wengert.transforms.codegen.llvm.math.vector import Code, Float, Mask


class Complex(Struct, frozen=True):
    """One complex number per lane."""

    re: Float
    im: Float

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def scaled(self, factor: Float | float) -> Complex:
        return Complex(self.re * factor, self.im * factor)


MODERATE = {"f32": 60, "f64": 500}
"""Numbers from 2^-n to 2^n have quotients and squares in which nothing that counts overflows or underflows."""
STEP = {"f32": 88.0, "f64": 600.0}
"""The power of two that brings every other number into that range."""


def choose(code: Code, mask: Mask, then: Complex, otherwise: Complex) -> Complex:
    """`then` where the mask is true."""
    return Complex(code.select(mask, then.re, otherwise.re), code.select(mask, then.im, otherwise.im))


def is_unbounded(code: Code, z: Complex) -> Mask:
    """Whether either part is infinite."""
    return code.abs(z.re).equals(INFINITY) | code.abs(z.im).equals(INFINITY)


def modulus(code: Code, z: Complex) -> Float:
    """sqrt(x^2 + y^2) as the larger part times sqrt(1 + ratio^2); infinite if either part is."""
    a, b = code.abs(z.re), code.abs(z.im)
    large, small = code.larger(a, b), code.smaller(a, b)
    ratio = small / large
    size = large * code.sqrt(code.multiply_add(ratio, ratio, 1.0))
    size = code.select(a.is_nan() | b.is_nan(), a + b, code.select(large.equals(0.0), 0.0, size))
    return code.select(a.equals(INFINITY) | b.equals(INFINITY), INFINITY, size)


def sign(code: Code, z: Complex) -> Complex:
    """z / |z|; 0 at 0."""
    large = code.larger(code.abs(z.re), code.abs(z.im))
    bound, step = 2.0 ** MODERATE[code.element], 2.0 ** STEP[code.element]
    unit = code.constant(1.0)
    factor = code.select(large > bound, 1.0 / step, code.select(large < 1.0 / bound, step, unit))
    near = z.scaled(factor)
    size = modulus(code, near)
    nothing = size.equals(0.0)
    return Complex(code.select(nothing, 0.0, near.re / size), code.select(nothing, 0.0, near.im / size))


def square(code: Code, z: Complex) -> Complex:
    """(x - y)(x + y) + 2 x y i; 0 as real part where |x| = |y|, which the sum might overflow."""
    a, b = code.abs(z.re), code.abs(z.im)
    product = z.re * z.im
    flat = a.equals(b) & (a < INFINITY)
    return Complex(code.select(flat, 0.0, (z.re - z.im) * (z.re + z.im)), product + product)


def divide(code: Code, x: Complex, y: Complex) -> Complex:
    """x / y."""
    bound = 2.0 ** MODERATE[code.element]
    above, below = (code.larger(code.abs(z.re), code.abs(z.im)) for z in (x, y))
    moderate = (below >= 1.0 / bound) & (below <= bound) & (above <= bound) & ((above >= 1.0 / bound) | above.equals(0.0))
    usual = smith(code, x, y)
    return Complex(*code.rarely(~moderate, (usual.re, usual.im), lambda: _parts(quotient_at_the_ends(code, x, y))))


def _parts(z: Complex) -> tuple[Float, Float]:
    return z.re, z.im


def smith(code: Code, x: Complex, y: Complex) -> Complex:
    """The quotient by the ratio of the smaller part of y to the larger one."""
    steep = code.abs(y.im) > code.abs(y.re)
    large, small = code.select(steep, y.im, y.re), code.select(steep, y.re, y.im)
    p, q = code.select(steep, x.im, x.re), code.select(steep, x.re, x.im)
    ratio = small / large
    below = large + small * ratio
    im = (q - p * ratio) / below
    return Complex((p + q * ratio) / below, code.select(steep, -im, im))


def _moderated(code: Code, z: Complex) -> tuple[Complex, Float]:
    """z times a power of two, and the exponent's half as a power of two."""
    bound, step = 2.0 ** MODERATE[code.element], STEP[code.element]
    large = code.larger(code.abs(z.re), code.abs(z.im))
    root = code.select(large > bound, 2.0 ** (-step / 2), code.select(large < 1.0 / bound, 2.0 ** (step / 2), code.constant(1.0)))
    return z.scaled(root).scaled(root), root


def quotient_at_the_ends(code: Code, x: Complex, y: Complex) -> Complex:
    """The quotient of any numbers; what is not finite as in C99, annex G.5.1."""
    near_x, root_x = _moderated(code, x)
    near_y, root_y = _moderated(code, y)
    back = root_y / root_x
    q = smith(code, near_x, near_y).scaled(back).scaled(back)
    a, b, c, d = x.re, x.im, y.re, y.im
    undefined = q.re.is_nan() & q.im.is_nan()
    # by zero
    nothing = (c.equals(0.0) & d.equals(0.0)) & ~(a.is_nan() & b.is_nan())
    infinite = code.copysign(code.constant(INFINITY), c)
    q = choose(code, nothing, Complex(infinite * a, infinite * b), q)
    # an infinity by a finite number, and the other way round
    for above, factor in ((True, INFINITY), (False, 0.0)):
        unbounded, other = (x, y) if above else (y, x)
        case = undefined & ~nothing & is_unbounded(code, unbounded) & is_finite(code, other)
        boxed = Complex(*(code.copysign(code.select(code.abs(part).equals(INFINITY), 1.0, code.constant(0.0)), part) for part in (unbounded.re, unbounded.im)))
        p, r = (boxed, y) if above else (x, boxed)
        limit = Complex((p.re * r.re + p.im * r.im) * factor, (p.im * r.re - p.re * r.im) * factor)
        q = choose(code, case, limit, q)
    return q


def is_finite(code: Code, z: Complex) -> Mask:
    """Whether both parts are."""
    return (code.abs(z.re) < INFINITY) & (code.abs(z.im) < INFINITY)


def reciprocal(code: Code, z: Complex) -> Complex:
    """1 / z, for numbers that are roots: far from the ends of the range, or zero, infinite or NaN."""
    one, zero = code.constant(1.0), code.constant(0.0)
    q = smith(code, Complex(one, zero), z)
    nothing = z.re.equals(0.0) & z.im.equals(0.0)
    q = choose(code, nothing, Complex(code.copysign(code.constant(INFINITY), z.re), code.constant(NAN)), q)
    return choose(code, is_unbounded(code, z), Complex(zero, zero), q)


def sqrt(code: Code, z: Complex) -> Complex:
    """With t = sqrt((|x| + |z|) / 2), the parts of the root are t and y / 2t for x >= 0, else |y| / 2t and t with y's sign.

    Numbers near the ends of the range are scaled by a power of 4 before, and their roots by its root after.
    """
    format = code.format
    large = code.larger(code.abs(z.re), code.abs(z.im))
    great, small = large >= format.largest / 4, large < format.smallest_normal * 2.0 ** (format.mantissa + 1)
    one, up = code.constant(1.0), 2.0 ** (format.mantissa + 1)
    before = code.select(great, 0.0625, code.select(small, up * up, one))
    after = code.select(great, 4.0, code.select(small, 1.0 / up, one))
    near = z.scaled(before)
    t = code.sqrt((code.abs(near.re) + modulus(code, near)) * 0.5)
    other = code.select(t.equals(0.0), near.im, near.im / (t + t))
    right = near.re >= 0.0
    re = code.select(right, t, code.abs(other)) * after
    im = code.select(right, other, code.copysign(t, near.im)) * after
    unbounded = code.abs(z.im).equals(INFINITY)
    return Complex(code.select(unbounded, INFINITY, re), code.select(unbounded, z.im, im))


def rsqrt(code: Code, z: Complex) -> Complex:
    """1 / sqrt(z)."""
    return reciprocal(code, sqrt(code, z))


def cbrt(code: Code, z: Complex) -> Complex:
    """The principal cube root: that of the modulus, at a third of the angle."""
    bound, third = 2.0 ** MODERATE[code.element], 2.0 ** (STEP[code.element] // 3 + 1)
    large, one = code.larger(code.abs(z.re), code.abs(z.im)), code.constant(1.0)
    before, after = (
        code.select(large > bound, at_top, code.select(large < 1.0 / bound, at_bottom, one))
        for at_top, at_bottom in ((third**-3, third**3), (third, 1.0 / third))
    )
    size = real_cbrt(code, modulus(code, z.scaled(before))) * after
    turn = atan2(code, z.im, z.re) / 3.0
    angle = reduce(code, turn)
    im = code.select(turn.equals(0.0), turn, size * sine_of(code, angle))
    return choose(code, z.re.equals(0.0) & z.im.equals(0.0), z, Complex(size * cosine_of(code, angle), im))
