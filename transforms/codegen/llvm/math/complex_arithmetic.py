"""Moduli, quotients, squares and roots of complex numbers.

Quotients are Smith's (1962, Algorithm 116), of operands that are scaled first where they are near the ends of the range (M. Baudin and
R. L. Smith, "A Robust Complex Division in Scilab", 2012), with the infinities of C99 annex G. Errors are a few units of the last place of the
modulus; the parts of roots and squares are right by themselves.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.llvm.math.expressions import Float, Mask, MathBuilder
from wengert.transforms.codegen.llvm.math.inverse_trigonometric import atan2
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN
from wengert.transforms.codegen.llvm.math.power import cbrt as real_cbrt
from wengert.transforms.codegen.llvm.math.trigonometric import cosine_of, reduce, sine_of


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


def choose(builder: MathBuilder, mask: Mask, then: Complex, otherwise: Complex) -> Complex:
    """`then` where the mask is true."""
    return Complex(builder.select(mask, then.re, otherwise.re), builder.select(mask, then.im, otherwise.im))


def is_unbounded(builder: MathBuilder, z: Complex) -> Mask:
    """Whether either part is infinite."""
    return builder.abs(z.re).equals(INFINITY) | builder.abs(z.im).equals(INFINITY)


def modulus(builder: MathBuilder, z: Complex) -> Float:
    """sqrt(x^2 + y^2) as the larger part times sqrt(1 + ratio^2); infinite if either part is."""
    a, b = builder.abs(z.re), builder.abs(z.im)
    large, small = builder.larger(a, b), builder.smaller(a, b)
    ratio = small / large
    size = large * builder.sqrt(builder.multiply_add(ratio, ratio, 1.0))
    size = builder.select(a.is_nan() | b.is_nan(), a + b, builder.select(large.equals(0.0), 0.0, size))
    return builder.select(a.equals(INFINITY) | b.equals(INFINITY), INFINITY, size)


def sign(builder: MathBuilder, z: Complex) -> Complex:
    """z / |z|; 0 at 0."""
    large = builder.larger(builder.abs(z.re), builder.abs(z.im))
    bound, step = 2.0 ** MODERATE[builder.element], 2.0 ** STEP[builder.element]
    unit = builder.constant(1.0)
    factor = builder.select(large > bound, 1.0 / step, builder.select(large < 1.0 / bound, step, unit))
    near = z.scaled(factor)
    size = modulus(builder, near)
    nothing = size.equals(0.0)
    return Complex(builder.select(nothing, 0.0, near.re / size), builder.select(nothing, 0.0, near.im / size))


def square(builder: MathBuilder, z: Complex) -> Complex:
    """(x - y)(x + y) + 2 x y i; 0 as real part where |x| = |y|, which the sum might overflow."""
    a, b = builder.abs(z.re), builder.abs(z.im)
    product = z.re * z.im
    flat = a.equals(b) & (a < INFINITY)
    return Complex(builder.select(flat, 0.0, (z.re - z.im) * (z.re + z.im)), product + product)


def divide(builder: MathBuilder, x: Complex, y: Complex) -> Complex:
    """x / y."""
    bound = 2.0 ** MODERATE[builder.element]
    above, below = (builder.larger(builder.abs(z.re), builder.abs(z.im)) for z in (x, y))
    moderate = (below >= 1.0 / bound) & (below <= bound) & (above <= bound) & ((above >= 1.0 / bound) | above.equals(0.0))
    likely = smith(builder, x, y)
    return Complex(*builder.rarely(~moderate, (likely.re, likely.im), lambda: _parts(quotient_at_the_ends(builder, x, y))))


def _parts(z: Complex) -> tuple[Float, Float]:
    return z.re, z.im


def smith(builder: MathBuilder, x: Complex, y: Complex) -> Complex:
    """The quotient by the ratio of the smaller part of y to the larger one."""
    steep = builder.abs(y.im) > builder.abs(y.re)
    large, small = builder.select(steep, y.im, y.re), builder.select(steep, y.re, y.im)
    p, q = builder.select(steep, x.im, x.re), builder.select(steep, x.re, x.im)
    ratio = small / large
    below = large + small * ratio
    im = (q - p * ratio) / below
    return Complex((p + q * ratio) / below, builder.select(steep, -im, im))


def _moderated(builder: MathBuilder, z: Complex) -> tuple[Complex, Float]:
    """z times a power of two, and the exponent's half as a power of two."""
    bound, step = 2.0 ** MODERATE[builder.element], STEP[builder.element]
    large = builder.larger(builder.abs(z.re), builder.abs(z.im))
    root = builder.select(large > bound, 2.0 ** (-step / 2), builder.select(large < 1.0 / bound, 2.0 ** (step / 2), builder.constant(1.0)))
    return z.scaled(root).scaled(root), root


