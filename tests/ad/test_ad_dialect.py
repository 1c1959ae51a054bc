"""Derivatives requested in the text: they expand, nest, and stand where calls may stand; functions declare their own."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import stablehlo
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.derive import jvp, vjp
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.lower import lower_ad, uses_ad
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.pipelines import OPTIMIZE, parse_pipeline

CUBE = """
func.func private @f(%x: tensor<f64>, %c: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.multiply %x, %x : tensor<f64>
  %1 = stablehlo.multiply %0, %x : tensor<f64>
  %2 = stablehlo.multiply %1, %c : tensor<f64>
  return %2 : tensor<f64>
}
"""
JVP = (
    CUBE
    + """
func.func public @main(%x: tensor<f64>, %c: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y, %d = ad.jvp @f(%x, %c) tangents(%t) wrt = [0], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %y, %d : tensor<f64>, tensor<f64>
}
"""
)
VJP = (
    CUBE
    + """
func.func public @main(%x: tensor<f64>, %c: tensor<f64>, %u: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %y, %d:2 = ad.vjp @f(%x, %c) cotangents(%u) wrt = [0, 1], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>)
  return %y, %d#0, %d#1 : tensor<f64>, tensor<f64>, tensor<f64>
}
"""
)
NESTED = (
    CUBE
    + """
func.func private @g(%x: tensor<f64>, %c: tensor<f64>) -> tensor<f64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %y, %d = ad.vjp @f(%x, %c) cotangents(%one) wrt = [0], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %d : tensor<f64>
}
func.func public @main(%x: tensor<f64>, %c: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y, %d = ad.jvp @g(%x, %c) tangents(%t) wrt = [0], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %y, %d : tensor<f64>, tensor<f64>
}
"""
)
LINEARIZE = (
    CUBE
    + """
func.func public @main(%x: tensor<f64>, %c: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %y, %l = ad.linearize @f(%x, %c) wrt = [0], of = [0] : (tensor<f64>, tensor<f64>) -> (tensor<f64>, !ad.linear<(tensor<f64>) -> tensor<f64>>)
  %a = ad.apply %l(%t) : (!ad.linear<(tensor<f64>) -> tensor<f64>>, tensor<f64>) -> tensor<f64>
  %b = ad.apply %l(%c) : (!ad.linear<(tensor<f64>) -> tensor<f64>>, tensor<f64>) -> tensor<f64>
  %u = ad.apply_transpose %l(%t) : (!ad.linear<(tensor<f64>) -> tensor<f64>>, tensor<f64>) -> tensor<f64>
  return %y, %a, %b, %u : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}
