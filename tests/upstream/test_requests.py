"""Requests of Enzyme and LAGrad inside of a text."""

from __future__ import annotations

import numpy as np
import pytest
from tests.upstream.support import check, run

from wengert.ir.diagnostics import DiagnosticError

FUNCTIONS = """func.func private @f(%x: f64, %y: f64) -> f64 {
  %0 = arith.mulf %x, %y : f64
  %1 = math.sin %0 : f64
  return %1 : f64
}
func.func private @scale(%x: memref<3xf64>, %s: f64, %o: memref<3xf64>) {
  affine.for %i = 0 to 3 {
    %a = affine.load %x[%i] : memref<3xf64>
    %b = arith.mulf %a, %a : f64
    %c = arith.mulf %b, %s : f64
    affine.store %c, %o[%i] : memref<3xf64>
  }
  return
}
func.func private @dot(%x: tensor<3xf64>, %y: tensor<3xf64>) -> f64 {
  %z = arith.constant dense<0.0> : tensor<f64>
  %d = linalg.dot ins(%x, %y : tensor<3xf64>, tensor<3xf64>) outs(%z : tensor<f64>) -> tensor<f64>
  %e = tensor.extract %d[] : tensor<f64>
  return %e : f64
}
"""
X, Y, DX, DY = 0.7, 1.3, 0.5, -0.25
VALUE, BY_X, BY_Y = np.sin(X * Y), Y * np.cos(X * Y), X * np.cos(X * Y)
SPELLINGS = ["#enzyme<activity enzyme_{}>", "#enzyme.activity<enzyme_{}>", "#enzyme<activity {}>"]


def main(arguments: str, results: str, body: str) -> str:
    return f"{FUNCTIONS}func.func @main({arguments}) -> ({results}) {{\n  {body}\n}}"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("braces", ["{{{}}}", "<{{{}}}>", "<{}>"])
def test_forward_mode(spelling: str, braces: str) -> None:
    def asked(*words: str) -> str:
        return "[" + ", ".join(spelling.format(word) for word in words) + "]"

    both = braces.format(f"activity = {asked('dup', 'const')}, ret_activity = {asked('dup')}")
    alone = braces.format(f"activity = {asked('dup', 'dup')}, ret_activity = {asked('dupnoneed')}")
    text = main("%x: f64, %y: f64, %dx: f64, %dy: f64", "f64, f64, f64", f"""%a:2 = enzyme.fwddiff @f(%x, %dx, %y) {both} : (f64, f64, f64) -> (f64, f64)
  %b = enzyme.fwddiff @f(%x, %dx, %y, %dy) {alone} : (f64, f64, f64, f64) -> f64
  return %a#0, %a#1, %b : f64, f64, f64""")  # fmt: skip
    check(text, [X, Y, DX, DY], VALUE, BY_X * DX, BY_X * DX + BY_Y * DY)


def test_older_texts_do_not_say_what_results_are() -> None:
    text = main("%x: f64, %y: f64, %d: f64", "f64, f64", """%a = enzyme.fwddiff @f(%x, %d, %y) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>]} : (f64, f64, f64) -> f64
  %b = enzyme.autodiff @f(%x, %y, %d) {activity = [#enzyme<activity enzyme_out>, #enzyme<activity enzyme_const>]} : (f64, f64, f64) -> f64
  return %a, %b : f64, f64""")  # fmt: skip
    check(text, [X, Y, DX], BY_X * DX, BY_X * DX)


def test_reverse_mode() -> None:
    text = main("%x: f64, %y: f64, %d: f64", "f64, f64, f64, f64", """%a:3 = enzyme.autodiff @f(%x, %y, %d) {
    activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_active>], ret_activity = [#enzyme<activity enzyme_active>]
  } : (f64, f64, f64) -> (f64, f64, f64)
  %b = "enzyme.autodiff"(%x, %y, %d) <{activity = [#enzyme<activity enzyme_const>, #enzyme<activity enzyme_active>], fn = @f, ret_activity = [#enzyme<activity enzyme_activenoneed>], width = 1 : i64}> : (f64, f64, f64) -> f64
  return %a#0, %a#1, %a#2, %b : f64, f64, f64, f64""")  # fmt: skip
    check(text, [X, Y, DX], VALUE, DX * BY_X, DX * BY_Y, DX * BY_Y)


M, S = np.array([1.0, 2, 3]), 0.5


