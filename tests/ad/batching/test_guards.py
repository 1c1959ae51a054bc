"""Batched loops and branches, reversed where what is computed for the other batch elements has an infinite or undefined derivative."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import ad, core
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.derive import jvp, vjp

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import random_like
from batch_checks import Arrays, batched, check_batch, check_derivatives, loop, made, stacked, subsets

STEP = """
    %s = stablehlo.sqrt %x : tensor<f64>
    %l = stablehlo.log %x : tensor<f64>
    %a = stablehlo.multiply %s, %k : tensor<f64>
    %b = stablehlo.multiply %l, %k : tensor<f64>
    %c = stablehlo.add %a, %b : tensor<f64>
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %d = stablehlo.subtract %c, %one : tensor<f64>
    %e = stablehlo.maximum %d, %zero : tensor<f64>
"""
"""What is infinitely steep at 0, where the loops below end."""

WHILE = f"""
func.func public @main(%x0: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.while(%x = %x0) : tensor<f64>
  cond {{
    %p = stablehlo.compare GT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    {STEP}
    stablehlo.return %e : tensor<f64>
  }}
  %1 = stablehlo.add %0, %x0 : tensor<f64>
  return %1 : tensor<f64>
}}
"""

SECANT = """
func.func public @main(%p: tensor<f64>, %a: tensor<f64>) -> tensor<f64> {
  %tiny = stablehlo.constant dense<1.0e-3> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %q = stablehlo.add %p, %one : tensor<f64>
  %0:2 = stablehlo.while(%x = %p, %y = %q) : tensor<f64>, tensor<f64>
  cond {
    %d = stablehlo.subtract %y, %x : tensor<f64>
    %e = stablehlo.abs %d : tensor<f64>
    %h = stablehlo.compare GT, %e, %tiny : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %h : tensor<i1>
  } do {
    %xx = stablehlo.multiply %x, %x : tensor<f64>
    %yy = stablehlo.multiply %y, %y : tensor<f64>
    %f = stablehlo.subtract %xx, %a : tensor<f64>
    %g = stablehlo.subtract %yy, %a : tensor<f64>
    %df = stablehlo.subtract %g, %f : tensor<f64>
    %d = stablehlo.subtract %y, %x : tensor<f64>
    %r = stablehlo.divide %d, %df : tensor<f64>
    %m = stablehlo.multiply %g, %r : tensor<f64>
    %z = stablehlo.subtract %y, %m : tensor<f64>
    stablehlo.return %y, %z : tensor<f64>, tensor<f64>
  }
  return %0#1 : tensor<f64>
}
"""
"""A batch element that starts in the root is done at once; what it would compute next is 0 / 0."""

COUNTED = f"""
func.func public @main(%x0: tensor<f64>, %k: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %i0 = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%x = %x0, %i = %i0) : tensor<f64>, tensor<i64>
  cond {{
    %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    {STEP}
    %unit = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %unit : tensor<i64>
    stablehlo.return %e, %j : tensor<f64>, tensor<i64>
  }}
  return %0#0 : tensor<f64>
}}
"""

BRANCH = f"""
func.func public @main(%x: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.compare GT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({{
    {STEP}
    stablehlo.return %e : tensor<f64>
  }}, {{
    %s = stablehlo.sine %x : tensor<f64>
    %a = stablehlo.multiply %s, %k : tensor<f64>
    stablehlo.return %a : tensor<f64>
  }}) : (tensor<i1>) -> tensor<f64>
  return %0 : tensor<f64>
}}
"""

LOOP_IN_BRANCH = WHILE.replace("%0 = stablehlo.while", "%two = stablehlo.constant dense<2.0> : tensor<f64>\n  %0 = stablehlo.while").replace(
    "    stablehlo.return %e : tensor<f64>",
    """    %h = stablehlo.compare GT, %e, %two : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %t = "stablehlo.if"(%h) ({
      %u = stablehlo.subtract %e, %two : tensor<f64>
      %v = stablehlo.sqrt %u : tensor<f64>
      %w = stablehlo.multiply %v, %k : tensor<f64>
      stablehlo.return %w : tensor<f64>
    }, {
      stablehlo.return %e : tensor<f64>
    }) : (tensor<i1>) -> tensor<f64>
    stablehlo.return %t : tensor<f64>""",
)

COUNTED_IN_BRANCH = f"""
func.func public @main(%x: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %i0 = stablehlo.constant dense<0> : tensor<i64>
  %p = stablehlo.compare GT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({{
    {STEP}
    %r:2 = stablehlo.while(%y = %e, %i = %i0) : tensor<f64>, tensor<i64>
    cond {{
      %three = stablehlo.constant dense<3> : tensor<i64>
      %q = stablehlo.compare LT, %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    }} do {{
      %u = stablehlo.multiply %y, %k : tensor<f64>
      %v = stablehlo.sqrt %u : tensor<f64>
      %unit = stablehlo.constant dense<1> : tensor<i64>
      %j = stablehlo.add %i, %unit : tensor<i64>
      stablehlo.return %v, %j : tensor<f64>, tensor<i64>
    }}
    stablehlo.return %r#0 : tensor<f64>
  }}, {{
    stablehlo.return %x : tensor<f64>
  }}) : (tensor<i1>) -> tensor<f64>
  return %0 : tensor<f64>
}}
"""

CASES: dict[str, tuple[str, list[list[float]]]] = {
    "while": (WHILE, [[9.0, 0.0, 2.0], [1.1, 1.2, 1.3]]),
    "while, no iterations": (WHILE, [[0.0, 0.0, 0.0], [1.1, 1.2, 1.3]]),
    "secant": (SECANT, [[1.0, 1.9, 2.5], [4.0, 4.0, 5.0]]),
    "counted": (COUNTED, [[9.0, 0.0, 2.0], [1.1, 1.2, 1.3], [2, 0, 1]]),
    "branch": (BRANCH, [[3.0, 0.0, -1.0], [1.1, 1.2, 1.3]]),
    "branch, not taken": (BRANCH, [[0.0, 0.0, -1.0], [1.1, 1.2, 1.3]]),
    "counted in branch": (COUNTED_IN_BRANCH, [[3.0, 0.0, 9.0], [1.1, 1.2, 1.3]]),
    "branch in while": (LOOP_IN_BRANCH, [[9.0, 0.0, 2.0], [1.4, 1.2, 1.3]]),
}
everything = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def batch_of(name: str) -> list[Arrays]:
    return [[np.array(value) for value in values] for values in CASES[name][1]]


def direct(module: object) -> None:
    vjp(module, strategy="direct")  # pyright: ignore[reportArgumentType]


@everything
def test_reverse_mode_of_the_batched_program(name: str) -> None:
    """As the loop over batch elements, for every choice of batched arguments; the others' cotangents are sums over batch elements."""
    module, elements = parse_module(CASES[name][0]), batch_of(name)
    for flags in subsets(len(elements)):
        if name != "counted" or flags[0]:
            check_derivatives(module, elements, flags, np.random.default_rng(0))


