"""Programs and derivatives written as linalg, and read back."""

from __future__ import annotations

import numpy as np
import pytest
from upstream_texts import LOOPS_AND_BRANCHES

import wengert as wg
from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.transforms.pipelines import TO_UPSTREAM, parse_pipeline

RNG = np.random.default_rng(5)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 3))


def written(program: wg.Program) -> str:
    return print_module(parse_pipeline(TO_UPSTREAM).run(copy_module(program.core_module)))


def check(text: str, *inputs: object, vjp: bool = True) -> None:
    """A program, and its reverse derivative, compute the same after they were written and read back."""
    program = wg.parse(text)
    programs = [(program, list(inputs))]
    if vjp:
        seeds = [RNG.standard_normal(p.shape) for p in program.signature.results if p.differentiable]
        programs.append((program.vjp(), [*inputs, *seeds]))
    for one, given in programs:
        back = written(one)
        assert "stablehlo" not in back
        assert "jax." not in back
        expected, results = one.compile("interpreter")(*given), wg.parse(back).compile("interpreter")(*given)
        for a, b in zip(expected, results, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def function(body: str, arguments: str = "%x: tensor<3x4xf64>, %y: tensor<4x3xf64>", result: str = "tensor<3x4xf64>") -> str:
    return f"func.func public @main({arguments}) -> {result} {{\n{body}\n}}"


def test_elementwise() -> None:
    body = "%0 = stablehlo.sine %x : tensor<3x4xf64>"
    for number, op in enumerate(("tanh", "logistic", "exponential", "negate", "sign", "abs", "cosine", "floor", "cbrt", "exponential_minus_one")):
        body += f"\n%{number + 1} = stablehlo.{op} %{number} : tensor<3x4xf64>"
    check(function(body + "\nreturn %10 : tensor<3x4xf64>", "%x: tensor<3x4xf64>"), X)


def test_shapes() -> None:
    check(function("""%t = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf64>) -> tensor<3x4xf64>
      %a = stablehlo.concatenate %x, %t, dim = 0 : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<6x4xf64>
      %s = stablehlo.slice %a [1:6:2, 0:4] : (tensor<6x4xf64>) -> tensor<3x4xf64>
      %r = stablehlo.reverse %s, dims = [0, 1] : tensor<3x4xf64>
      %z = stablehlo.constant dense<2.0> : tensor<f64>
      %p = stablehlo.pad %r, %z, low = [1, -1], high = [-1, 2], interior = [1, 0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<5x5xf64>
      %q = stablehlo.slice %p [0:3, 0:4] : (tensor<5x5xf64>) -> tensor<3x4xf64>
      %f = stablehlo.reshape %q : (tensor<3x4xf64>) -> tensor<2x6xf64>
      %g = stablehlo.reshape %f : (tensor<2x6xf64>) -> tensor<3x4xf64>
      %b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f64>) -> tensor<3x4xf64>
      %m = stablehlo.multiply %g, %b : tensor<3x4xf64>
      return %m : tensor<3x4xf64>"""), X, Y)  # fmt: skip


def test_contractions_and_reductions() -> None:
    check(function("""%d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xf64>, tensor<4x3xf64>) -> tensor<3x3xf64>
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %r = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<3xf64>
      %n = stablehlo.constant dense<-9.0> : tensor<f64>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
      %s = stablehlo.add %r, %m : tensor<3xf64>
      return %s : tensor<3xf64>""", result="tensor<3xf64>"), X, Y)  # fmt: skip


def test_loops_branches_and_computed_positions() -> None:
    program = wg.parse(LOOPS_AND_BRANCHES)
    for x in (np.array([0.3, 0.7, 0.9, 0.2]), -np.array([0.3, 0.7, 0.9, 0.2])):
        for one, given in ((program, [x, 2]), (program.vjp(wrt=[0]), [x, 2, 1.5]), (program.jvp(wrt=[0]), [x, 2, x])):
            expected, results = one(*given), wg.parse(written(one))(*given)
            for a, b in zip(expected, results, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "x", "w", "out"),
    [
        ("conv_2d_nhwc_hwcf", (1, 6, 7, 2), (3, 2, 2, 3), (1, 2, 6, 3)),
        ("depthwise_conv_2d_nhwc_hwc", (2, 6, 7, 3), (3, 2, 3), (2, 2, 6, 3)),
        ("depthwise_conv_2d_nhwc_hwcm", (2, 6, 7, 3), (3, 2, 3, 2), (2, 2, 6, 3, 2)),
    ],
)
def test_convolutions(name: str, x: tuple[int, ...], w: tuple[int, ...], out: tuple[int, ...]) -> None:
    types = ["tensor<" + "".join(f"{n}x" for n in shape) + "f64>" for shape in (x, w, out)]
    text = f"""func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
      %z = arith.constant dense<0.0> : {types[2]}
      %y = linalg.{name} {{strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}} ins(%x, %w : {types[0]}, {types[1]}) outs(%z : {types[2]}) -> {types[2]}
      return %y : {types[2]} }}"""
    check(text, RNG.standard_normal(x), RNG.standard_normal(w))


