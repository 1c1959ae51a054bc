"""``arith``, ``math`` and ``index`` on scalars and tensors, beside NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.upstream.support import check, check_derivative, run

from wengert.ir.diagnostics import DiagnosticError

X = np.array([0.3, -0.7, 0.9, -0.2])
ABOVE = np.array([1.3, 2.7, 1.9, 4.2])
_erf = np.vectorize(math.erf)

UNARY: dict[str, tuple[Any, Any]] = {
    "arith.negf": (np.negative, X),
    "math.absf": (np.abs, X),
    "math.acos": (np.arccos, X),
    "math.acosh": (np.arccosh, ABOVE),
    "math.asin": (np.arcsin, X),
    "math.asinh": (np.arcsinh, X),
    "math.atan": (np.arctan, X),
    "math.atanh": (np.arctanh, X),
    "math.cbrt": (np.cbrt, X),
    "math.ceil": (np.ceil, 3 * X),
    "math.cos": (np.cos, X),
    "math.cosh": (np.cosh, X),
    "math.erf": (_erf, X),
    "math.erfc": (lambda x: 1 - _erf(x), X),
    "math.exp": (np.exp, X),
    "math.exp2": (np.exp2, X),
    "math.expm1": (np.expm1, X),
    "math.floor": (np.floor, 3 * X),
    "math.log": (np.log, ABOVE),
    "math.log10": (np.log10, ABOVE),
    "math.log1p": (np.log1p, X),
    "math.log2": (np.log2, ABOVE),
    "math.round": (lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), np.array([0.5, -1.5, 2.4, -2.6])),
    "math.roundeven": (np.round, np.array([0.5, -1.5, 2.4, -2.6])),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), ABOVE),
    "math.sin": (np.sin, X),
    "math.sinh": (np.sinh, X),
    "math.sqrt": (np.sqrt, ABOVE),
    "math.tan": (np.tan, X),
    "math.tanh": (np.tanh, X),
    "math.trunc": (np.trunc, 3 * X),
}
SMOOTH_ENOUGH = [name for name in UNARY if name not in ("math.round", "math.roundeven")]
BINARY: dict[str, Any] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
}
Y = np.array([-0.4, 0.8, 0.5, -1.1])


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name: str) -> None:
    function, x = UNARY[name]
    check(f"func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {{ %y = {name} %x : tensor<4xf64> return %y : tensor<4xf64> }}", [x], function(x))
    check(f"func.func @main(%x: f64) -> f64 {{ %y = {name} %x fastmath<none> : f64 return %y : f64 }}", [x[1]], function(x[1]))


@pytest.mark.parametrize("name", SMOOTH_ENOUGH)
def test_derivatives_of_functions_of_one_float(name: str) -> None:
    check_derivative(f"func.func @main(%x: f64) -> f64 {{ %y = {name} %x : f64 return %y : f64 }}", [UNARY[name][1][2]])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats(name: str) -> None:
    text = f"func.func @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {{ %z = {name} %x, %y : tensor<4xf64> return %z : tensor<4xf64> }}"
    check(text, [X, Y], BINARY[name](X, Y))
    check_derivative(text, [X, Y])


def test_numbers_and_nan() -> None:
    x, y = np.array([np.nan, 1.0, np.nan]), np.array([2.0, np.nan, np.nan])
    names = ("maximumf", "maxnumf", "minimumf", "minnumf")
    body = "".join(f"%{n} = arith.{n} %x, %y : tensor<3xf64> " for n in names)
    text = f"func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> ({', '.join(['tensor<3xf64>'] * 4)}) {{ {body} return {', '.join('%' + n for n in names)} : {', '.join(['tensor<3xf64>'] * 4)} }}"
    check(text, [x, y], np.maximum(x, y), np.fmax(x, y), np.minimum(x, y), np.fmin(x, y))


def test_functions_of_three_operands() -> None:
    check("func.func @main(%x: f64, %y: f64, %z: f64) -> f64 { %r = math.fma %x, %y, %z : f64 return %r : f64 }", [2.0, 3.0, 0.5], 6.5)
    text = "func.func @main(%x: tensor<4xf64>, %a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> { %r = math.clampf %x to [%a, %b] : tensor<4xf64> return %r : tensor<4xf64> }"
    check(text, [X, np.full(4, -0.5), np.full(4, 0.5)], np.clip(X, -0.5, 0.5))
    check(
        "func.func @main(%x: f64) -> (f64, f64) { %s, %c = math.sincos %x : f64 return %s, %c : f64, f64 }",
        [0.3],
        np.sin(0.3),
        np.cos(0.3),
    )


@pytest.mark.parametrize(("type", "n"), [("i32", 3), ("i32", -2), ("i64", 0)])
def test_powers(type: str, n: int) -> None:
    text = f"func.func @main(%x: f64) -> f64 {{ %n = arith.constant {n} : {type} %y = math.fpowi %x, %n : f64, {type} return %y : f64 }}"
    check(text, [-1.5], (-1.5) ** n)
    check_derivative(text, [-1.5])
    other = f"func.func @main(%x: f64, %n: {type}) -> f64 {{ %y = math.fpowi %x, %n : f64, {type} return %y : f64 }}"
    check(other, [-1.5, n], (-1.5) ** n)
    check_derivative(other, [-1.5, n])
    check("func.func @main(%x: i32, %n: i32) -> i32 { %y = math.ipowi %x, %n : i32 return %y : i32 }", [3, 5], np.int32(243))
    check("func.func @main(%x: i32, %n: i32) -> i32 { %y = math.ipowi %x, %n : i32 return %y : i32 }", [-1, -3], np.int32(-1))


PREDICATES: dict[str, Any] = {
    "oeq": lambda x, y: x == y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "one": lambda x, y: (x < y) | (x > y),
    "ord": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "ueq": lambda x, y: ~((x < y) | (x > y)),
    "ugt": lambda x, y: ~(x <= y),
    "uge": lambda x, y: ~(x < y),
    "ult": lambda x, y: ~(x >= y),
    "ule": lambda x, y: ~(x > y),
    "une": lambda x, y: x != y,
    "uno": lambda x, y: np.isnan(x) | np.isnan(y),
    "true": lambda x, y: np.ones(x.shape, bool),
    "false": lambda x, y: np.zeros(x.shape, bool),
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons_of_floats(predicate: str) -> None:
    x, y = np.array([1.0, 2.0, 3.0, np.nan, 1.0]), np.array([2.0, 2.0, 1.0, 1.0, np.nan])
    text = f"func.func @main(%x: tensor<5xf64>, %y: tensor<5xf64>) -> tensor<5xi1> {{ %z = arith.cmpf {predicate}, %x, %y : tensor<5xf64> return %z : tensor<5xi1> }}"
    check(text, [x, y], PREDICATES[predicate](x, y))


def test_classes_of_floats() -> None:
    x = np.array([1.0, np.inf, np.nan, 1e-310, 0.0])
    for name, expected in (
        ("isfinite", np.isfinite(x)),
        ("isinf", np.isinf(x)),
        ("isnan", np.isnan(x)),
        ("isnormal", np.array([True, False, False, False, False])),
    ):
        check(f"func.func @main(%x: tensor<5xf64>) -> tensor<5xi1> {{ %y = math.{name} %x : tensor<5xf64> return %y : tensor<5xi1> }}", [x], expected)


X32 = np.array([7, -7, 7, -7, 1 << 30, -(1 << 31)], np.int32)
J = np.array([2, 2, -2, -2, 3, 5], np.int32)
U, V = X32.view(np.uint32), J.view(np.uint32)
_wide, _wide_j = X32.astype(np.int64), J.astype(np.int64)
INTEGERS: dict[str, Any] = {
    "addi": X32 + J,
    "subi": X32 - J,
    "muli": X32 * J,
    "divsi": np.trunc(X32 / J).astype(np.int32),
    "divui": (U // V).view(np.int32),
    "ceildivsi": (-((-_wide) // _wide_j)).astype(np.int32),
    "ceildivui": (-(-(U.astype(np.int64)) // V.astype(np.int64))).astype(np.uint32).view(np.int32),
    "floordivsi": (_wide // _wide_j).astype(np.int32),
    "remsi": np.fmod(X32, J),
    "remui": (U % V).view(np.int32),
    "maxsi": np.maximum(X32, J),
    "maxui": np.maximum(U, V).view(np.int32),
    "minsi": np.minimum(X32, J),
    "minui": np.minimum(U, V).view(np.int32),
    "andi": X32 & J,
    "ori": X32 | J,
    "xori": X32 ^ J,
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    text = f"func.func @main(%x: tensor<6xi32>, %y: tensor<6xi32>) -> tensor<6xi32> {{ %z = arith.{name} %x, %y : tensor<6xi32> return %z : tensor<6xi32> }}"
    check(text, [X32, J], INTEGERS[name])
    for position in (0, 1, 4):  # constants are evaluated
        constants = f"%x = arith.constant {X32[position]} : i32 %y = arith.constant {J[position]} : i32"
        check(f"func.func @main() -> i32 {{ {constants} %z = arith.{name} %x, %y : i32 return %z : i32 }}", [], INTEGERS[name][position])


@pytest.mark.parametrize(("name", "expected"), [("shli", X32 << 3), ("shrsi", X32 >> 3), ("shrui", (U >> 3).view(np.int32))])
def test_shifts(name: str, expected: Any) -> None:
    text = f"func.func @main(%x: tensor<6xi32>) -> tensor<6xi32> {{ %y = arith.constant dense<3> : tensor<6xi32> %z = arith.{name} %x, %y : tensor<6xi32> return %z : tensor<6xi32> }}"
    check(text, [X32], expected)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons_of_integers(predicate: str) -> None:
    x, y = (U, V) if predicate[0] == "u" else (X32, J)
    function = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[predicate[-2:]]
    text = f"func.func @main(%x: tensor<6xi32>, %y: tensor<6xi32>) -> tensor<6xi1> {{ %z = arith.cmpi {predicate}, %x, %y : tensor<6xi32> return %z : tensor<6xi1> }}"
    check(text, [X32, J], function(x, y))


def test_booleans_are_numbers_of_one_bit() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    expected = {"addi": x ^ y, "muli": x & y, "maxsi": x & y, "minsi": x | y, "maxui": x | y, "minui": x & y, "subi": x ^ y}
    for name, value in expected.items():
        text = f"func.func @main(%x: tensor<4xi1>, %y: tensor<4xi1>) -> tensor<4xi1> {{ %z = arith.{name} %x, %y : tensor<4xi1> return %z : tensor<4xi1> }}"
        check(text, [x, y], value)
    text = "func.func @main(%x: tensor<4xi1>, %y: tensor<4xi1>) -> tensor<4xi1> { %z = arith.cmpi slt, %x, %y : tensor<4xi1> return %z : tensor<4xi1> }"
    check(text, [x, y], x & ~y)


CASTS: list[tuple[str, str, str, Any, Any]] = [
    ("extsi", "i1", "i32", np.array([True, False]), np.array([-1, 0], np.int32)),
    ("extui", "i1", "i32", np.array([True, False]), np.array([1, 0], np.int32)),
    ("extsi", "i8", "i32", np.array([-3, 5], np.int8), np.array([-3, 5], np.int32)),
    ("extui", "i8", "i32", np.array([-3, 5], np.int8), np.array([253, 5], np.int32)),
    ("trunci", "i32", "i8", np.array([300, -1], np.int32), np.array([44, -1], np.int8)),
    ("trunci", "i32", "i1", np.array([3, 2], np.int32), np.array([True, False])),
    ("sitofp", "i32", "f64", np.array([-3, 5], np.int32), np.array([-3.0, 5.0])),
    ("sitofp", "i1", "f64", np.array([True, False]), np.array([-1.0, 0.0])),
    ("uitofp", "i32", "f64", np.array([-1, 5], np.int32), np.array([2.0**32 - 1, 5.0])),
    ("uitofp", "i1", "f32", np.array([True, False]), np.array([1.0, 0.0], np.float32)),
    ("fptosi", "f64", "i32", np.array([-2.7, 2.7]), np.array([-2, 2], np.int32)),
    ("fptoui", "f64", "i32", np.array([2.7, 3e9]), np.array([2, 3000000000 - 2**32], np.int32)),
    ("extf", "f32", "f64", np.array([0.5, -0.25], np.float32), np.array([0.5, -0.25])),
    ("truncf", "f64", "f32", np.array([0.1, -0.25]), np.array([0.1, -0.25], np.float32)),
    ("bitcast", "f32", "i32", np.array([1.0, -2.0], np.float32), np.array([1.0, -2.0], np.float32).view(np.int32)),
]


@pytest.mark.parametrize(("name", "source", "target", "x", "expected"), CASTS)
def test_casts(name: str, source: str, target: str, x: Any, expected: Any) -> None:
    text = f"func.func @main(%x: tensor<2x{source}>) -> tensor<2x{target}> {{ %y = arith.{name} %x : tensor<2x{source}> to tensor<2x{target}> return %y : tensor<2x{target}> }}"
    check(text, [x], expected)


def test_results_in_two_halves() -> None:
    x, y = np.array([-1, 5, 1 << 30], np.int32), np.array([-1, 7, 8], np.int32)
    text = "func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) { %l, %h = arith.OP %x, %y : tensor<3xi32> return %l, %h : tensor<3xi32>, tensor<3xi32> }"
    signed = x.astype(np.int64) * y
    check(text.replace("OP", "mulsi_extended"), [x, y], x * y, (signed >> 32).astype(np.int32))
    product = x.view(np.uint32).astype(np.uint64) * y.view(np.uint32)
    check(text.replace("OP", "mului_extended"), [x, y], x * y, (product >> np.uint64(32)).astype(np.uint32).view(np.int32))
    text = "func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi1>) { %l, %h = arith.addui_extended %x, %y : tensor<3xi32>, tensor<3xi1> return %l, %h : tensor<3xi32>, tensor<3xi1> }"
    check(text, [x, y], x + y, np.array([True, False, False]))


def test_bits() -> None:
    x = np.array([0b1011000, 1, -1], np.int32)
    for name, expected in (("ctlz", [25, 31, 0]), ("cttz", [3, 0, 0]), ("ctpop", [3, 1, 32]), ("absi", [88, 1, 1])):
        text = f"func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {{ %y = math.{name} %x : tensor<3xi32> return %y : tensor<3xi32> }}"
        check(text, [x], np.array(expected, np.int32))


INDEX: dict[str, int] = {
    "add": 5, "sub": -9, "mul": -14, "divs": 0, "ceildivs": 0, "floordivs": -1, "rems": -2, "maxs": 7, "mins": -2, "and": -2 & 7, "or": -2 | 7, "xor": -2 ^ 7,
    "shl": -256, "shrs": -1,
}  # fmt: skip


@pytest.mark.parametrize("name", INDEX)
def test_index(name: str) -> None:
    check(f"func.func @main(%x: index, %y: index) -> index {{ %z = index.{name} %x, %y return %z : index }}", [-2, 7], np.int64(INDEX[name]))


def test_index_unsigned() -> None:
    x, y = -2 % (1 << 64), 7
    expected = {"divu": x // y, "ceildivu": -(-x // y), "remu": x % y, "maxu": -2, "minu": 7, "shru": x >> y}
    for name, value in expected.items():
        result = (value + (1 << 63)) % (1 << 64) - (1 << 63)
        check(f"func.func @main(%x: index, %y: index) -> index {{ %z = index.{name} %x, %y return %z : index }}", [-2, 7], np.int64(result))
    text = "func.func @main(%x: index) -> (i32, i1, i1, index) { %a = index.casts %x : index to i32 %b = index.cmp ult(%x, %x) %c = index.bool.constant true %d = index.sizeof return %a, %b, %c, %d : i32, i1, i1, index }"
    check(text, [-2], np.int32(-2), np.bool_(False), np.bool_(True), np.int64(64))


@pytest.mark.parametrize(("type", "tolerance"), [("f16", 2e-3), ("bf16", 2e-2), ("f32", 1e-6)])
def test_narrow_floats(type: str, tolerance: float) -> None:
    text = f"func.func @main(%x: {type}, %y: {type}) -> f64 {{ %c = arith.constant 0.5 : {type} %0 = arith.mulf %x, %y : {type} %1 = math.exp %0 : {type} %2 = arith.addf %1, %c : {type} %3 = arith.extf %2 : {type} to f64 return %3 : f64 }}"
    check(text, [0.5, 0.25], np.exp(0.125) + 0.5, tolerance=tolerance)


def test_selection() -> None:
    text = "func.func @main(%c: i1, %x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> { %z = arith.select %c, %x, %y : tensor<2xf64> return %z : tensor<2xf64> }"
    check(text, [True, np.ones(2), np.zeros(2)], np.ones(2))
    text = "func.func @main(%c: tensor<2xi1>, %x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> { %z = arith.select %c, %x, %y : tensor<2xi1>, tensor<2xf64> return %z : tensor<2xf64> }"
    check(text, [np.array([True, False]), np.ones(2), np.zeros(2)], np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('%y = "arith.addf"(%x, %n) : (f64, i32) -> f64', "must have one type"),
        ("%y = arith.addf %x, %x : f32", "is used here as f32"),
        ("%y = arith.addff %x, %x : f64", "did you mean 'arith.addf'"),
        ("%y = arith.cmpf foo, %x, %x : f64", "unknown predicate 'foo'"),
        ("%y = arith.extf %x : f64 to i32", "is not cast to i32"),
        ("%y = arith.trunci %n : i32 to i24", "values of type i24 are not supported"),
    ],
)
def test_mistakes_are_shown_at_their_place(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        run(f"func.func @main(%x: f64, %n: i32) -> f64 {{\n  {body}\n  return %x : f64\n}}", 1.0, 2)
    assert message in str(raised.value)
    assert str(raised.value).startswith("test.mlir:2:")
