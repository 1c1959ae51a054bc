"""The standard's elementwise functions, with the dtypes that it lists for each and where each is differentiable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.array_api.entries import Call, DType, Entry, Static, binary, binary_smooth, unary, unary_smooth
from benchmarks.array_api.operands import random, special

FLOATS = "fc"
REAL = "iuf"
NUMERIC = "iufc"
ALL = "biufc"

_UNARY: dict[str, tuple[str, float, float]] = {
    "abs": (NUMERIC, 0.5, 2.0),
    "acos": (FLOATS, -0.9, 0.9),
    "acosh": (FLOATS, 1.2, 3.0),
    "asin": (FLOATS, -0.9, 0.9),
    "asinh": (FLOATS, -2.0, 2.0),
    "atan": (FLOATS, -0.9, 0.9),
    "atanh": (FLOATS, -0.9, 0.9),
    "cos": (FLOATS, -2.0, 2.0),
    "cosh": (FLOATS, -2.0, 2.0),
    "exp": (FLOATS, -2.0, 2.0),
    "expm1": (FLOATS, -2.0, 2.0),
    "log": (FLOATS, 0.5, 3.0),
    "log1p": (FLOATS, -0.5, 2.0),
    "log2": (FLOATS, 0.5, 3.0),
    "log10": (FLOATS, 0.5, 3.0),
    "negative": (NUMERIC, -2.0, 2.0),
    "positive": (NUMERIC, -2.0, 2.0),
    "reciprocal": (FLOATS, 0.5, 2.0),
    "sign": (NUMERIC, 0.5, 2.0),
    "sin": (FLOATS, -2.0, 2.0),
    "sinh": (FLOATS, -2.0, 2.0),
    "sqrt": (FLOATS, 0.5, 2.0),
    "square": (NUMERIC, -2.0, 2.0),
    "tan": (FLOATS, -1.0, 1.0),
    "tanh": (FLOATS, -2.0, 2.0),
    "conj": (NUMERIC, -2.0, 2.0),
    "real": (NUMERIC, -2.0, 2.0),
}
"""Functions of one operand with a derivative: dtypes, and bounds between which it is smooth."""
_STEPS = {"ceil": REAL, "floor": REAL, "round": NUMERIC, "trunc": REAL}
_QUESTIONS = {"isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC, "signbit": "f", "logical_not": "b", "bitwise_invert": "biu"}
_EXACT = {"abs", "negative", "positive", "square", "conj", "real"}
_COMPLEX_SPECIALS = {
    "divide": "the quotient scales by the larger part, NumPy's by another",
    "expm1": "NumPy leaves the standard, which says `inf + 0j` at `inf + 0j`",
    "pow": "the power is that of the logarithm, NumPy's of small exponents a product",
    "reciprocal": "a quotient, see divide",
    "sign": "an infinite number over its modulus is NaN, in NumPy a unit",
}
_BINARY: dict[str, tuple[str, float, float, float, float]] = {
    "add": (NUMERIC, -2, 2, -2, 2),
    "atan2": ("f", 0.5, 2, 0.5, 2),
    "copysign": ("f", 0.5, 2, 0.5, 2),
    "divide": (FLOATS, -2, 2, 0.5, 2),
    "floor_divide": (REAL, 1.1, 1.9, 0.7, 0.9),
    "hypot": ("f", 0.5, 2, 0.5, 2),
    "logaddexp": ("f", -2, 2, -2, 2),
    "maximum": (REAL, -2, 0, 0.5, 2),
    "minimum": (REAL, -2, 0, 0.5, 2),
    "multiply": (NUMERIC, -2, 2, -2, 2),
    "pow": (NUMERIC, 0.5, 2, -2, 2),
    "remainder": (REAL, 1.7, 1.9, 0.7, 0.8),
    "subtract": (NUMERIC, -2, 2, -2, 2),
}
_ROUNDED = {"atan2", "hypot", "logaddexp", "pow", "divide", "multiply"}
_REMARKS = {
    "maximum": "of zeros of both signs 0, where NumPy takes either",
    "minimum": "of zeros of both signs -0, where NumPy takes either",
    "pow": "integers to negative powers: an error at once, traced the reciprocal rounded towards 0",
}
_BINARY_QUESTIONS = {
    "bitwise_and": "biu",
    "bitwise_left_shift": "iu",
    "bitwise_or": "biu",
    "bitwise_right_shift": "iu",
    "bitwise_xor": "biu",
    "equal": ALL,
    "greater": REAL,
    "greater_equal": REAL,
    "less": REAL,
    "less_equal": REAL,
    "logical_and": "b",
    "logical_or": "b",
    "logical_xor": "b",
    "nextafter": "f",
    "not_equal": ALL,
}


def _clip(dtype: DType) -> list[Call]:
    x, y = special(dtype), random(dtype, (2, 3), 11)
    low, high = sorted(random(dtype, (2,), 12).tolist())
    bounds = np.full(3, low, dtype), np.full((2, 1), high, dtype)
    return [
        Call((x, low, high)),
        Call((x, None, high)),
        Call((x, low)),
        Call((x,)),
        Call((y, *bounds)),
        Call((y,), {"min": bounds[0]}),
        Call((random(dtype, (), 1), low, high)),
        Call((random(dtype, (0,), 1), low, high)),
    ]


def _clip_smooth(dtype: DType) -> list[Call]:
    return [Call((random(dtype, (2, 3), 11), -0.7, 0.9)), Call((random(dtype, (2, 3), 11), random(dtype, (3,), 12, -2, -1), random(dtype, (2, 1), 13, 1, 2)))]


def _where(dtype: DType) -> list[Call]:
    chosen = random(np.dtype(bool), (2, 3), 14)
    row = special(dtype)
    number: Any = True if dtype.kind == "b" else 1
    return [
        Call((chosen, random(dtype, (2, 3), 1), random(dtype, (3,), 2))),
        Call((chosen[0], random(dtype, (), 1), random(dtype, (2, 1), 2))),
        Call((row == row, row, row[::-1].copy())),
        Call((chosen, random(dtype, (2, 3), 1), number)),
        Call((chosen[:0], random(dtype, (0, 3), 1), random(dtype, (3,), 2))),
    ]


def _where_smooth(dtype: DType) -> list[Call]:
    return [Call((Static(call.arguments[0]), *call.arguments[1:])) for call in _where(dtype)[:2]]


FUNCTIONS = [
    *(
        Entry(name, kinds, unary(), unary_smooth(low, high), exact=name in _EXACT, complex_specials=_COMPLEX_SPECIALS.get(name, ""))
        for name, (kinds, low, high) in _UNARY.items()
    ),
    Entry("imag", "c", unary(), unary_smooth(-2, 2), exact=True),
    *(Entry(name, kinds, unary(), unary_smooth(0.1, 0.4), exact=True) for name, kinds in _STEPS.items()),
    *(Entry(name, kinds, unary(), exact=True) for name, kinds in _QUESTIONS.items()),
    *(
        Entry(
            name,
            kinds,
            binary("power" if name == "pow" else ""),
            binary_smooth(*bounds),
            exact=name not in _ROUNDED,
            signs=name not in ("maximum", "minimum"),
            complex_specials=_COMPLEX_SPECIALS.get(name, ""),
            remark=_REMARKS.get(name, ""),
        )
        for name, (kinds, *bounds) in _BINARY.items()
    ),
    *(Entry(name, kinds, binary("shift" if "shift" in name else ""), exact=True) for name, kinds in _BINARY_QUESTIONS.items()),
    Entry("clip", REAL, _clip, _clip_smooth, exact=True),
    Entry("where", ALL, _where, _where_smooth, exact=True),
]

_NAMES = {
    "__abs__": "abs",
    "__add__": "add",
    "__and__": "bitwise_and",
    "__eq__": "equal",
    "__floordiv__": "floor_divide",
    "__ge__": "greater_equal",
    "__gt__": "greater",
    "__invert__": "bitwise_invert",
    "__le__": "less_equal",
    "__lshift__": "bitwise_left_shift",
    "__lt__": "less",
    "__mod__": "remainder",
    "__mul__": "multiply",
    "__ne__": "not_equal",
    "__neg__": "negative",
    "__or__": "bitwise_or",
    "__pos__": "positive",
    "__pow__": "pow",
    "__rshift__": "bitwise_right_shift",
    "__sub__": "subtract",
    "__truediv__": "divide",
    "__xor__": "bitwise_xor",
}
OPERATORS = [replace(entry, name=operator) for operator, name in _NAMES.items() for entry in FUNCTIONS if entry.name == name]
