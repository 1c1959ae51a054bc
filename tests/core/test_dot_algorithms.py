"""Contractions that ask for an algorithm: at least its precision, on both backends."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.stablehlo.annotations import DOT_ALGORITHMS
from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.errors import UnsupportedOpError

ALGORITHM = (
    "<lhs_precision_type = {0}, rhs_precision_type = {1}, accumulation_type = {2}, lhs_component_count = {3}, rhs_component_count = {4}, "
    "num_primitive_operations = {5}, allow_imprecise_accumulation = {6}>"
)


def contraction(algorithm: tuple[object, ...], element: str, result: str) -> str:
    """A product of two vectors of 1000 elements."""
    types = f"(tensor<1000x{element}>, tensor<1000x{element}>) -> tensor<{result}>"
    spelled = ALGORITHM.format(*map(str, algorithm[:6]), str(algorithm[6]).lower())
    op = f"%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], algorithm = {spelled} : {types}"
    return f"func.func @main(%a: tensor<1000x{element}>, %b: tensor<1000x{element}>) -> tensor<{result}> {{\n{op}\nreturn %0 : tensor<{result}>\n}}"


@pytest.mark.parametrize("algorithm", sorted(DOT_ALGORITHMS, key=str)[::7], ids=lambda a: "-".join(map(str, a)))
def test_no_less_precise_than_asked(algorithm: tuple[object, ...]) -> None:
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 1000)).astype(np.float32)
    exact = np.dot(x.astype(np.float64), y)
    for backend in ("cpu", "interpreter"):
        (product,) = wg.parse(contraction(algorithm, "f32", "f32")).compile(backend)(x, y)
        assert abs(product - exact) < 1e-4


def test_sums_in_f64_where_asked() -> None:
    """1000 products whose sum cancels: f32 loses all of it."""
    x = np.float32([1e8, 1, -1e8, 0] * 250)
    asked = ("f64", "f64", "f64", 1, 1, 1, False)
    for backend in ("cpu", "interpreter"):
        assert wg.parse(contraction(asked, "f32", "f32")).compile(backend)(x, np.ones(1000, np.float32))[0] == 250


@pytest.mark.parametrize("element", ["i32", "complex<f32>"])
def test_refused_where_it_has_no_meaning(element: str) -> None:
    text = contraction(("tf32", "tf32", "f32", 1, 1, 1, False), element, element)
    x = np.zeros(1000, np.int32 if element == "i32" else np.complex64)
    with pytest.raises(DiagnosticError, match="algorithms multiply real floating-point numbers"):
        wg.parse(text).compile()(x, x)
    with pytest.raises(UnsupportedOpError, match="has an algorithm"):
        wg.parse(text).compile("interpreter")(x, x)