@everything
@pytest.mark.parametrize("mode", [vjp, direct], ids=["transpose", "direct"])
def test_second_derivatives(name: str, mode: object) -> None:
    """Forward over reverse of the batched program equals that of each batch element."""
    module, elements = parse_module(CASES[name][0]), batch_of(name)
    flags = [True] * len(elements)
    rng = np.random.default_rng(1)
    bars = [random_like([np.zeros(())] * 3, rng)]
    real = [i for i, values in enumerate(elements) if values[0].dtype.kind == "f"]
    dots = [random_like([np.zeros(())] * 3, rng) for _ in range(len(real) + 1)]
    given = [*elements, *bars, *dots]
    actual = run(made(made(batched(module, 3, flags), mode), jvp), stacked(given, [True] * len(given)))  # pyright: ignore[reportArgumentType]
    expected = loop(made(made(module, vjp), jvp), given, [True] * len(given))
    for k, results in enumerate(expected):
        for a, b in zip(actual, results, strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_compiled(strategy: object) -> None:
    text, values = CASES["while"]
    p, bars = wg.parse(text), np.array([1.0, 2.0, 3.0])
    x, k = np.array(values[0]), np.array(1.2)
    actual = p.vmap([0, None], size=3).vjp(strategy=strategy).compile("cpu")(x, k, bars)  # pyright: ignore[reportArgumentType]
    each = [p.vjp().compile("interpreter")(x[i], k, bars[i]) for i in range(3)]
    np.testing.assert_allclose(actual[1], [e[1] for e in each], rtol=1e-12)
    np.testing.assert_allclose(actual[2], sum(e[2] for e in each), rtol=1e-12)


def test_batched_twice() -> None:
    module = parse_module(WHILE)
    x = np.array([[9.0, 0.0, 2.0], [0.0, 3.0, 5.0]])
    inner = batched(module, 3, [True, False])
    check_batch(inner, [list(x), [np.array(1.1), np.array(1.2)]], [True, True])
    check_derivatives(inner, [list(x), [np.array(1.1), np.array(1.2)]], [True, True], np.random.default_rng(2))


def test_guards_cost_nothing_where_nothing_is_reversed() -> None:
    p = wg.parse(WHILE).vmap(size=3)
    assert any(isinstance(op, ad.GuardOp) for op in p.module.walk())
    for q in (p, p.jvp()):
        text = q.text()
        assert "ad." not in text
        assert "dynamic_slice" not in text


MATRIX = """
func.func public @main(%x0: tensor<8xf64>, %w: tensor<8x8xf64>) -> tensor<8xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.while(%x = %x0) : tensor<8xf64>
  cond {
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
    %p = stablehlo.compare GT, %s, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<8x8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %s = stablehlo.sine %a : tensor<8xf64>
    stablehlo.return %s : tensor<8xf64>
  }
  return %0 : tensor<8xf64>
}
"""


@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_what_a_loop_does_not_change_is_not_kept(wrt: tuple[int, ...], strategy: object) -> None:
    """What stands in for a matrix is read again in the reverse loop: of each iteration its number is kept, and the mask."""
    reverse = wg.parse(MATRIX).vmap(size=4).vjp(wrt=wrt, strategy=strategy)  # pyright: ignore[reportArgumentType]
    tapes = {str(r.type) for op in reverse.module.walk() for r in op.results if isinstance(r.type, core.TapeType)}
    assert tapes == {"!core.tape<tensor<4x8xf64>>", "!core.tape<tensor<4xi1>>", "!core.tape<tensor<i64>>"}


BAD = """
func.func public @main(%x: tensor<3xf64>, %m: tensor<{mask}>) -> tensor<3xf64> {{
  %0 = ad.guard %x, %m : (tensor<3xf64>, tensor<{mask}>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}}
"""


def test_syntax_and_types() -> None:
    module = parse_module(BAD.format(mask="3xi1"))
    verify(module)
    assert "ad.guard %x, %m : (tensor<3xf64>, tensor<3xi1>) -> tensor<3xf64>" in print_module(module)
    for mask in ("2xi1", "3x1xi1", "3xi32"):
        with pytest.raises(DiagnosticError, match=r"ad\.guard.*mask"):
            verify(parse_module(BAD.format(mask=mask)))


def test_a_guard_is_the_identity() -> None:
    """A guard is the identity; its cotangent is that of the batch elements that matter."""
    p = wg.parse(BAD.format(mask="3xi1"))
    x, mask, bar = np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.array([0.1, 0.2, 0.3])
    for backend in ("interpreter", "cpu"):
        np.testing.assert_array_equal(p.compile(backend)(x, mask)[0], x)
        np.testing.assert_array_equal(p.jvp().compile(backend)(x, mask, bar)[1], bar)
        np.testing.assert_array_equal(p.vjp().compile(backend)(x, mask, bar)[1], bar * mask)
        np.testing.assert_array_equal(p.vjp(strategy="direct").compile(backend)(x, mask, bar)[1], bar * mask)
