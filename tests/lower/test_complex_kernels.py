"""Complex numbers in kernels: quotients at every limit, products along dimensions, and that none of it is interpreted."""

import numpy as np
import pytest

from wengert.ir.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

PARTS = np.array([0.0, -0.0, 1.0, -2.0, 1e300, 1e-310, np.inf, -np.inf, np.nan])


def check(text: str, *inputs: np.ndarray) -> None:
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    (found,), (expected,) = compiled(*inputs), run(module, list(inputs))
    for read in (np.real, np.imag):
        np.testing.assert_allclose(read(found), read(expected), rtol=1e-14, atol=1e-15)


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
    (found,), (expected,) = compile(module, strict=True)(x, y), run(module, [x, y])
    for read in (np.real, np.imag):
        np.testing.assert_allclose(read(found), read(expected), rtol=1e-15)
    check(text, numbers(n), numbers(n + 1)[:n])


def test_logarithm_near_the_unit_circle() -> None:
    z = np.exp(1j * np.linspace(-3, 3, 101)) * (1 + np.linspace(-1e-9, 1e-9, 101))
    module = parse_module(
        "func.func @main(%x: tensor<101xcomplex<f64>>) -> tensor<101xcomplex<f64>> { %r = stablehlo.log %x : tensor<101xcomplex<f64>>\n return %r : tensor<101xcomplex<f64>> }"
    )
    (found,) = compile(module)(z)
    np.testing.assert_allclose(found, np.log(z), rtol=1e-15, atol=2e-16)


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


@pytest.mark.parametrize("held", ["i64", "ui32", "i8"])
def test_integer_powers_are_compiled(held: str) -> None:
    dtype = np.dtype(held.replace("ui", "uint") if held[0] == "u" else f"int{held[1:]}")
    x, y = (np.random.default_rng(s).integers(0 if held[0] == "u" else -4, 9, 50).astype(dtype) for s in (0, 1))
    module = parse_module(
        f"func.func @main(%x: tensor<50x{held}>, %y: tensor<50x{held}>) -> tensor<50x{held}> {{ %r = stablehlo.power %x, %y : tensor<50x{held}>\n return %r : tensor<50x{held}> }}"
    )
    compiled = compile(module)
    assert not compiled.stats.interpreted
    np.testing.assert_array_equal(compiled(x, y)[0], run(module, [x, y])[0])