def quotient_at_the_ends(builder: MathBuilder, x: Complex, y: Complex) -> Complex:
    """The quotient of any numbers; what is not finite as in C99, annex G.5.1."""
    near_x, root_x = _moderated(builder, x)
    near_y, root_y = _moderated(builder, y)
    back = root_y / root_x
    q = smith(builder, near_x, near_y).scaled(back).scaled(back)
    a, b, c, d = x.re, x.im, y.re, y.im
    undefined = q.re.is_nan() & q.im.is_nan()
    # by zero
    nothing = (c.equals(0.0) & d.equals(0.0)) & ~(a.is_nan() & b.is_nan())
    infinite = builder.copysign(builder.constant(INFINITY), c)
    q = choose(builder, nothing, Complex(infinite * a, infinite * b), q)
    # an infinity by a finite number, and the other way round
    for above, factor in ((True, INFINITY), (False, 0.0)):
        unbounded, other = (x, y) if above else (y, x)
        case = undefined & ~nothing & is_unbounded(builder, unbounded) & is_finite(builder, other)
        boxed = Complex(
            *(builder.copysign(builder.select(builder.abs(part).equals(INFINITY), 1.0, builder.constant(0.0)), part) for part in (unbounded.re, unbounded.im))
        )
        p, r = (boxed, y) if above else (x, boxed)
        limit = Complex((p.re * r.re + p.im * r.im) * factor, (p.im * r.re - p.re * r.im) * factor)
        q = choose(builder, case, limit, q)
    return q


def is_finite(builder: MathBuilder, z: Complex) -> Mask:
    """Whether both parts are."""
    return (builder.abs(z.re) < INFINITY) & (builder.abs(z.im) < INFINITY)


def _over_root(builder: MathBuilder, scale: Float, root: Complex) -> Complex:
    """scale / root, for numbers that are roots: far from the ends of the range, or zero, infinite or NaN.

    The ratio of the parts of a root may be subnormal where the smaller part of the quotient is not: it is divided last.
    """
    zero = builder.constant(0.0)
    steep = builder.abs(root.im) > builder.abs(root.re)
    large, small = builder.select(steep, root.im, root.re), builder.select(steep, root.re, root.im)
    whole = scale / (large + small * (small / large))
    part = small * whole / large
    q = Complex(builder.select(steep, part, whole), zero - builder.select(steep, whole, part))
    nothing = root.re.equals(0.0) & root.im.equals(0.0)
    q = choose(builder, nothing, Complex(builder.copysign(builder.constant(INFINITY), root.re), builder.constant(NAN)), q)
    return choose(builder, is_unbounded(builder, root), Complex(zero, zero), q)


def sqrt(builder: MathBuilder, z: Complex) -> Complex:
    """With t = sqrt((|x| + |z|) / 2), the parts of the root are t and y / 2t for x >= 0, else |y| / 2t and t with y's sign.

    Numbers near the ends of the range are scaled by a power of 4 before, and their roots by its root after.
    """
    format = builder.format
    large = builder.larger(builder.abs(z.re), builder.abs(z.im))
    great, small = large >= format.largest / 4, large < format.smallest_normal * 2.0 ** (format.mantissa + 1)
    one, up = builder.constant(1.0), 2.0 ** (format.mantissa + 1)
    before = builder.select(great, 0.0625, builder.select(small, up * up, one))
    after = builder.select(great, 4.0, builder.select(small, 1.0 / up, one))
    near = z.scaled(before)
    t = builder.sqrt((builder.abs(near.re) + modulus(builder, near)) * 0.5)
    other = builder.select(t.equals(0.0), near.im, near.im / (t + t))
    right = near.re >= 0.0
    re = builder.select(right, t, builder.abs(other)) * after
    im = builder.select(right, other, builder.copysign(t, near.im)) * after
    unbounded = builder.abs(z.im).equals(INFINITY)
    return Complex(builder.select(unbounded, INFINITY, re), builder.select(unbounded, z.im, im))


def rsqrt(builder: MathBuilder, z: Complex) -> Complex:
    """1 / sqrt(z).

    Numbers below 1 are multiplied by a power of 4, and the one above the fraction by its root, since a part of the root that is subnormal has lost digits.
    """
    below_one = builder.larger(builder.abs(z.re), builder.abs(z.im)) < 1.0
    up, one = 2.0 ** (builder.format.mantissa + 1), builder.constant(1.0)
    near = z.scaled(builder.select(below_one, up * up, one))
    return _over_root(builder, builder.select(below_one, up, one), sqrt(builder, near))


def cbrt(builder: MathBuilder, z: Complex) -> Complex:
    """The principal cube root: that of the modulus, at a third of the angle."""
    bound, third = 2.0 ** MODERATE[builder.element], 2.0 ** (STEP[builder.element] // 3 + 1)
    large, one = builder.larger(builder.abs(z.re), builder.abs(z.im)), builder.constant(1.0)
    before, after = (
        builder.select(large > bound, at_top, builder.select(large < 1.0 / bound, at_bottom, one))
        for at_top, at_bottom in ((third**-3, third**3), (third, 1.0 / third))
    )
    size = real_cbrt(builder, modulus(builder, z.scaled(before))) * after
    turn = atan2(builder, z.im, z.re) / 3.0
    angle = reduce(builder, turn)
    im = builder.select(turn.equals(0.0), turn, size * sine_of(builder, angle))
    return choose(builder, z.re.equals(0.0) & z.im.equals(0.0), z, Complex(size * cosine_of(builder, angle), im))
