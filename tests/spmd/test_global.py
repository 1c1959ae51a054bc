"""Programs on whole tensors: wg.spmd and sdy.manual_computation, on devices and all together on one, against the same function without a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from spmd_programs import CHANNEL, DEVICES, groups, reducer

import wengert as wg

W, X, Y = (np.random.default_rng(0).standard_normal(shape) for shape in ((3,), (8, 3), (8,)))


def loss(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((np.tanh(x @ w) - y) ** 2))


def gradient(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    t = np.tanh(x @ w)
    return x.T @ (2 * (t - y) * (1 - t * t)) / len(y)


def data_parallel() -> wg.SpmdProgram:
    return wg.spmd(wg.load("examples/data_parallel_loss.mlir"), {"x": 2}, in_specs=[None, ("x", None), "x"], out_specs=[None])


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_the_gradient_of_a_whole_loss(backend: str, strategy: str) -> None:
    f = data_parallel()
    assert np.isclose(f.distribute(backend=backend)(W, X, Y)[0], loss(W, X, Y), rtol=1e-14)
    value, w_bar, x_bar = f.vjp(wrt=(0, 1), strategy=strategy).distribute(backend=backend)(W, X, Y, 1.0)
    assert np.isclose(value, loss(W, X, Y))
    np.testing.assert_allclose(w_bar, gradient(W, X, Y), rtol=1e-13)
    assert x_bar.shape == X.shape
    v = np.ones(3)
    tangent = f.jvp(wrt=0).distribute(backend=backend)(W, X, Y, v)[1]
    assert np.isclose(tangent, gradient(W, X, Y) @ v)
    hvp = f.vjp(wrt=0).jvp(wrt=0).distribute(backend=backend)(W, X, Y, 1.0, v)[-1]
    np.testing.assert_allclose(hvp, (gradient(W + 1e-6 * v, X, Y) - gradient(W - 1e-6 * v, X, Y)) / 2e-6, rtol=1e-6)


def test_the_text_is_a_manual_computation_that_runs_on_one_device() -> None:
    f = data_parallel()
    for program, inputs in ((f, (W, X, Y)), (f.vjp(wrt=0), (W, X, Y, 1.0))):
        p = wg.parse(program.text())
        assert "sdy.manual_computation" in program.text()
        for run in (p, p.compile("interpreter"), wg.spmd(p)):
            for got, wanted in zip(run(*inputs), program(*inputs), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-13)
    np.testing.assert_allclose(wg.parse(f.text()).vjp(wrt=0)(W, X, Y, 1.0)[1], gradient(W, X, Y), rtol=1e-13)
    assert wg.parse(f.text()).check(W, X, Y).ok


def manual(body: str, inputs: str, outputs: str, arguments: str, types: str, mesh: str = '["a"=2, "b"=2]', axes: str = '"a", "b"') -> str:
    given, made = types.split(" -> ")
    return f"""sdy.mesh @m = <{mesh}>
    func.func public @main(%x: {given}) -> {made} {{
      %0 = sdy.manual_computation(%x) in_shardings=[{inputs}] out_shardings=[{outputs}] manual_axes={{{axes}}} ({arguments}) {{
        {body}
      }} : ({given}) -> {made}
      return %0 : {made}
    }}"""


SUM = reducer("add")
BODIES = {
    "sum of rows": manual(
        f"""%s = "stablehlo.all_reduce"(%b) <{{{groups([[0, 1], [2, 3]])}, {DEVICES}}}> {SUM} : (tensor<2x1xf64>) -> tensor<2x1xf64>
        %t = stablehlo.sine %s : tensor<2x1xf64>
        sdy.return %t : tensor<2x1xf64>""",
        '<@m, [{"a"}, {"b"}]>',
        '<@m, [{"a"}, {}]>',
        "%b: tensor<2x1xf64>",
        "tensor<4x2xf64> -> tensor<4x1xf64>",
    ),
    "both axes on one dimension": manual(
        f"""%g = "stablehlo.all_gather"(%b) <{{all_gather_dim = 0 : i64, {groups([[0, 2], [1, 3]])}, {DEVICES}}}> : (tensor<1x2xf64>) -> tensor<2x2xf64>
        %t = stablehlo.multiply %g, %g : tensor<2x2xf64>
        sdy.return %t : tensor<2x2xf64>""",
        '<@m, [{"b", "a"}, {}]>',
        '<@m, [{"b"}, {}]>',
        "%b: tensor<1x2xf64>",
        "tensor<4x2xf64> -> tensor<4x2xf64>",
    ),
    "one axis only": manual(
        f"""%s = "stablehlo.reduce_scatter"(%b) <{{scatter_dimension = 1 : i64, {groups([[0, 2], [1, 3]])}, {DEVICES}}}> {SUM} : (tensor<2x4xf64>) -> tensor<2x2xf64>
        %t = stablehlo.sine %s : tensor<2x2xf64>
        sdy.return %t : tensor<2x2xf64>""",
        '<@m, [{"a"}, {}]>',
        '<@m, [{}, {"a"}]>',
        "%b: tensor<2x4xf64>",
        "tensor<4x4xf64> -> tensor<2x4xf64>",
        axes='"a"',
    ),
    "devices in another order": manual(
        f"""%p = "stablehlo.collective_permute"(%b) <{{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>, {CHANNEL}}}> : (tensor<1xf64>) -> tensor<1xf64>
        %t = stablehlo.sine %p : tensor<1xf64>
        sdy.return %t : tensor<1xf64>""",
        '<@m, [{"a"}]>',
        '<@m, [{"a"}]>',
        "%b: tensor<1xf64>",
        "tensor<4xf64> -> tensor<4xf64>",
        mesh='["a"=4], device_ids=[3, 2, 1, 0]',
        axes='"a"',
    ),
    "an exchange by devices": manual(
        f"""%i = stablehlo.partition_id : tensor<ui32>
        %n = stablehlo.convert %i : (tensor<ui32>) -> tensor<f64>
        %w = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
        %v = stablehlo.multiply %b, %w : tensor<1x4xf64>
        %e = "stablehlo.all_to_all"(%v) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, {groups([[0, 1, 2, 3]])}, {CHANNEL}}}> : (tensor<1x4xf64>) -> tensor<4x1xf64>
        %t = stablehlo.sine %e : tensor<4x1xf64>
        sdy.return %t : tensor<4x1xf64>""",
        '<@m, [{"a", "b"}, {}]>',
        '<@m, [{}, {"a", "b"}]>',
        "%b: tensor<1x4xf64>",
        "tensor<4x4xf64> -> tensor<4x4xf64>",
    ),
}


def expected(name: str, x: np.ndarray) -> np.ndarray:
    if name == "sum of rows":
        return np.sin(x.sum(1, keepdims=True))
    if name == "both axes on one dimension":
        return x * x
    if name == "one axis only":
        return np.sin(x[:2] + x[2:])
    if name == "devices in another order":
        return np.sin(np.array([x[1], x[2], x[3], 0.0]))
    return np.sin(x * np.arange(4.0)[:, None])


@pytest.mark.parametrize("name", BODIES)
def test_manual_computations(name: str) -> None:
    p, rng = wg.parse(BODIES[name]), np.random.default_rng(1)
    x = rng.standard_normal(p.signature.arguments[0].shape)
    whole, wanted = wg.spmd(p), expected(name, x)
    y_bar = rng.standard_normal(wanted.shape)
    for run in (p, whole, whole.distribute(backend="interpreter")):
        np.testing.assert_allclose(run(x)[0], wanted, rtol=1e-13)
    gradients = [q.vjp(strategy=strategy)(x, y_bar)[1] for q in (p, whole) for strategy in ("transpose", "direct")]
    for x_bar in gradients[1:]:
        np.testing.assert_allclose(x_bar, gradients[0], rtol=1e-12, atol=1e-14)
    assert p.check(x).ok


def test_what_is_around_manual_computations_is_computed_by_every_device() -> None:
    text = BODIES["sum of rows"].replace("return %0 : tensor<4x1xf64>", "%1 = stablehlo.multiply %0, %0 : tensor<4x1xf64>\n return %1 : tensor<4x1xf64>")
    p, x = wg.parse(text), np.random.default_rng(2).standard_normal((4, 2))
    for run in (p, wg.spmd(p)):
        np.testing.assert_allclose(run(x)[0], expected("sum of rows", x) ** 2, rtol=1e-13)
    y_bar = np.ones((4, 1))
    np.testing.assert_allclose(wg.spmd(p).vjp()(x, y_bar)[1], p.vjp()(x, y_bar)[1], rtol=1e-12)


def test_a_collective_that_devices_do_not_all_reach_is_refused_on_one_device_too() -> None:
    body = f"""%i = stablehlo.partition_id : tensor<ui32>
        %z = stablehlo.constant dense<0> : tensor<ui32>
        %c = stablehlo.compare EQ, %i, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %r = "stablehlo.if"(%c) ({{
          %s = "stablehlo.all_reduce"(%b) <{{{groups([[0, 1, 2, 3]])}, {DEVICES}}}> {SUM} : (tensor<1xf64>) -> tensor<1xf64>
          stablehlo.return %s : tensor<1xf64>
        }}, {{
          stablehlo.return %b : tensor<1xf64>
        }}) : (tensor<i1>) -> tensor<1xf64>
        sdy.return %r : tensor<1xf64>"""
    text = manual(body, '<@m, [{"a", "b"}]>', '<@m, [{"a", "b"}]>', "%b: tensor<1xf64>", "tensor<4xf64> -> tensor<4xf64>")
    for run in (lambda: wg.parse(text)(np.ones(4)), lambda: wg.spmd(wg.parse(text))(np.ones(4))):
        with pytest.raises(wg.DiagnosticError, match="stands under a condition that may differ between devices 0 and 1"):
            run()


def test_no_more_is_communicated_than_has_to_be() -> None:
    """A data-parallel gradient takes one sum of the loss and one of the gradient: the cotangent of the loss is the same everywhere."""
    v = data_parallel().vjp(wrt=0)
    assert [op.name for op in v.local.optimized_module.walk() if op.name.startswith("core.all")] == ["core.all_reduce"] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"x": 2}, [None, "y", "x"], [None]), r"in_specs\[1\] names an axis 'y' that the mesh does not have \(it has x\)"),
        (({"x": 2}, [None, ("x", "x"), "x"], [None]), r"in_specs\[1\] names the axis 'x' twice"),
        (({"x": 2}, [None, "x"], [None]), "in_specs needs an entry for each of 3 arguments, found 2"),
        (({"x": 2}, [None, "x", ("x", None)], [None]), r"in_specs\[2\] has 2 dimensions, and argument 2: .* has 1"),
        (({"x": 0}, None, None), "a mesh has axes of one device or more"),
    ],
)
def test_specs_that_do_not_fit(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(wg.InputError, match=message):
        wg.spmd(wg.load("examples/data_parallel_loss.mlir"), *arguments)


def test_whole_arrays_that_do_not_fit() -> None:
    with pytest.raises(wg.InputError, match=r"argument 1: expected float64\[8, 3\], found float64\[4, 3\]"):
        data_parallel()(W, X[:4], Y)
    with pytest.raises(wg.InputError, match="says of no mesh of devices"):
        wg.spmd(wg.load("examples/mlp.mlir"))


def chained(between: str, split: str = '{"x"}') -> str:
    """Two manual computations, the second one of what the first gives and ops make of it."""
    return f"""sdy.mesh @m = <["x"=4]>
