"""Every elementwise op on every element type it is defined for, on special values, against the interpreter."""

import ml_dtypes
import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

FLOATS = ("f64", "f32", "f16", "bf16")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED
COMPLEX = ("complex<f32>", "complex<f64>")
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    **{f"i{n}": np.dtype(f"i{n // 8}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"u{n // 8}") for n in (8, 16, 32, 64)},
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}

EXACT_FLOAT = {
    1: ["abs", "ceil", "floor", "negate", "round_nearest_afz", "round_nearest_even", "sign", "sqrt"],
    2: ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"],
}
NEAR_FLOAT = {
    1: [
        *("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "tan", "tanh"),
        *("chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.cosh", "chlo.erf", "chlo.erfc", "chlo.sinh", "chlo.square"),
        "chlo.erf_inv",
    ],
    2: ["atan2", "power"],
}
INTEGER = {
    1: ["abs", "negate", "sign", "not", "popcnt", "count_leading_zeros"],
    2: [
        *("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "power"),
        *("shift_left", "shift_right_arithmetic", "shift_right_logical"),
    ],
}
BOOLEAN = {1: ["not"], 2: ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]}
COMPLEX_OPS = {1: ["negate", "chlo.conj", "chlo.square", "exponential", "log", "abs", "real", "imag"], 2: ["add", "subtract", "multiply", "divide"]}


def special_values(name: str) -> np.ndarray:
    """Ordinary numbers, the edges of the type, and what is not a number."""
    dtype = np.dtype(DTYPES[name])
    if name == "i1":
        return np.array([False, True])
    if name in INTEGERS:
        info = np.iinfo(dtype)
        return np.array(
            [0, 1, 2, 3, 5, 7, 8, 31, 33, 64, 100, info.max, info.max - 1, info.min, info.min + 1] + ([-1, -2, -7] if info.min else []), dtype=dtype
        )
    if name in COMPLEX:
        part = np.array([0.0, -0.0, 1.0, -2.5, 0.3, 40.0])
        return (part[:, None] + 1j * part[None, :]).ravel().astype(dtype)
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 10.0, -20.0, 100.0, 1e-3, -1e-5, np.inf, -np.inf, np.nan]
    return np.array([*values, float(info.max), -float(info.max), float(info.tiny), float(info.smallest_subnormal)]).astype(dtype)


def operands(name: str, count: int) -> list[np.ndarray]:
    values = special_values(name)
    if count == 1:
        return [values]
    x, y = np.meshgrid(values, values)
    return [np.ascontiguousarray(x.ravel()), np.ascontiguousarray(y.ravel())]


def program(op: str, arrays: list[np.ndarray], name: str, result: str | None = None) -> str:
    full = op if "." in op else f"stablehlo.{op}"
    n = arrays[0].size
    types = ", ".join([f"tensor<{n}x{name}>"] * len(arrays))
    arguments = ", ".join(f"%{i}: tensor<{n}x{name}>" for i in range(len(arrays)))
    names = ", ".join(f"%{i}" for i in range(len(arrays)))
    target = f"tensor<{n}x{result or name}>"
    return f'func.func public @main({arguments}) -> {target} {{\n  %r = "{full}"({names}) : ({types}) -> {target}\n  func.return %r : {target}\n}}'


def both(text: str, arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted, compiled.stats
    (actual,) = compiled(*arrays)
    (expected,) = run(module, arrays)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    return actual, expected


def assert_identical(actual: np.ndarray, expected: np.ndarray) -> None:
    """Bit for bit, but for the payload of NaN."""
    if actual.dtype.kind in "biu":
        assert np.array_equal(actual, expected)
        return
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(actual), nan)
    assert np.array_equal(actual[~nan], expected[~nan])
    if actual.dtype.kind != "c":
        assert np.array_equal(np.signbit(actual[~nan].astype(np.float64)), np.signbit(expected[~nan].astype(np.float64)))


def assert_near(actual: np.ndarray, expected: np.ndarray, ulps: float) -> None:
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    a, b = actual.astype(wide), expected.astype(wide)
    info = ml_dtypes.finfo(actual.dtype if actual.dtype.kind != "c" else np.real(actual).dtype)
    assert np.array_equal(np.isnan(a), np.isnan(b))
    finite = np.isfinite(b)
    assert np.array_equal(a[~finite & ~np.isnan(b)], b[~finite & ~np.isnan(b)])
    bound = ulps * np.maximum(np.abs(b[finite]) * float(info.eps), float(info.smallest_subnormal))
    assert np.all(np.abs(a[finite] - b[finite]) <= bound)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("op", "count"), [(op, n) for n, ops in EXACT_FLOAT.items() for op in ops])
def test_exact_float(op: str, count: int, name: str) -> None:
    arrays = operands(name, count)
    assert_identical(*both(program(op, arrays, name), arrays))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("op", "count"), [(op, n) for n, ops in NEAR_FLOAT.items() for op in ops])
