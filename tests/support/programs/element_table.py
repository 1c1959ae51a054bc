"""The table of elementwise ops by element type: every op on operands of every type, as texts, and values that are hard for a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import Float8E8M0FNUType, IntegerType, Signedness
from xdsl.ir import Attribute

from wengert.ir.tensor_types import (
    EIGHT_BITS,
    bf16,
    c64,
    c128,
    dtype_of,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    is_boolean,
    is_complex,
    is_float,
    ui4,
    ui8,
    ui16,
    ui32,
    ui64,
)

Array = np.ndarray[Any, np.dtype[Any]]

ELEMENTS: dict[str, Attribute] = {
    str(element): element
    for element in (
        *(f64, f32, f16, bf16, *EIGHT_BITS, Float8E8M0FNUType(), c64, c128, i1, IntegerType(2), i4, i8, i16, i32, i64),
        *(IntegerType(2, Signedness.UNSIGNED), ui4, ui8, ui16, ui32, ui64),
    )
}
"""Every element type whose values NumPy and ml_dtypes hold."""

EXTENT = 40

_UNARY = {
    **dict.fromkeys(
        (
            *(
                "cbrt",
                "ceil",
                "cosine",
                "count_leading_zeros",
                "exponential",
                "exponential_minus_one",
                "floor",
                "log",
                "log_plus_one",
                "logistic",
                "negate",
                "not",
            ),
            *("popcnt", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
            *("chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.bessel_i1e", "chlo.conj", "chlo.cosh", "chlo.digamma"),
            *("chlo.erf", "chlo.erf_inv", "chlo.erfc", "chlo.lgamma", "chlo.sinh", "chlo.square", "chlo.tan"),
        ),
        "same",
    ),
    **dict.fromkeys(("abs", "real", "imag"), "part"),
    **dict.fromkeys(("is_finite", "chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf"), "boolean"),
}
_BINARY = dict.fromkeys(
    (
        *("add", "and", "atan2", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder", "shift_left", "shift_right_arithmetic"),
        *("shift_right_logical", "subtract", "xor", "chlo.next_after", "chlo.polygamma", "chlo.zeta"),
    ),
    "same",
) | {"complex": "complex"}
_FORMATS = ((5, 2), (8, 7), (2, 1), (1, 0), (5, 10), (11, 52))


class Line(Struct, frozen=True):
    """One op: its generic text on operands named %x, %y, %z and %p, and the type of its result."""

    op: str
    operands: str
    types: str
    result: str
    attributes: str = ""

    @property
    def text(self) -> str:
        """What stands behind the equals sign."""
        return f'"{self.op}"({self.operands}){self.attributes} : ({self.types}) -> {self.result}'


def lines(element: str) -> dict[str, Line]:
    """Every elementwise op on operands of this element type, whether the op takes it or not."""
    x, part = f"tensor<{EXTENT}x{element}>", element.removeprefix("complex<").removesuffix(">")
    results = {"same": x, "part": f"tensor<{EXTENT}x{part}>", "boolean": f"tensor<{EXTENT}xi1>", "complex": f"tensor<{EXTENT}xcomplex<{element}>>"}
    table = {name: Line(_full(name), "%x", x, results[kind]) for name, kind in _UNARY.items()}
    table |= {name: Line(_full(name), "%x, %y", f"{x}, {x}", results[kind]) for name, kind in _BINARY.items()}
    table["select"] = Line("stablehlo.select", "%p, %x, %y", f"{results['boolean']}, {x}, {x}", x)
    table["clamp"] = Line("stablehlo.clamp", "%x, %y, %z", f"{x}, {x}, {x}", x)
    for exponent, mantissa in _FORMATS:
        attributes = f" <{{exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32}}>"
        table[f"reduce_precision e{exponent}m{mantissa}"] = Line("stablehlo.reduce_precision", "%x", x, x, attributes)
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        for order in ("", "TOTALORDER"):
            attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
            attributes += f", compare_type = #stablehlo<comparison_type {order}>" if order else ""
            table[f"compare {direction} {order}".rstrip()] = Line("stablehlo.compare", "%x, %y", f"{x}, {x}", results["boolean"], f" <{{{attributes}}}>")
    return table


def conversions(source: str) -> dict[str, Line]:
    """``convert`` to every element type."""
    return {target: Line("stablehlo.convert", "%x", f"tensor<{EXTENT}x{source}>", f"tensor<{EXTENT}x{target}>") for target in ELEMENTS}


def _full(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


def program(element: str, *ops: Line) -> str:
    """A function of x, y, z and p, booleans, with one result for each op."""
    x = f"tensor<{EXTENT}x{element}>"
    body = "\n".join(f"  %r{k} = {line.text}" for k, line in enumerate(ops))
    types, names = ", ".join(line.result for line in ops), ", ".join(f"%r{k}" for k in range(len(ops)))
    return f"func.func public @main(%x: {x}, %y: {x}, %z: {x}, %p: tensor<{EXTENT}xi1>) -> ({types}) {{\n{body}\n  func.return {names} : {types}\n}}\n"


def folded(element: str, xs: Sequence[Array], *ops: Line) -> str:
    """The same function on constants."""
    text = program(element, *ops)
    head, _, body = text.partition("{\n")
    kinds = [f"tensor<{EXTENT}x{element}>"] * 3 + [f"tensor<{EXTENT}xi1>"]
    constants = [f"  %{name} = stablehlo.constant dense<{_literal(x)}> : {kind}\n" for name, x, kind in zip("xyzp", xs, kinds, strict=True)]
    return f"func.func public @main() {head[head.index('->') :]}{{\n{''.join(constants)}{body}"


def _literal(x: Array) -> str:
    """A dense literal: bytes, or numbers where these are not whole bytes."""
    if x.dtype == bool:
        return str([bool(v) for v in x]).lower()
    if x.dtype.kind == "V" and "int" in x.dtype.name:
        return str([int(v) for v in x])
    return f'"0x{x.tobytes().hex().upper()}"'


def inputs(element: Attribute, seed: int) -> list[Array]:
    """Values for x, y, z and p: special ones in different orders."""
    rng = np.random.default_rng(seed)
    return [*(values(element, rng) for _ in range(3)), values(i1, rng)]


_NUMBERS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -0.9, 3.0, 7.0, -8.0, 100.0, 127.5, -129.0, 255.7, 1e-3, -1e-6, 3e9, np.inf, -np.inf, np.nan]
)
_WHOLE = (0, 1, -1, 2, 3, -3, 5, 7, -8, 31, 64, -100)


def values(element: Attribute, rng: np.random.Generator) -> Array:
    """One operand."""
    dtype = dtype_of(element)
    if is_boolean(element):
        return rng.integers(0, 2, EXTENT).astype(bool)
    with np.errstate(all="ignore"):
        if is_complex(element):
            return (_reals(rng) + 1j * _reals(rng)).astype(dtype)
        if is_float(element):
            return _reals(rng).astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype)
    limits: Any = ml_dtypes.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    chosen = rng.choice(np.array([low, high, *_WHOLE], object), EXTENT)
    return np.array([(v - low) % (high - low + 1) + low for v in chosen], np.int64 if high < 2**63 else np.uint64).astype(dtype)


def _reals(rng: np.random.Generator) -> Array:
    return np.concatenate([rng.permutation(_NUMBERS), rng.uniform(-2, 2, EXTENT - len(_NUMBERS))])
