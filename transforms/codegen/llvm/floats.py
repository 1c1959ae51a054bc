"""Functions of real floating-point numbers; special functions come from :mod:`wengert.transforms.codegen.llvm.math`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from wengert.transforms.codegen.llvm.eight_bits import format_of, in_format
from wengert.transforms.codegen.llvm.float_remainder import remainder
from wengert.transforms.codegen.llvm.math import SUPPORTED, emit
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.codegen.llvm.vector_builder import VectorBuilder

_MATH = {
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "log": "log",
    "log_plus_one": "log1p",
    "logistic": "logistic",
    "sine": "sin",
    "cosine": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "cbrt": "cbrt",
    "rsqrt": "rsqrt",
    "power": "pow",
    "atan2": "atan2",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cosh": "cosh",
    "sinh": "sinh",
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erf_inv",
    "bessel_i1e": "bessel_i1e",
    "lgamma": "lgamma",
    "digamma": "digamma",
}
FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_EXPANDED_INTRINSICS = {"ceil": "ceil", "floor": "floor", "round_nearest_even": "roundeven", "round_nearest_afz": "round", "sqrt": "sqrt"}
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "remainder": "frem"}
_PRECISION = re.compile(r"reduce_precision_e(\d+)m(\d+)")


class FloatFunctions(VectorBuilder):
    """Scalar functions of floats. 16-bit floats are computed in f32; who calls rounds the result."""

    def float_function(self, function: str, names: Sequence[str], element: Element) -> str:
        register = element.register
        if function == "remainder" and not self.builder.module.abilities.remainder:
            return remainder(self, names[0], names[1], register)
        if function in _ARITHMETIC:
            return self.op(f"{_ARITHMETIC[function]} {self.contract}{self.type(register)} {names[0]}, {names[1]}")
        if function in _MATH:
            assert (_MATH[function], element.math) in SUPPORTED
            return emit(_MATH[function], element.math, self.lanes, names, self.builder)
        if function in _EXPANDED_INTRINSICS:
            return self.intrinsic(_EXPANDED_INTRINSICS[function], register, *names)
        if function == "trigamma":  # polygamma of order 1, which is its first operand
            return emit(function, element.math, self.lanes, names[1:], self.builder)
        if match := _PRECISION.fullmatch(function):
            return self._reduce_precision(names[0], element, int(match[1]), int(match[2]))
        if function.startswith("total_"):
            return self._total(register, names[0], names[1], function.removeprefix("total_"))
        return self._FUNCTIONS[function](self, register, *names)

    def negate(self, register: str, x: str) -> str:
        return self.op(f"fneg {self.type(register)} {x}")

    def _abs(self, register: str, x: str) -> str:
        return self.intrinsic("fabs", register, x)

    def _maximum(self, register: str, x: str, y: str) -> str:
        return self._extreme("maximum", register, x, y)

    def _minimum(self, register: str, x: str, y: str) -> str:
        return self._extreme("minimum", register, x, y)

    def _extreme(self, name: str, register: str, x: str, y: str) -> str:
        """Of NaN and a number NaN; of zeros +0 is the larger one."""
        if self.builder.module.abilities.extremes:
            return self.intrinsic(name, register, x, y)
        word = "i64" if register == "double" else "i32"
        bits = [self.cast("bitcast", operand, register, word) for operand in (x, y)]
        equal = self.cast("bitcast", self.binary("and" if name == "maximum" else "or", word, *bits), word, register)
        farther = self.select(self.compare("ogt" if name == "maximum" else "olt", register, x, y), register, x, y)
        extreme = self.select(self.compare("oeq", register, x, y), register, equal, farther)
        return self.select(self.compare("uno", register, x, y), register, self.binary("fadd", register, x, y), extreme)

    def _clamp(self, register: str, low: str, x: str, high: str) -> str:
        return self._minimum(register, self._maximum(register, x, low), high)

    def _square(self, register: str, x: str) -> str:
        return self.op(f"fmul {self.contract}{self.type(register)} {x}, {x}")

    def _itself(self, register: str, x: str) -> str:
        return x

    def _no_imaginary_part(self, register: str, x: str) -> str:
        return self.float_constant(register, 0.0)

    def _sign(self, register: str, x: str) -> str:
        one = self.intrinsic("copysign", register, self.float_constant(register, 1.0), x)
        nonzero = self.compare("one", register, x, self.float_constant(register, 0.0))
        return self.select(nonzero, register, one, x)

    def _is_finite(self, register: str, x: str) -> str:
        return self.compare("olt", register, self._abs(register, x), self.float_constant(register, float("inf")))

    def _is_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, self._abs(register, x), self.float_constant(register, float("inf")))

    def _is_positive_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, x, self.float_constant(register, float("inf")))

    def _is_negative_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, x, self.float_constant(register, float("-inf")))

    def _next_after(self, register: str, x: str, y: str) -> str:
        """The neighbour of x towards y: one step on the bits, up if the magnitude grows."""
        word = "i64" if register == "double" else "i32"
        zero = self.float_constant(register, 0.0)
        grows = self.binary("xor", "i1", self.compare("olt", register, x, y), self.compare("olt", register, x, zero))
        step = self.select(grows, word, self.constant(word, 1), self.constant(word, -1))
        moved = self.cast("bitcast", self.binary("add", word, self.cast("bitcast", x, register, word), step), word, register)
        tiny = self.cast("bitcast", self.constant(word, 1), word, register)
        moved = self.select(self.compare("oeq", register, x, zero), register, self.intrinsic("copysign", register, tiny, y), moved)
        moved = self.select(self.compare("oeq", register, x, y), register, y, moved)
        return self.select(self.compare("uno", register, x, y), register, self.binary("fadd", register, x, y), moved)

    def _total(self, register: str, x: str, y: str, function: str) -> str:
        """Compares the bits as integers, those of negative numbers flipped: -NaN < -inf < ... < -0 < 0 < ... < NaN."""
        word = "i64" if register == "double" else "i32"
        ordered: list[str] = []
        for name in (x, y):
            bits = self.cast("bitcast", name, register, word)
            fill = self.binary("ashr", word, bits, self.constant(word, 63 if word == "i64" else 31))
            flip = self.binary("lshr", word, fill, self.constant(word, 1))
            ordered.append(self.binary("xor", word, bits, flip))
        return self.compare(function if function in ("eq", "ne") else f"s{function}", word, *ordered)

    def _reduce_precision(self, x: str, element: Element, exponent: int, mantissa: int) -> str:
        """Bit by bit in the type's own format; floats of 8 bits are taken for f16, of which they are a part."""
        if element.narrow and element.narrow != "bf16":
            half = self._rounded_bits(self.cast("fptrunc", x, "float", "half"), "half", exponent, mantissa)
            return self.cast("fpext", half, "half", "float")
        return self._rounded_bits(x, element.register, exponent, min(mantissa, 7) if element.narrow else mantissa)

    def _rounded_bits(self, x: str, register: str, exponent: int, mantissa: int) -> str:
        nexp, nmant, word = {"double": (11, 52, "i64"), "float": (8, 23, "i32"), "half": (5, 10, "i16")}[register]
        exponent, mantissa = min(exponent, nexp), min(mantissa, nmant)
        cut, bias, small = nmant - mantissa, (1 << (nexp - 1)) - 1, (1 << (exponent - 1)) - 1
        bits = self.cast("bitcast", x, register, word)
        rounded = bits
        if cut:
            tie = self.binary("and", word, self.binary("lshr", word, bits, self.constant(word, cut)), self.constant(word, 1))
            up = self.binary("add", word, tie, self.constant(word, (1 << (cut - 1)) - 1))
            rounded = self.binary("and", word, self.binary("add", word, bits, up), self.constant(word, -(1 << cut)))
        if exponent < nexp:
            exponents = ((1 << nexp) - 1) << nmant
            sign = self.binary("and", word, bits, self.constant(word, -(1 << (nexp + nmant))))
            power = self.binary("and", word, rounded, self.constant(word, exponents))
            high = self.compare("ugt", word, power, self.constant(word, (bias + small) << nmant))
            low = self.compare("ule", word, power, self.constant(word, (bias - small) << nmant))
            rounded = self.select(high, word, self.binary("or", word, sign, self.constant(word, exponents)), rounded)
            rounded = self.select(low, word, sign, rounded)
        nan = x
        if not mantissa:  # without mantissa bits there is no NaN
            sign = self.binary("and", word, bits, self.constant(word, -(1 << (nexp + nmant))))
            nan = self.cast("bitcast", self.binary("or", word, sign, self.constant(word, ((1 << nexp) - 1) << nmant)), word, register)
        return self.select(self.compare("uno", register, x, x), register, nan, self.cast("bitcast", rounded, word, register))

    def narrowed(self, x: str, narrow: str) -> str:
        """A float rounded to a format of 16 or 8 bits, still as a float."""
        if narrow.startswith("f8"):
            return in_format(self, x, format_of(narrow))
        if narrow == "f16":
            return self.cast("fpext", self.cast("fptrunc", x, "float", "half"), "half", "float")
        bits = self.cast("bitcast", x, "float", "i32")
        tie = self.binary("and", "i32", self.binary("lshr", "i32", bits, self.constant("i32", 16)), self.constant("i32", 1))
        rounded = self.binary("add", "i32", bits, self.binary("add", "i32", tie, self.constant("i32", 0x7FFF)))
        quiet = self.binary("or", "i32", bits, self.constant("i32", 0x400000))
        kept = self.select(self.compare("uno", "float", x, x), "i32", quiet, rounded)
        return self.cast("bitcast", self.binary("and", "i32", kept, self.constant("i32", -65536)), "i32", "float")

    def odd_float(self, x: str) -> str:
        """A double as a float rounded to odd, which a second rounding to 16 bits cannot spoil."""
        near = self.cast("fptrunc", x, "double", "float")
        back = self.cast("fpext", near, "float", "double")
        bits = self.cast("bitcast", near, "float", "i32")
        above = self.compare("ogt", "double", self._abs("double", back), self._abs("double", x))
        cut = self.select(above, "i32", self.binary("sub", "i32", bits, self.constant("i32", 1)), bits)
        odd = self.binary("or", "i32", cut, self.constant("i32", 1))
        finite = self._is_finite("float", near)
        inexact = self.binary("and", "i1", finite, self.compare("one", "double", back, x))
        return self.cast("bitcast", self.select(inexact, "i32", odd, bits), "i32", "float")

    _FUNCTIONS: ClassVar[dict[str, Callable[..., str]]] = {
        "negate": negate,
        "abs": _abs,
        "maximum": _maximum,
        "minimum": _minimum,
        "clamp": _clamp,
        "square": _square,
        "next_after": _next_after,
        "conj": _itself,
        "real": _itself,
        "imag": _no_imaginary_part,
        "sign": _sign,
        "is_finite": _is_finite,
        "is_inf": _is_inf,
        "is_pos_inf": _is_positive_inf,
        "is_neg_inf": _is_negative_inf,
    }
