"""Vector math as LLVM IR text: exp, log, sin and the other functions of StableHLO and CHLO, emitted inline.

`emit("tanh", "f32", 8, ["%x"], builder)` appends the instructions and returns the name of the result.  There are no library calls
and nothing is left to IR passes.  Results follow IEEE 754 and C99 annex F at zeros, infinities and NaN; subnormal numbers count.
The largest error of each function is in `BOUNDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import bessel, error_function, exponential, gamma, hyperbolic, inverse_trigonometric, logarithm, power, trigonometric
from wengert.transforms.codegen.llvm.math.bounds import BOUNDS
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder

__all__ = ["BOUNDS", "SUPPORTED", "emit"]

Unary = Callable[[MathBuilder, Float], Float]
Binary = Callable[[MathBuilder, Float, Float], Float]

UNARY: dict[str, Unary] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "logistic": exponential.logistic,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "tanh": hyperbolic.tanh,
    "sqrt": power.sqrt,
    "rsqrt": power.rsqrt,
    "cbrt": power.cbrt,
    "asin": inverse_trigonometric.asin,
    "acos": inverse_trigonometric.acos,
    "atan": inverse_trigonometric.atan,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "erf_inv": error_function.erf_inv,
    "bessel_i1e": bessel.bessel_i1e,
    "lgamma": gamma.lgamma,
    "digamma": gamma.digamma,
    "trigamma": gamma.trigamma,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
}
BINARY: dict[str, Binary] = {"pow": power.pow, "atan2": inverse_trigonometric.atan2}

SUPPORTED: dict[tuple[str, str], int] = {(name, element): arity for arity, table in ((1, UNARY), (2, BINARY)) for name in table for element in ("f32", "f64")}
"""Arity by (function, element)."""


def emit(function: str, element: str, lanes: int, args: Sequence[str], builder: FunctionBuilder) -> str:
    """Appends the code of function(args) for vectors of `lanes` elements (scalars if 1); returns the name of the result.

    Raises KeyError where (function, element) is not in `SUPPORTED`.
    """
    arity = SUPPORTED[function, element]
    assert len(args) == arity, f"{function} takes {arity} operands, not {len(args)}"
    math = MathBuilder(element, lanes, builder)
    if arity == 1:
        return UNARY[function](math, Float(math, args[0])).name
    return BINARY[function](math, Float(math, args[0]), Float(math, args[1])).name