def test_buffers_have_shadows() -> None:
    dup, const, active = (f"#enzyme<activity enzyme_{word}>" for word in ("dup", "const", "active"))
    arguments = "%m: memref<3xf64>, %dm: memref<3xf64>, %s: f64, %o: memref<3xf64>, %do: memref<3xf64>"
    types = "memref<3xf64>, memref<3xf64>, f64, memref<3xf64>, memref<3xf64>"
    reverse = main(arguments, "f64", f"""%r = enzyme.autodiff @scale(%m, %dm, %s, %o, %do) {{activity = [{dup}, {active}, {dup}], ret_activity = []}} : ({types}) -> f64
  return %r : f64""")  # fmt: skip
    shadow, seed = np.full(3, 0.1), np.array([1.0, -1, 2])
    check(reverse, [M, shadow, S, np.zeros(3), seed], (seed * M * M).sum(), shadow + 2 * S * M * seed, S * M * M, np.zeros(3))
    forward = main(arguments, "", f"""enzyme.fwddiff @scale(%m, %dm, %s, %o, %do) {{activity = [{dup}, {const}, {dup}], ret_activity = []}} : ({types}) -> ()
  return""")  # fmt: skip
    check(forward, [M, shadow, S, np.zeros(3), seed], S * M * M, 2 * S * M * shadow)


def test_requests_in_loops_and_of_requests() -> None:
    text = main("%x: f64, %y: f64", "f64, f64", """%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f64
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (f64) {
    %d = enzyme.autodiff @f(%a, %y, %one) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (f64, f64, f64) -> f64
    scf.yield %d : f64
  }
  %h = enzyme.fwddiff @g(%x, %one, %y) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_dupnoneed>]} : (f64, f64, f64) -> f64
  return %r, %h : f64, f64""")  # fmt: skip
    gradient = """func.func private @g(%x: f64, %y: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = enzyme.autodiff @f(%x, %y, %one) {activity = [#enzyme<activity enzyme_active>, #enzyme<activity enzyme_const>], ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (f64, f64, f64) -> f64
  return %d : f64
}
"""
    a = X
    for _ in range(3):
        a = Y * np.cos(a * Y)
    check(gradient + text, [X, Y], a, -Y * Y * np.sin(X * Y))


def test_lagrad() -> None:
    x, y, d = np.array([1.0, 2, 3]), np.array([-1.0, 0.5, 2]), np.array([0.1, 0.2, 0.3])
    t = "tensor<3xf64>"
    text = main(f"%x: {t}, %y: {t}, %d: {t}, %g: f64", f"{t}, {t}, {t}, f64", f"""%a = lagrad.grad @dot(%x, %y) : ({t}, {t}) -> {t}
  %b = lagrad.grad @dot(%x, %y) {{of = [1]}} : ({t}, {t}) -> {t}
  %c = lagrad.grad @dot(%x, %y, %g) {{of = [0], grad_signal}} : ({t}, {t}, f64) -> {t}
  %e = lagrad.tangent @dot(%x, %y, %d) {{of = [1]}} : ({t}, {t}, {t}) -> f64
  return %a, %b, %c, %e : {t}, {t}, {t}, f64""")  # fmt: skip
    check(text, [x, y, d, 2.0], y, x, 2 * y, x @ d)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            "%a = enzyme.fwddiff @f(%x, %x, %x) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_dup>]} : (f64, f64, f64) -> f64",
            "too few operands",
        ),
        ("%a = enzyme.fwddiff @f(%x, %x, %x) {activity = [#enzyme<activity enzyme_dup>]} : (f64, f64, f64) -> f64", "must say 2 activities, found 1"),
        ("%a = enzyme.fwddiff @g(%x) {activity = [#enzyme<activity enzyme_dup>]} : (f64) -> f64", "there is no function @g with a body"),
        (
            "%a = enzyme.autodiff @f(%x, %x, %x, %x) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], "
            "ret_activity = [#enzyme<activity enzyme_activenoneed>]} : (f64, f64, f64, f64) -> f64",
            "argument 0 is dup, which in reverse mode only a buffer can be",
        ),
        (
            "%a = enzyme.fwddiff @f(%x, %x, %x) {activity = [#enzyme<activity enzyme_dup>, #enzyme<activity enzyme_const>], width = 2} : (f64, f64, f64) -> f64",
            "a width of 2 is not supported",
        ),
        ("%a = enzyme.fwddiff @main(%x, %x) {activity = [#enzyme<activity enzyme_dup>]} : (f64, f64) -> f64", "is asked for in its own body"),
    ],
)
def test_mistakes(request_: str, message: str) -> None:
    text = main("%x: f64", "f64", f"{request_}\n  return %x : f64")
    with pytest.raises(DiagnosticError) as raised:
        run(text, 1.0)
    assert message in str(raised.value)
    assert str(raised.value).startswith("test.mlir:")
