"""log, log1p and power of complex numbers.

Where |z| is near 1 its logarithm is half of log1p(|z|^2 - 1), and |z|^2 - 1 may cancel to nothing: it is summed from squares that are kept as
pairs (T. J. Dekker, 1971; the need is Kahan's, "Branch Cuts for Complex Elementary Functions", 1987). So both parts of log and log1p are right by
themselves.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math.complex_arithmetic import Complex, choose
from wengert.transforms.codegen.llvm.math.complex_exponential import exp
from wengert.transforms.codegen.llvm.math.double_double import exact_product, exact_sum
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder
from wengert.transforms.codegen.llvm.math.inverse_trigonometric import atan2
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN
from wengert.transforms.codegen.llvm.math.logarithm import log as real_log
from wengert.transforms.codegen.llvm.math.logarithm import log1p as real_log1p


def sum_of_parts(first: Float, *rest: Float) -> Float:
    """A sum of numbers of which large ones may cancel: what each addition rounds off is added up beside it."""
    total, lost = first, None
    for term in rest:
        pair = exact_sum(total, term)
        total, lost = pair.hi, pair.lo if lost is None else lost + pair.lo
    return total if lost is None else total + lost


def log_modulus(builder: MathBuilder, z: Complex) -> Float:
    """log |z|; infinite if either part is."""
    a, b = builder.abs(z.re), builder.abs(z.im)
    m, n = builder.larger(a, b), builder.smaller(a, b)
    p, q = exact_product(m, m), exact_product(n, n)
    excess = sum_of_parts(p.hi - 1.0, q.hi, p.lo, q.lo)
    ratio = n / m
    near = (m > 0.5) & (m < 2.0)
    rest = real_log1p(builder, builder.select(near, excess, ratio * ratio)) * 0.5
    far = real_log(builder, m)
    size = builder.select(near, rest, builder.select(m.equals(0.0), far, far + rest))
    size = builder.select(a.is_nan() | b.is_nan(), a + b, size)
    return builder.select(a.equals(INFINITY) | b.equals(INFINITY), INFINITY, size)


def log(builder: MathBuilder, z: Complex) -> Complex:
    """log |z| + i arg z."""
    return Complex(log_modulus(builder, z), atan2(builder, z.im, z.re))


def log1p(builder: MathBuilder, z: Complex) -> Complex:
    """log |1 + z| + i arg(1 + z), where |1 + z|^2 - 1 = 2 x + x^2 + y^2."""
    x, y = z.re, z.im
    total = x + 1.0
    p, q = exact_product(x, x), exact_product(y, y)
    twice = x + x
    a, b, c = builder.abs(twice), p.hi, q.hi
    # the largest two may cancel, so they come first: a square against 2x, or the squares, which do not
    first = builder.select(b > c, b, c)
    excess = sum_of_parts(twice, first, builder.select(b > c, c, b), p.lo, q.lo)
    near = (excess > -0.75) & (excess < 3.0) & (a < 8.0)
    inside = builder.select(near, excess, 0.0)
    modulus = log_modulus(builder, Complex(total, y))
    return Complex(builder.select(near, real_log1p(builder, inside) * 0.5, modulus), atan2(builder, y, total))


def power(builder: MathBuilder, z: Complex, w: Complex) -> Complex:
    """exp(w log z); 1 for w = 0 and z for w = 1; for z = 0 zero if w has a positive real part, else NaN.

    In f32 it is computed in f64. In f64 the error is that of the logarithm times the size of what is exponentiated.
    """
    if not builder.double:
        wide = [Complex(builder.widen(x.re), builder.widen(x.im)) for x in (z, w)]
        y = power(wide[0].re.builder, *wide)
        return Complex(builder.narrow(y.re), builder.narrow(y.im))
    logarithm = log(builder, z)
    product = Complex(w.re * logarithm.re - w.im * logarithm.im, w.re * logarithm.im + w.im * logarithm.re)
    y = exp(builder, product)
    at_zero = builder.select(w.re > 0.0, 0.0, builder.constant(NAN))
    y = choose(builder, z.re.equals(0.0) & z.im.equals(0.0), Complex(at_zero, at_zero), y)
    y = choose(builder, w.re.equals(1.0) & w.im.equals(0.0), z, y)
    return choose(builder, w.re.equals(0.0) & w.im.equals(0.0), Complex(builder.constant(1.0), builder.constant(0.0)), y)
