"""Program.vmap, jacfwd, jacrev and hessian, as users call them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.errors import InputError

AFFINE = wg.parse("""
func.func public @main(%x: tensor<3xf64>, %a: tensor<2x3xf64>, %n: tensor<i32>) -> (tensor<2xf64>, tensor<f64>) {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
  %1 = stablehlo.sine %0 : tensor<2xf64>
  %2 = stablehlo.convert %n : (tensor<i32>) -> tensor<f64>
  return %1, %2 : tensor<2xf64>, tensor<f64>
}
""")
COMPLEX = wg.parse("""
func.func public @main(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
  %0 = stablehlo.multiply %z, %z : tensor<2xcomplex<f64>>
  return %0 : tensor<2xcomplex<f64>>
}
""")
RNG = np.random.default_rng(0)
X, A, N = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3)), np.int32(5)


def test_a_batched_program_is_a_program() -> None:
    program = AFFINE.vmap((0, None, None), (0, None), size=4)
    assert [p.shape for p in program.signature.arguments] == [(4, 3), (2, 3), ()]
    assert [p.shape for p in program.signature.results] == [(4, 2), ()]
    y, n = program(X, A, N)
    np.testing.assert_allclose(y, np.sin(X @ A.T), rtol=1e-14)
    assert n == 5
    assert "core." not in str(program)
    np.testing.assert_array_equal(wg.parse(str(program))(X, A, N)[0], y)
    assert AFFINE.vmap((0, None, None), (0, None), size=4) is program


def test_axes_anywhere() -> None:
    y, _ = AFFINE.vmap((-1, None, None), (-1, None), size=4)(X.T, A, N)
    np.testing.assert_allclose(y, np.sin(X @ A.T).T, rtol=1e-14)
    y, n = AFFINE.vmap(0, 0, size=4)(X, np.stack([A] * 4), np.full(4, 5, np.int32))
    np.testing.assert_allclose(y, np.sin(X @ A.T), rtol=1e-14)
    assert n.shape == (4,)


def test_the_batch_size_is_read_from_the_arguments() -> None:
    any_size = AFFINE.vmap((0, None, None), (0, None))
    for size in (4, 2):
        np.testing.assert_allclose(any_size(X[:size], A, N)[0], np.sin(X[:size] @ A.T), rtol=1e-14)
    assert any_size.of_size(4) is AFFINE.vmap((0, None, None), (0, None), size=4)
    *_, x_bar, a_bar = any_size.vjp(of=0)(X, A, N, np.ones((4, 2)))
    np.testing.assert_allclose(x_bar, np.cos(X @ A.T) @ A, rtol=1e-13)
    np.testing.assert_allclose(a_bar, np.cos(X @ A.T).T @ X, rtol=1e-13)
    *_, y_dot = any_size.jvp(wrt=0, of=0)(X, A, N, X)
    np.testing.assert_allclose(y_dot, np.cos(X @ A.T) * (X @ A.T), rtol=1e-13)


def test_batches_nest_and_compose_with_both_modes() -> None:
    inner = AFFINE.vmap((0, None, None), (0, None), size=2)
    y, _ = inner.vmap((0, None, None), (0, None), size=2)(X.reshape(2, 2, 3), A, N)
    np.testing.assert_allclose(y.reshape(4, 2), np.sin(X @ A.T), rtol=1e-14)
    y_bar = RNG.normal(size=(4, 2))
    once = AFFINE.vmap((0, None, None), (0, None), size=4).vjp(wrt=0, of=0)(X, A, N, y_bar)
    each = AFFINE.vjp(wrt=0, of=0).vmap((0, None, None, 0), (0, None, 0), size=4)(X, A, N, y_bar)
    for a, b in zip(once, each, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_jacobians_in_both_modes() -> None:
    expected = np.cos(A @ X[0])[:, None] * A
    for jacobian in (AFFINE.jacfwd(wrt=0, of=0), AFFINE.jacrev(wrt=0, of=0)):
        np.testing.assert_allclose(jacobian(X[0], A, N)[0], expected, rtol=1e-14)
        assert [p.name for p in jacobian.signature.results] == ["derivative of result 0 by argument 0"]
    blocks = AFFINE.jacrev()(X[0], A, N)
    assert [b.shape for b in blocks] == [(2, 3), (2, 2, 3), (3,), (2, 3)]
    for forward, reverse in zip(AFFINE.jacfwd()(X[0], A, N), blocks, strict=True):
        np.testing.assert_allclose(forward, reverse, rtol=1e-14)


def test_hessian() -> None:
    blocks = AFFINE.hessian(wrt=(0, 1), of=0)(X[0], A, N)
    assert [b.shape for b in blocks] == [(2, 3, 3), (2, 3, 2, 3), (2, 2, 3, 3), (2, 2, 3, 2, 3)]
    np.testing.assert_allclose(blocks[0], np.einsum("i,ij,ik->ijk", -np.sin(A @ X[0]), A, A), rtol=1e-13)
    np.testing.assert_allclose(blocks[1], np.moveaxis(blocks[2], (1, 2, 3), (2, 3, 1)), rtol=1e-13)


def test_complex_jacobians_need_a_word() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    for mode in ("jacfwd", "jacrev"):
        with pytest.raises(InputError, match="holomorphic"):
            getattr(COMPLEX, mode)()
        np.testing.assert_allclose(getattr(COMPLEX, mode)(holomorphic=True)(z)[0], np.diag(2 * z))


def test_a_batched_jacobian() -> None:
    actual = AFFINE.jacrev(wrt=0, of=0).vmap((0, None, None), size=4)(X, A, N)[0]
    np.testing.assert_allclose(actual, np.cos(X @ A.T)[:, :, None] * A, rtol=1e-13)


def test_dumps(tmp_path: Path) -> None:
    AFFINE.vmap((0, None, None), (0, None), size=3, dump_dir=tmp_path)
    assert any("batch" in file.name for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"in_axes": (0, None)}, "in_axes has 2 entries, but the program has 3 arguments"),
        ({"in_axes": (2, None, None)}, "axis 2 is out of range for rank 2"),
        ({"in_axes": ("x", None, None)}, "in_axes takes dimensions or None"),
        ({"in_axes": None}, "give size="),
        ({"out_axes": (0,)}, "out_axes has 1 entries, but the program has 2 results"),
        ({"size": -1}, "size takes the number of batch elements, found -1"),
        ({"size": 1.5}, "size takes the number of batch elements, found 1.5"),
    ],
)
def test_mistakes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        AFFINE.vmap(**arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_mistakes_in_calls() -> None:
    program = AFFINE.vmap((0, 0, None), (0, None))
    with pytest.raises(InputError, match="do not hold one number of batch elements: 4 by argument 0, 2 by argument 1"):
        program(X, np.stack([A, A]), N)
    with pytest.raises(InputError, match="a batch of it has 2 dimensions"):
        program(X[0], A, N)
    with pytest.raises(DiagnosticError, match="result 0 of @main is the same for all batch elements, but it depends"):
        AFFINE.vmap((0, None, None), None, size=2)
