"""The Program contract: loading, calling, differentiating, nesting, printing, copying, and its errors."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

BACKENDS = ["cpu", "interpreter"]

SCALE = """
module @scale {
  func.func public @main(%x: tensor<3xf64> {jax.arg_info = "x"}, %n: tensor<i32>, %y: tensor<f64>)
      -> (tensor<3xf64> {jax.result_info = "result[0]"}, tensor<i32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.sine %x : tensor<3xf64>
    %1 = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %2 = stablehlo.multiply %0, %1 : tensor<3xf64>
    return %2, %n : tensor<3xf64>, tensor<i32>
  }
}
"""

TWO = """
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func public @squared(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
"""

PASSED_ON = """
func.func public @main(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %c = stablehlo.constant dense<1.0> : tensor<2xf64>
  return %x, %x, %c : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}
"""

X, N, Y = np.array([0.1, 0.2, 0.3]), np.int32(5), np.float64(2.0)


@pytest.fixture(scope="module")
def scale() -> wg.Program:
    return wg.parse(SCALE, "scale.mlir")


@pytest.mark.parametrize("backend", BACKENDS)
def test_running(scale: wg.Program, backend: str) -> None:
    out, n = scale.compile(backend)(X, N, Y)
    np.testing.assert_allclose(out, np.sin(X) * 2, rtol=1e-15)
    assert n == 5
    assert n.dtype == np.int32
    assert isinstance(n, np.ndarray)


def test_calling_runs_on_the_default_backend(scale: wg.Program) -> None:
    np.testing.assert_allclose(scale(X, 5, 2.0)[0], np.sin(X) * 2, rtol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_belong_to_the_caller(backend: str) -> None:
    compiled = wg.parse(PASSED_ON).compile(backend)
    x = np.zeros(2)
    first = compiled(x)
    for array in first:
        array[:] = 7
    assert (x == 0).all()
    again = compiled(x)
    np.testing.assert_array_equal(again[0], [0, 0])
    np.testing.assert_array_equal(again[2], [1, 1])
    again[0][:] = 3
    np.testing.assert_array_equal(again[1], [0, 0])


def test_signature(scale: wg.Program) -> None:
    assert [p.name for p in scale.signature.arguments] == ["x", None, None]
    assert [p.name for p in scale.signature.results] == ["result[0]", "result[1]"]
    assert [p.shape for p in scale.signature.arguments] == [(3,), (), ()]
    assert [p.dtype.name for p in scale.signature.arguments] == ["float64", "int32", "float64"]
    assert "x: tensor<3xf64>" in repr(scale)
    assert "scale.mlir" in repr(scale)


def test_derivatives_name_their_arguments_and_results(scale: wg.Program) -> None:
    vjp = scale.vjp(wrt=(2, 0))
    assert [p.name for p in vjp.signature.arguments] == ["x", None, None, "cotangent of result[0]"]
    assert [p.name for p in vjp.signature.results] == ["result[0]", "result[1]", "cotangent of argument 2", "cotangent of x"]
    assert [p.name for p in scale.jvp().signature.arguments[3:]] == ["tangent of x", "tangent of argument 2"]
    assert vjp.jvp(wrt=0, of=3).signature.results[-1].name == "tangent of cotangent of x"


def test_jvp(scale: wg.Program) -> None:
    jvp = scale.jvp()
    v, w = np.array([1.0, -1.0, 0.5]), 0.25
    out, n, out_dot = jvp(X, N, Y, v, w)
    np.testing.assert_allclose(out, np.sin(X) * 2, rtol=1e-15)
    assert n == 5
    np.testing.assert_allclose(out_dot, np.cos(X) * v * 2 + np.sin(X) * w, rtol=1e-14)


def test_vjp(scale: wg.Program) -> None:
    vjp = scale.vjp()
    c = np.array([1.0, -1.0, 0.5])
    out, n, x_bar, y_bar = vjp(X, N, Y, c)
    np.testing.assert_allclose(out, np.sin(X) * 2, rtol=1e-15)
    assert n == 5
    np.testing.assert_allclose(x_bar, np.cos(X) * c * 2, rtol=1e-14)
    np.testing.assert_allclose(y_bar, np.sum(np.sin(X) * c), rtol=1e-14)
    assert y_bar.shape == ()


def test_wrt_and_of_choose_and_order(scale: wg.Program) -> None:
    assert len(scale.jvp(wrt=2).signature.arguments) == 4
    forward, swapped = scale.vjp(wrt=(0, 2)), scale.vjp(wrt=(2, 0))
    c = np.ones(3)
    np.testing.assert_array_equal(forward(X, N, Y, c)[2], swapped(X, N, Y, c)[3])
    assert scale.vjp(wrt=[0], of=[0]).signature.results[2].shape == (3,)
    assert scale.vjp(wrt=np.int64(0)) is scale.vjp(wrt=range(1))


def test_derivatives_nest(scale: wg.Program) -> None:
    hvp = scale.vjp(wrt=0).jvp(wrt=0, of=2)
    c, v = np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.5, 1.0])
    *_, actual = hvp(X, N, Y, c, v)
    np.testing.assert_allclose(actual, -np.sin(X) * c * v * 2, rtol=1e-13)
    reverse_over_reverse = scale.vjp(wrt=0).vjp(wrt=0, of=2)
    np.testing.assert_allclose(reverse_over_reverse(X, N, Y, c, v)[-1], -np.sin(X) * c * v * 2, rtol=1e-13)
    forward_over_forward = scale.jvp(wrt=0).jvp(wrt=0, of=2)
    np.testing.assert_allclose(forward_over_forward(X, N, Y, c, v)[-1], -np.sin(X) * c * v * 2, rtol=1e-13)


def test_what_was_made_is_kept(scale: wg.Program) -> None:
    assert scale.vjp() is scale.vjp(wrt=(0, 2), of=0)
    assert scale.compile() is scale.compile("cpu")
    assert scale.compile() is not scale.compile("interpreter")


@pytest.mark.parametrize(
    ("wrt", "of", "message"),
    [
        (3, None, "wrt: there is no argument 3; the program has 0 to 2"),
        (-1, None, "wrt: there is no argument -1"),
        (1, None, "wrt: argument 1: tensor<i32> has no derivative"),
        ((0, 2, 0), None, "wrt names argument 0 twice"),
        ((), None, "wrt is empty"),
        ("x", None, "wrt takes positions of arguments, found 'x'"),
        (1.0, None, "wrt takes positions of arguments"),
        (True, None, "wrt takes positions of arguments, found True"),
        (None, 1, "of: result 1 (result[1]): tensor<i32> has no derivative"),
        (None, 2, "of: there is no result 2; the program has 0 to 1"),
        (None, (0, 0), "of names result 0 twice"),
    ],
)
def test_positions_that_make_no_sense(scale: wg.Program, wrt: Any, of: Any, message: str) -> None:
    for differentiate in (scale.jvp, scale.vjp):
        with pytest.raises(wg.InputError) as caught:
            differentiate(wrt=wrt, of=of)
        assert message in str(caught.value)


def test_nothing_to_differentiate() -> None:
    p = wg.parse("func.func public @main(%n: tensor<i32>) -> tensor<i32> { return %n : tensor<i32> }")
    with pytest.raises(wg.InputError, match="nothing to differentiate: no argument is of a float or complex type"):
        p.vjp()


def test_text_is_read_back(scale: wg.Program) -> None:
    text = str(scale)
    assert str(wg.parse(text)) == text
    assert "jax.result_info" in text
    derivative = scale.vjp()
    again = wg.parse(str(derivative))
    assert str(again) == str(derivative)
    c = np.ones(3)
    for a, b in zip(again(X, N, Y, c), derivative(X, N, Y, c), strict=True):
        np.testing.assert_array_equal(a, b)


def test_locations_and_generic_form_are_on_request(scale: wg.Program) -> None:
    assert "loc(" not in str(scale)
    assert "scale.mlir" in scale.text(locations=True)
    assert '"stablehlo.sine"' in scale.text(generic=True)


def test_derivatives_name_what_they_derive_from(scale: wg.Program) -> None:
    assert "scale.mlir" in scale.vjp().text(locations=True)


def test_save_and_load(scale: wg.Program, tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    scale.vjp().save(path)
    assert str(wg.load(path)) == str(scale.vjp())
    assert str(wg.load(str(path))) == str(scale.vjp())


def test_programs_are_values(scale: wg.Program) -> None:
    assert copy.copy(scale) is scale
    assert copy.deepcopy(scale) is scale
    before = str(scale)
    scale.vjp()
    scale.compile()
    assert str(scale) == before


def test_pickling(scale: wg.Program) -> None:
    for program in (scale, scale.vjp()):
        again = pickle.loads(pickle.dumps(program))
        assert str(again) == str(program)
        assert again.text(locations=True) == program.text(locations=True)
        assert again.signature == program.signature


def test_another_entry(tmp_path: Path) -> None:
    x = np.array([1.0, 2.0], np.float32)
    p = wg.parse(TWO, entry="squared")
    for backend in BACKENDS:
        np.testing.assert_array_equal(p.compile(backend)(x)[0], 4 * x * x)
    np.testing.assert_array_equal(p.jvp()(x, np.ones(2, np.float32))[1], 8 * x)
    np.testing.assert_array_equal(wg.parse(TWO, entry="twice")(x)[0], 2 * x)
    np.testing.assert_array_equal(wg.parse(TWO)(x)[0], 2 * x)


def test_missing_entry() -> None:
    with pytest.raises(wg.InputError, match="the module has no function @mian; did you mean 'main'"):
        wg.parse(TWO, entry="mian")
    with pytest.raises(wg.InputError, match="the module has no function @main; it has: none"):
        wg.parse("module {}")
    with pytest.raises(wg.InputError, match="it has: none"):
        wg.parse("module {module {}}")
    with pytest.raises(wg.InputError, match="only declared"):
        wg.parse("func.func private @main(tensor<f64>) -> tensor<f64>")


@pytest.mark.parametrize(
    ("backend", "message"),
    [("gpu", "there is no backend 'gpu'"), ("interpretr", "did you mean 'interpreter'?"), ("metal", "there is no backend 'metal'")],
)
def test_backends_that_do_not_exist(scale: wg.Program, backend: str, message: str) -> None:
    with pytest.raises(wg.InputError) as caught:
        scale.compile(backend)
    assert message in str(caught.value)


def test_unknown_options(scale: wg.Program) -> None:
    for backend in BACKENDS:
        with pytest.raises(wg.InputError, match="speed"):
            scale.compile(backend, speed=11)


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    with pytest.raises(FileNotFoundError):
        wg.load(path)
    path.write_bytes(b"ML\xefR\x01\x02")
    with pytest.raises(wg.DiagnosticError, match=r"p\.mlir: error: the bytecode is damaged.*at byte"):
        wg.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(wg.InputError, match="is not UTF-8 text"):
        wg.load(path)
    path.write_text("func.func")
    with pytest.raises(wg.DiagnosticError, match=r"p\.mlir:1:"):
        wg.load(path)


def test_dumps(scale: wg.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scale.vjp()
    scale.vjp(dump_dir=tmp_path / "vjp")
    names = [p.name for p in (tmp_path / "vjp").iterdir()]
    assert "index.md" in names
    assert any("vjp" in n for n in names)
    scale.compile(dump_dir=tmp_path / "cpu")
    assert {"ll", "md", "mlir"} <= {p.name.rsplit(".", 1)[1] for p in (tmp_path / "cpu").iterdir()}


def test_dumps_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = wg.parse(SCALE)
    program(X, N, Y)
    monkeypatch.setenv("WENGERT_DUMP_DIR", str(tmp_path / "env"))
    program(X, N, Y)
    program(X, N, Y)
    program.vjp().compile()
    assert sorted(p.name for p in (tmp_path / "env").iterdir()) == ["00-compile-cpu", "01-vjp", "02-compile-cpu"]


def test_public_names() -> None:
    for name in wg.__all__:
        assert getattr(wg, name) is not None
    assert set(wg.__all__) <= set(dir(wg))
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        wg.lod  # noqa: B018