def test_gather_scatter_and_complex_numbers() -> None:
    text = """func.func @main(%x: tensor<4xf64>, %i: tensor<3x1xindex>) -> tensor<3xf64> {
      %g = tensor.gather %x[%i] gather_dims([0]) : (tensor<4xf64>, tensor<3x1xindex>) -> tensor<3xf64>
      %y = math.exp %g : tensor<3xf64>
      return %y : tensor<3xf64> }"""
    program = wg.parse(text)
    x, i = np.array([0.1, 0.2, 0.3, 0.4]), np.array([[3], [1], [3]])
    vjp = program.vjp(wrt=[0])
    for a, b in zip(vjp(x, i, np.ones(3)), wg.parse(written(vjp))(x, i, np.ones(3)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
    z = np.array([0.5 - 0.25j, 1.0 + 2.0j])
    one = wg.parse(
        "func.func @main(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> { %y = stablehlo.exponential %z : tensor<2xcomplex<f64>> return %y : tensor<2xcomplex<f64>> }"
    )
    np.testing.assert_allclose(wg.parse(written(one))(z)[0], np.exp(z), rtol=1e-12)


@pytest.mark.parametrize(("op", "message"), [
    ("%y = chlo.lgamma %x : tensor<4xf64> -> tensor<4xf64>", r"chlo\.lgamma: this op is not written in upstream dialects"),
    ('%y = "stablehlo.custom_call"(%x) {call_target_name = "mine"} : (tensor<4xf64>) -> tensor<4xf64>', r"stablehlo\.custom_call: this op is not written"),
])  # fmt: skip
def test_what_is_not_written_is_refused_by_name(op: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        written(wg.parse(f"func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {{\n{op}\nreturn %y : tensor<4xf64>\n}}"))


def test_upstream_programs_are_read_first() -> None:
    module = parse_module("func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> { %y = math.sin %x : tensor<4xf64> return %y : tensor<4xf64> }")
    with pytest.raises(DiagnosticError, match=r"math\.sin: this op is not written") as refused:
        parse_pipeline("to-linalg").run(copy_module(module))
    assert "hint: it is upstream's already; from-upstream" in refused.value.render()
    assert "math.sin" in print_module(parse_pipeline(f"from-upstream,{TO_UPSTREAM}").run(module))


def test_tapes_are_tensors_of_open_extent() -> None:
    program = wg.parse("""func.func @main(%x: f64, %n: index) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
        %b = math.sin %a : f64
        scf.yield %b : f64
      }
      return %r : f64 }""")
    text = written(program.vjp(wrt=[0]))
    assert "tensor<?xf64>" in text
    assert "core." not in text