func.func public @main(%x: tensor<8x4xf64>, %y: tensor<8x4xf64>) -> tensor<8x4xf64> {{
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{{"x"}}, {{}}]>] out_shardings=[<@m, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%b: tensor<2x4xf64>) {{
    %1 = stablehlo.sine %b : tensor<2x4xf64>
    sdy.return %1 : tensor<2x4xf64>
  }} : (tensor<8x4xf64>) -> tensor<8x4xf64>
{between}
  %2 = sdy.manual_computation(%v) in_shardings=[<@m, [{split}, {{}}]>] out_shardings=[<@m, [{split}, {{}}]>] manual_axes={{"x"}} (%b: tensor<SHAPExf64>) {{
    %3 = stablehlo.multiply %b, %b : tensor<SHAPExf64>
    sdy.return %3 : tensor<SHAPExf64>
  }} : (tensor<8x4xf64>) -> tensor<8x4xf64>
  return %2 : tensor<8x4xf64>
}}""".replace("SHAPE", "2x4" if "x" in split else "8x4")


ELEMENTWISE = "  %u = stablehlo.multiply %0, %y : tensor<8x4xf64>\n  %v = stablehlo.cosine %u : tensor<8x4xf64>"
REVERSED = "  %v = stablehlo.reverse %0, dims = [0] : tensor<8x4xf64>"


@pytest.mark.parametrize(
    ("between", "split", "value", "gathers"),
    [
        (ELEMENTWISE, '{"x"}', lambda x, y: np.cos(np.sin(x) * y) ** 2, 1),
        (REVERSED, '{"x"}', lambda x, y: np.sin(x)[::-1] ** 2, 2),
        (ELEMENTWISE, "{}", lambda x, y: np.cos(np.sin(x) * y) ** 2, 1),
    ],
)
def test_blocks_go_from_one_manual_computation_to_the_next(between, split, value, gathers) -> None:
    """Not gathered are those that the next one takes as they are, or after elementwise ops; what the program gives is."""
    p, rng = wg.parse(chained(between, split)), np.random.default_rng(0)
    whole, x, y, bar = wg.spmd(p), *(rng.standard_normal((8, 4)) for _ in range(3))
    local = whole.local.apply("to-core,simplify,cse,dce")
    assert sum("all_gather" in op.name for op in local.module.walk()) == gathers
    for run in (p, whole):
        np.testing.assert_allclose(run(x, y)[0], value(x, y), rtol=1e-14)
    for wanted, actual in zip(p.vjp()(x, y, bar), whole.vjp()(x, y, bar), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-14)