def test_near_float(op: str, count: int, name: str) -> None:
    arrays = operands(name, count)
    assert_near(*both(program(op, arrays, name), arrays), ulps=4)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["is_finite", "chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf"])
def test_float_predicate(op: str, name: str) -> None:
    arrays = operands(name, 1)
    assert_identical(*both(program(op, arrays, name, "i1"), arrays))


@pytest.mark.parametrize("name", FLOATS[:2])
def test_next_after(name: str) -> None:
    arrays = operands(name, 2)
    assert_identical(*both(program("chlo.next_after", arrays, name), arrays))


@pytest.mark.parametrize("op", ["abs", "exponential", "log"])
def test_complex_limits(op: str) -> None:
    part = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    values = np.empty((7, 7), np.complex128)
    values.real, values.imag = part[:, None], part[None, :]
    arrays = [values.ravel()]
    text = program(op, arrays, "complex<f64>", "f64" if op == "abs" else None)
    module = parse_module(text)
    (actual,), (expected,) = compile(module)(*arrays), run(module, arrays)
    for read in (np.real, np.imag):
        np.testing.assert_allclose(read(actual), read(expected), rtol=1e-15)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize(("op", "count"), [(op, n) for n, ops in INTEGER.items() for op in ops])
def test_integer(op: str, count: int, name: str) -> None:
    arrays = operands(name, count)
    assert_identical(*both(program(op, arrays, name), arrays))


@pytest.mark.parametrize(("op", "count"), [(op, n) for n, ops in BOOLEAN.items() for op in ops])
def test_boolean(op: str, count: int) -> None:
    arrays = operands("i1", count)
    assert_identical(*both(program(op, arrays, "i1"), arrays))


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize(("op", "count"), [(op, n) for n, ops in COMPLEX_OPS.items() for op in ops])
def test_complex(op: str, count: int, name: str) -> None:
    arrays = operands(name, count)
    result = name[8:-1] if op in ("abs", "real", "imag") else None
    with np.errstate(all="ignore"):
        assert_near(*both(program(op, arrays, name, result), arrays), ulps=16)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "i1", *COMPLEX])
@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_compare(direction: str, name: str) -> None:
    if name in COMPLEX and direction not in ("EQ", "NE"):
        pytest.skip("complex numbers have no order")
    arrays = operands(name, 2)
    n = arrays[0].size
    order = "FLOAT" if name in FLOATS + COMPLEX else "SIGNED" if name in SIGNED else "UNSIGNED"
    text = f"""func.func public @main(%x: tensor<{n}x{name}>, %y: tensor<{n}x{name}>) -> tensor<{n}xi1> {{
      %r = stablehlo.compare {direction}, %x, %y, {order} : (tensor<{n}x{name}>, tensor<{n}x{name}>) -> tensor<{n}xi1>
      func.return %r : tensor<{n}xi1>
    }}"""
    assert_identical(*both(text, arrays))


@pytest.mark.parametrize("name", FLOATS[:2])
@pytest.mark.parametrize("direction", ["EQ", "LT", "GE"])
def test_total_order(direction: str, name: str) -> None:
    arrays = operands(name, 2)
    n = arrays[0].size
    text = f"""func.func public @main(%x: tensor<{n}x{name}>, %y: tensor<{n}x{name}>) -> tensor<{n}xi1> {{
      %r = stablehlo.compare {direction}, %x, %y, TOTALORDER : (tensor<{n}x{name}>, tensor<{n}x{name}>) -> tensor<{n}xi1>
      func.return %r : tensor<{n}xi1>
    }}"""
    assert_identical(*both(text, arrays))


@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS, "i1", *COMPLEX])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "i1", *COMPLEX])
def test_convert(source: str, target: str) -> None:
    arrays = operands(source, 1)
    assert_identical(*both(program("convert", arrays, source, target), arrays))


@pytest.mark.parametrize(
    ("source", "target"), [("f64", "i64"), ("f32", "ui32"), ("f16", "i16"), ("bf16", "ui16"), ("i32", "f32"), ("i16", "bf16"), ("ui16", "f16"), ("i32", "ui32")]
)
def test_bitcast(source: str, target: str) -> None:
    arrays = operands(source, 1)
    assert_identical(*both(program("bitcast_convert", arrays, source, target), arrays))


