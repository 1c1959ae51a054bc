"""The complex functions by name, and their emission: pairs of registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import complex_arithmetic, complex_exponential, complex_inverse, complex_logarithm
from wengert.transforms.codegen.llvm.math.complex_arithmetic import Complex
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder

COMPLEX_FUNCTIONS: dict[str, Callable[..., Complex]] = {
    "sign": complex_arithmetic.sign,
    "square": complex_arithmetic.square,
    "divide": complex_arithmetic.divide,
    "sqrt": complex_arithmetic.sqrt,
    "rsqrt": complex_arithmetic.rsqrt,
    "cbrt": complex_arithmetic.cbrt,
    "exponential": complex_exponential.exp,
    "exponential_minus_one": complex_exponential.expm1,
    "logistic": complex_exponential.logistic,
    "sinh": complex_exponential.sinh,
    "cosh": complex_exponential.cosh,
    "sine": complex_exponential.sine,
    "cosine": complex_exponential.cosine,
    "tan": complex_exponential.tan,
    "tanh": complex_exponential.tanh,
    "log": complex_logarithm.log,
    "log_plus_one": complex_logarithm.log1p,
    "power": complex_logarithm.power,
    "asin": complex_inverse.asin,
    "acos": complex_inverse.acos,
    "atan": complex_inverse.atan,
    "asinh": complex_inverse.asinh,
    "acosh": complex_inverse.acosh,
    "atanh": complex_inverse.atanh,
}
"""By the names of their ops."""


def emit_complex(function: str, element: str, lanes: int, operands: Sequence[tuple[str, str]], builder: FunctionBuilder) -> tuple[str, str]:
    """Appends the code of a function of pairs (real part, imaginary part) of this element type; returns the names of the result's parts."""
    math = MathBuilder(element, lanes, builder)
    z = COMPLEX_FUNCTIONS[function](math, *(Complex(Float(math, re), Float(math, im)) for re, im in operands))
    return z.re.name, z.im.name


def emit_modulus(element: str, lanes: int, z: tuple[str, str], builder: FunctionBuilder) -> str:
    """The same for |z|, which is real."""
    math = MathBuilder(element, lanes, builder)
    return complex_arithmetic.modulus(math, Complex(Float(math, z[0]), Float(math, z[1]))).name
