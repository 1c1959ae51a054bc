"""Products of narrow integers in wider ones, shifted, narrowed and extended again: processors have instructions for some, which LLVM looks for."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

SHIFTS = (7, 8, 15, 16, 17, 20, 24, 31)


def text(source: str, wide: str, narrow: str, extent: int) -> str:
    """Every shift, by both kinds, and what the narrow result is converted to."""
    lines = [f"%x = stablehlo.convert %a : (tensor<{extent}x{source}>) -> tensor<{extent}x{wide}>"]
    lines += [f"%y = stablehlo.convert %b : (tensor<{extent}x{source}>) -> tensor<{extent}x{wide}>"]
    lines += [f"%p = stablehlo.multiply %x, %y : tensor<{extent}x{wide}>"]
    results: list[tuple[str, str]] = []
    for shift in SHIFTS:
        for kind in ("arithmetic", "logical"):
            name = f"{kind[0]}{shift}"
            lines += [f"%k{name} = stablehlo.constant dense<{shift}> : tensor<{extent}x{wide}>"]
            lines += [f"%s{name} = stablehlo.shift_right_{kind} %p, %k{name} : tensor<{extent}x{wide}>"]
            lines += [f"%n{name} = stablehlo.convert %s{name} : (tensor<{extent}x{wide}>) -> tensor<{extent}x{narrow}>"]
            results.append((f"%n{name}", narrow))
            for to in ("f32", "f64", "i32", "i64"):
                lines += [f"%{to}{name} = stablehlo.convert %n{name} : (tensor<{extent}x{narrow}>) -> tensor<{extent}x{to}>"]
                results.append((f"%{to}{name}", to))
    types = ", ".join(f"tensor<{extent}x{kind}>" for _, kind in results)
    head = f"func.func @main(%a: tensor<{extent}x{source}>, %b: tensor<{extent}x{source}>) -> ({types}) {{"
    return "\n".join([head, *lines, f"return {', '.join(name for name, _ in results)} : {types}", "}"])


@pytest.mark.parametrize("extent", [2, 8, 37])
@pytest.mark.parametrize("narrow", ["i8", "i16", "ui16"])
@pytest.mark.parametrize(
    ("source", "wide"), [("i8", "i32"), ("i8", "i64"), ("i16", "i32"), ("i16", "i64"), ("ui16", "ui32"), ("ui16", "ui64"), ("ui16", "i64")]
)
def test_shifted_products(source: str, wide: str, narrow: str, extent: int) -> None:
    program = wg.parse(text(source, wide, narrow, extent))
    dtype = program.signature.arguments[0].dtype
    drawn = np.random.default_rng(extent).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, extent), dtype, endpoint=True)
    for actual, expected in zip(program(*drawn), program.compile(backend="interpreter")(*drawn), strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "ui8", "ui16", "ui32"])
def test_upper_halves(kind: str) -> None:
    program = wg.parse(
        f"func.func @main(%x: tensor<37x{kind}>, %y: tensor<37x{kind}>) -> (tensor<37x{kind}>, tensor<37xf64>) {{\n"
        f"%0 = chlo.mulhi %x, %y : tensor<37x{kind}>, tensor<37x{kind}> -> tensor<37x{kind}>\n"
        f"%1 = stablehlo.convert %0 : (tensor<37x{kind}>) -> tensor<37xf64>\nreturn %0, %1 : tensor<37x{kind}>, tensor<37xf64>\n}}"
    )
    dtype = program.signature.arguments[0].dtype
    x, y = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 37), dtype, endpoint=True)
    expected = [int(a) * int(b) >> np.iinfo(dtype).bits for a, b in zip(x, y, strict=True)]
    for result in program(x, y):
        np.testing.assert_array_equal(result, expected)