@pytest.mark.parametrize("name", ["f64", "f32", "bf16"])
@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 10), (8, 7), (8, 23), (11, 52), (4, 3), (5, 0)])
def test_reduce_precision(exponent: int, mantissa: int, name: str) -> None:
    arrays = operands(name, 1)
    n = arrays[0].size
    text = f"""func.func public @main(%x: tensor<{n}x{name}>) -> tensor<{n}x{name}> {{
      %r = stablehlo.reduce_precision %x, format = e{exponent}m{mantissa} : tensor<{n}x{name}>
      func.return %r : tensor<{n}x{name}>
    }}"""
    assert_identical(*both(text, arrays))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_select_and_clamp_with_scalars(name: str) -> None:
    x, y = operands(name, 2)
    n = x.size
    low, high = np.array(1, DTYPES[name]), np.array(3, DTYPES[name])
    text = f"""func.func public @main(%x: tensor<{n}x{name}>, %y: tensor<{n}x{name}>, %lo: tensor<{name}>, %hi: tensor<{name}>, %p: tensor<i1>) -> tensor<{n}x{name}> {{
      %c = "stablehlo.clamp"(%lo, %x, %hi) : (tensor<{name}>, tensor<{n}x{name}>, tensor<{name}>) -> tensor<{n}x{name}>
      %r = "stablehlo.select"(%p, %c, %y) : (tensor<i1>, tensor<{n}x{name}>, tensor<{n}x{name}>) -> tensor<{n}x{name}>
      func.return %r : tensor<{n}x{name}>
    }}"""
    for p in (True, False):
        assert_identical(*both(text, [x, y, low, high, np.array(p)]))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("order", [1, 2])
def test_polygamma(name: str, order: int) -> None:
    """The derivative of digamma has code of its own; higher orders are sums of powers."""
    kind = f"tensor<8x{name}>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
      %n = stablehlo.constant dense<{order}.0> : {kind}
      %y = chlo.polygamma %n, %x : {kind}, {kind} -> {kind}
      return %y : {kind}
    }}"""
    module, x = parse_module(text), np.array([0.0, 0.25, 1, 12, np.inf, np.nan, -0.75, -2.0], DTYPES[name])
    compiled = compile(module)
    assert not compiled.stats.interpreted
    actual, wanted = compiled(x)[0].astype(np.float64), run(module, [x])[0].astype(np.float64)
    np.testing.assert_allclose(actual, wanted, rtol=4 * float(ml_dtypes.finfo(DTYPES[name]).eps))


def _of_a_product(results: str, body: str) -> str:
    """A function of x, y and z, with t = x y and its results f64 vectors."""
    kinds = ", ".join(["tensor<5xf64>"] * (results.count(",") + 1))
    return f"""func.func @main(%x: tensor<5xf64>, %y: tensor<5xf64>, %z: tensor<5xf64>) -> ({kinds}) {{
      %t = stablehlo.multiply %x, %y : tensor<5xf64>
      {body}
      return {results} : {kinds}
    }}"""


@pytest.mark.parametrize("sum_", ["subtract %t, %z", "subtract %z, %t", "add %z, %t"])
def test_products_that_feed_a_sum(sum_: str) -> None:
    """A sum is contracted (if the processor can) whether or not another result has the product, but not if the same result sees both."""
    x, y = 1 + np.array([2.0**-30, 2.0**-29, 2.0**-28, 0.0, 1.0]), 1 - np.array([2.0**-30, 2.0**-29, 2.0**-28, 0.5, 0.5])
    z = -np.ones(5) if "add" in sum_ else np.ones(5)
    one_sum, other = f"%s = stablehlo.{sum_} : tensor<5xf64>", "%u = stablehlo.multiply %t, %x : tensor<5xf64>"
    (alone,) = compile(parse_module(_of_a_product("%s", one_sum)))(x, y, z)
    beside, product, _ = compile(parse_module(_of_a_product("%s, %t, %u", f"{one_sum}\n{other}")))(x, y, z)
    np.testing.assert_array_equal(beside, alone)
    np.testing.assert_array_equal(product, x * y)
    rest = "%f = stablehlo.floor %t : tensor<5xf64>\n%s = stablehlo.subtract %t, %f : tensor<5xf64>\n%r = stablehlo.sqrt %s : tensor<5xf64>"
    np.testing.assert_array_equal(compile(parse_module(_of_a_product("%r, %t", rest)))(x, y, z)[0], np.sqrt(x * y - np.floor(x * y)))
