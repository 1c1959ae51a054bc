"""Complex numbers in kernels: quotients at every limit, products along dimensions, and that none of it is interpreted."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

PARTS = np.array([0.0, -0.0, 1.0, -2.0, 1e300, 1e-310, np.inf, -np.inf, np.nan])


def check(text: str, *inputs: np.ndarray) -> None:
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    (actual,), (expected,) = compiled(*inputs), run(module, list(inputs))
    for read in (np.real, np.imag):
        np.testing.assert_allclose(read(actual), read(expected), rtol=1e-14, atol=1e-15)


def numbers(*extents: int) -> np.ndarray:
    draw = np.random.default_rng(sum(extents)).standard_normal
    return draw(extents) + 1j * draw(extents)


def test_quotients_at_the_limits() -> None:
    z = np.empty((len(PARTS), len(PARTS)), np.complex128)
    z.real, z.imag = PARTS[:, None], PARTS[None, :]
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(z.ravel(), z.ravel()))
    n = x.size
    text = f"""func.func @main(%x: tensor<{n}xcomplex<f64>>, %y: tensor<{n}xcomplex<f64>>) -> tensor<{n}xcomplex<f64>> {{
        %r = stablehlo.divide %x, %y : tensor<{n}xcomplex<f64>>
        return %r : tensor<{n}xcomplex<f64>> }}"""
    module = parse_module(text)
    (actual,), (expected,) = compile(module, strict=True)(x, y), run(module, [x, y])
    for read in (np.real, np.imag):
        np.testing.assert_allclose(read(actual), read(expected), rtol=1e-15)
    check(text, numbers(n), numbers(n + 1)[:n])


def test_logarithm_near_the_unit_circle() -> None:
    z = np.exp(1j * np.linspace(-3, 3, 101)) * (1 + np.linspace(-1e-9, 1e-9, 101))
    module = parse_module(
        "func.func @main(%x: tensor<101xcomplex<f64>>) -> tensor<101xcomplex<f64>> { %r = stablehlo.log %x : tensor<101xcomplex<f64>>\n return %r : tensor<101xcomplex<f64>> }"
    )
    (actual,) = compile(module)(z)
    np.testing.assert_allclose(actual, np.log(z), rtol=1e-15, atol=2e-16)


WIDE = np.array([*PARTS, 0.3, 30.0, -1e-320, -710.0])
NAMES = ("sqrt", "rsqrt", "sign", "sine", "cosine", "tan", "tanh", "exponential_minus_one", "log_plus_one", "logistic", "chlo.sinh", "chlo.cosh")


@pytest.mark.parametrize(("element", "dtype"), [("f64", np.complex128), ("f32", np.complex64)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elementary_functions(name: str, element: str, dtype: type[np.complexfloating]) -> None:
    """Near the origin, at numbers of all sizes, and where parts are infinite, NaN or zeros of either sign."""
    limits = np.empty((len(WIDE), len(WIDE)), dtype)
    limits.real, limits.imag = WIDE[:, None], WIDE[None, :]
    x = np.concatenate([limits.ravel(), *(numbers(100).astype(dtype) * scale for scale in (1e-6, 1, 8))])
    x = x[~(np.isinf(x.imag) | np.isnan(x.imag)) | ~np.isfinite(x.real) | (x.real == 0)] if name == "logistic" else x
    kind = f"tensor<{x.size}xcomplex<{element}>>"
    op = f"{name} %x : {kind} -> {kind}" if "." in name else f"stablehlo.{name} %x : {kind}"
    module = parse_module(f"func.func @main(%x: {kind}) -> {kind} {{ %r = {op}\n return %r : {kind} }}")
    compiled = compile(module)
    assert not compiled.stats.interpreted
    (actual,), (expected,) = compiled(x), run(module, [x])
    eps = np.finfo(dtype).eps
    for read in (np.real, np.imag):
        a, b = read(actual), read(expected)
        near = np.abs(a - b) <= 10 * eps * np.where(np.isfinite(expected), np.abs(expected), 1)
        same = near | (a == b) | (np.isnan(a) & np.isnan(b))
        assert same.all(), x[~same]
        zeros = (a == 0) & (b == 0) & ~np.isnan(expected)
        assert (np.signbit(a[zeros]) == np.signbit(b[zeros])).all(), (x[zeros][np.signbit(a[zeros]) != np.signbit(b[zeros])], read)


def test_powers() -> None:
    bases, exponents = (v.ravel() for v in np.meshgrid([0, 1, -2, 0.5j, 1 + 1j, 1e-200], [0, 1, 2, -1.5, 1j, 1 - 1j]))
    x, y = np.concatenate([bases[bases != 0], numbers(90)]), np.concatenate([exponents[bases != 0], numbers(91)[:90]])
    kind = f"tensor<{x.size}xcomplex<f64>>"
    text = f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{ %r = stablehlo.power %x, %y : {kind}\n return %r : {kind} }}"
    compiled = compile(parse_module(text))
    assert not compiled.stats.interpreted
    np.testing.assert_allclose(compiled(x, y)[0], x**y, rtol=2e-13)
    zero = np.zeros_like(y)
    np.testing.assert_array_equal(compiled(zero, y)[0], np.where(y == 0, 1, np.where(y.real > 0, 0, complex(np.nan, np.nan))))


@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
def test_products_along_dimensions(dims: list[int]) -> None:
    kept = "".join(f"{n}x" for d, n in enumerate((7, 19)) if d not in dims)
    check(
        f"""func.func @main(%x: tensor<7x19xcomplex<f64>>) -> tensor<{kept}complex<f64>> {{
        %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f64>>
        %r = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = {dims} : (tensor<7x19xcomplex<f64>>, tensor<complex<f64>>)
          -> tensor<{kept}complex<f64>>
        return %r : tensor<{kept}complex<f64>> }}""",
        numbers(7, 19),
    )


@pytest.mark.parametrize("element", ["i64", "ui32", "i8"])
def test_integer_powers_are_compiled(element: str) -> None:
    dtype = np.dtype(element.replace("ui", "uint") if element[0] == "u" else f"int{element[1:]}")
    x, y = (np.random.default_rng(s).integers(0 if element[0] == "u" else -4, 9, 50).astype(dtype) for s in (0, 1))
    module = parse_module(
        f"func.func @main(%x: tensor<50x{element}>, %y: tensor<50x{element}>) -> tensor<50x{element}> {{ %r = stablehlo.power %x, %y : tensor<50x{element}>\n return %r : tensor<50x{element}> }}"
    )
    compiled = compile(module)
    assert not compiled.stats.interpreted
    np.testing.assert_array_equal(compiled(x, y)[0], run(module, [x, y])[0])