"""
)
STOP = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = ad.stop_gradient %x : tensor<f64>
  %1 = stablehlo.multiply %0, %x : tensor<f64>
  return %1 : tensor<f64>
}
"""
# derivatives that are wrong on purpose (twice and three times the true ones), so that it is seen whose are used
CUSTOM_JVP = """
func.func private @f(%x: tensor<f64>) -> tensor<f64> attributes {ad.custom_jvp = @f_jvp} {
  %0 = stablehlo.sine %x : tensor<f64>
  return %0 : tensor<f64>
}
func.func private @f_jvp(%x: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.cosine %x : tensor<f64>
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %2 = stablehlo.multiply %1, %two : tensor<f64>
  %3 = stablehlo.multiply %t, %2 : tensor<f64>
  return %0, %3 : tensor<f64>, tensor<f64>
}
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = call @f(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
CUSTOM_VJP = """
func.func private @f(%x: tensor<f64>, %n: tensor<i32>) -> tensor<f64> attributes {ad.custom_vjp = [@f_fwd, @f_bwd]} {
  %0 = stablehlo.sine %x : tensor<f64>
  return %0 : tensor<f64>
}
func.func private @f_fwd(%x: tensor<f64>, %n: tensor<i32>) -> (tensor<f64>, tensor<f64>) {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.cosine %x : tensor<f64>
  return %0, %1 : tensor<f64>, tensor<f64>
}
func.func private @f_bwd(%c: tensor<f64>, %u: tensor<f64>) -> tensor<f64> {
  %three = stablehlo.constant dense<3.0> : tensor<f64>
  %0 = stablehlo.multiply %c, %three : tensor<f64>
  %1 = stablehlo.multiply %0, %u : tensor<f64>
  return %1 : tensor<f64>
}
func.func public @main(%x: tensor<f64>, %n: tensor<i32>) -> tensor<f64> {
  %0 = call @f(%x, %n) : (tensor<f64>, tensor<i32>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
CHECKPOINT = """
func.func private @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %w : tensor<3xf64>
  %1 = stablehlo.sine %0 : tensor<3xf64>
  %2 = stablehlo.exponential %1 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
func.func public @main(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = ad.checkpoint @f(%x, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %1 = ad.checkpoint @f(%0, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
X, C, T = np.array(1.5), np.array(0.7), np.array(0.3)


@pytest.mark.parametrize("text", [JVP, VJP, NESTED, LINEARIZE, STOP, CUSTOM_JVP, CUSTOM_VJP, CHECKPOINT])
def test_text_round_trip(text: str) -> None:
    module = parse_module(text)
    verify(module)
    printed = print_module(module)
    assert print_module(parse_module(printed)) == printed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JVP, [X**3 * C, 3 * X**2 * C * T]),
        (VJP, [X**3 * C, 3 * X**2 * C * T, X**3 * T]),
        (NESTED, [3 * X**2 * C, 6 * X * C * T]),
        (LINEARIZE, [X**3 * C, 3 * X**2 * C * T, 3 * X**2 * C * C, 3 * X**2 * C * T]),
    ],
)
def test_requests_expand(text: str, expected: list[float]) -> None:
    module = parse_module(text)
    expand_ad(module)
    verify(module)
    assert not uses_ad(module)
    np.testing.assert_allclose(run(module, [X, C, T]), expected, rtol=1e-15)


def test_requests_are_differentiated() -> None:
    module = parse_module(JVP)
    vjp(module, wrt=[0], of=[1])
    actual = run(module, [X, C, T, np.array(1.0)])
    np.testing.assert_allclose(actual, [X**3 * C, 3 * X**2 * C * T, 6 * X * C * T], rtol=1e-15)


@pytest.mark.parametrize("mode", [jvp, vjp])
def test_stop_gradient(mode: object) -> None:
    module = parse_module(STOP)
    mode(module)  # type: ignore[operator]
    lower_ad(module)
    np.testing.assert_allclose(run(module, [X, T]), [X * X, X * T], rtol=1e-15)


@pytest.mark.parametrize("mode", [jvp, vjp])
def test_custom_jvp_serves_both_modes(mode: object) -> None:
    module = parse_module(CUSTOM_JVP)
    mode(module)  # type: ignore[operator]
    lower_ad(module)
    np.testing.assert_allclose(run(module, [X, T]), [np.sin(X), 2 * np.cos(X) * T], rtol=1e-15)


@pytest.mark.parametrize("mode", [jvp, vjp])
def test_custom_vjp_serves_both_modes(mode: object) -> None:
    module = parse_module(CUSTOM_VJP)
    mode(module)  # type: ignore[operator]
    lower_ad(module)
    verify(module)
    np.testing.assert_allclose(run(module, [X, np.array(1, np.int32), T]), [np.sin(X), 3 * np.cos(X) * T], rtol=1e-15)


def lowered(text: str, *modes: object) -> ModuleOp:
    module = parse_module(text)
    for mode in modes:
        mode(module)  # type: ignore[operator]
    lower_ad(module)
    verify(module)
    return module


@pytest.mark.parametrize("modes", [(), (jvp,), (vjp,), (vjp, jvp), (jvp, vjp), (vjp, vjp)])
def test_checkpoints_do_not_change_what_is_computed(modes: tuple[object, ...]) -> None:
    rng = np.random.default_rng(0)
    checked, plain = (lowered(text, *modes) for text in (CHECKPOINT, CHECKPOINT.replace("ad.checkpoint", "func.call")))
    inputs = [rng.normal(size=3) for _ in function_named(checked, "main").function_type.inputs]
    np.testing.assert_allclose(run(checked, inputs), run(plain, inputs), rtol=1e-14)


def test_checkpoints_are_computed_again() -> None:
    module = lowered(CHECKPOINT, vjp)
    parse_pipeline(OPTIMIZE).run(module)
    sines = sum(isinstance(op, stablehlo.SineOp) for op in module.walk())
    assert sines == 4, print_module(module)  # two forward, two again


def test_second_derivatives_of_custom_rules() -> None:
    module = parse_module(CUSTOM_VJP)
    vjp(module, wrt=[0])
    jvp(module, wrt=[0], of=[1])
    lower_ad(module)
    actual = run(module, [X, np.array(1, np.int32), np.array(1.0), T])
    np.testing.assert_allclose(actual[-1], -3 * np.sin(X) * T, rtol=1e-15)


RULE_THAT_CALLS = """
func.func private @f(%x: tensor<f64>) -> tensor<f64> attributes {ad.custom_jvp = @f_jvp} {
  %0 = stablehlo.sine %x : tensor<f64>
  return %0 : tensor<f64>
}
func.func private @f_jvp(%x: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y = stablehlo.cosine %x : tensor<f64>
  %0 = func.call @f(%x) : (tensor<f64>) -> tensor<f64>
  %1 = stablehlo.multiply %0, %t : tensor<f64>
  return %y, %1 : tensor<f64>, tensor<f64>
}
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = func.call @f(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
"""f = sin; its rule says cos for the value, and f (by its rule again) for the derivative."""


@pytest.mark.parametrize("modes", [(jvp, jvp), (jvp, vjp), (vjp, jvp), (vjp, vjp), (partial(vjp, strategy="direct"), partial(vjp, strategy="direct"))])
def test_values_and_coefficients_are_those_of_the_rule(modes: tuple[object, object]) -> None:
    """A rule may call functions on what is no tangent, its own too: f' = f, and f'' = f' = f by the rule."""
    module = parse_module(RULE_THAT_CALLS)
    modes[0](module, wrt=[0], of=[0])  # type: ignore[operator]
    modes[1](module, wrt=[0], of=[1])  # type: ignore[operator]
    lower_ad(module)
    verify(module)
    assert run(lowered(RULE_THAT_CALLS, jvp), [X, T])[0] == np.cos(X)
    np.testing.assert_allclose(run(module, [X, np.array(1.0), T])[-1], np.sin(X) * T, rtol=1e-15)


def test_a_custom_vjp_must_be_linear_to_serve_forward_mode() -> None:
    module = parse_module(CUSTOM_VJP.replace("%1 = stablehlo.multiply %0, %u", "%1 = stablehlo.sine %u"))
    with pytest.raises(DiagnosticError, match=r"stablehlo.sine is not a linear op"):
        jvp(module)


def test_derivatives_of_each_other_are_refused() -> None:
    text = NESTED.replace("ad.vjp @f(%x, %c)", "ad.vjp @g(%x, %c)")
    with pytest.raises(DiagnosticError, match=r"asks for a derivative of @g"):
        expand_ad(parse_module(text))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("@f(%x, %c) tangents", "@nobody(%x, %c) tangents"), "there is no function @nobody"),
        (
            (
                "wrt = [0], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)\n  return %y, %d",
                "wrt = [7], of = [0] : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)\n  return %y, %d",
            ),
            "wrt=7 is out of range",
        ),
    ],
)
def test_bad_requests(change: tuple[str, str], message: str) -> None:
    assert change[0] in JVP
    with pytest.raises(DiagnosticError, match=message):
        expand_ad(parse_module(JVP.replace(*change)))


@pytest.mark.parametrize("body", ["stablehlo.multiply %x, %y", "stablehlo.divide %x, %y", "stablehlo.divide %y, %x"])
def test_transposing_what_is_not_linear_is_refused(body: str) -> None:
    text = f"func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {{\n  %0 = {body} : tensor<f64>\n  return %0 : tensor<f64>\n}}"
    with pytest.raises(DiagnosticError, match="is not linear in its operands"):
        parse_pipeline("transpose{fn=main wrt=0,1}").run(parse_module(text))
