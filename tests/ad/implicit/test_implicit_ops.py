"""Values that are given by equations, in text: derivatives of both modes and all nestings, batches, errors, and that nothing of the solver is kept."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from implicit_programs import AUX, FIXED_POINT, MAP, PROGRAMS, ROOT, ImplicitProgram, linear_solve, solver

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.analysis.program_cost import measured, program_cost
from wengert.transforms.pipelines import parse_pipeline

EACH = pytest.mark.parametrize("given", PROGRAMS, ids=lambda p: p.name)
STRATEGIES = pytest.mark.parametrize("strategy", ["transpose", "direct"])


def derivative(given: ImplicitProgram, inputs, tangents):
    """The derivative along tangents, by a complex step."""
    step = 1e-30
    return given.reference(*(x + 1j * step * t for x, t in zip(inputs, tangents, strict=True))).imag / step


def second(given: ImplicitProgram, inputs, tangents):
    """The derivative of the derivative along tangents, by differences of complex steps."""
    h = 1e-5
    moved = [derivative(given, [x + sign * h * t for x, t in zip(inputs, tangents, strict=True)], tangents) for sign in (1, -1)]
    return (moved[0] - moved[1]) / (2 * h)


@EACH
def test_text_round_trip(given: ImplicitProgram) -> None:
    module = parse_module(given.text)
    verify(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    assert print_module(parse_module(print_module(module, generic=True))) == print_module(module)


@EACH
def test_values(given: ImplicitProgram) -> None:
    program, inputs = wg.parse(given.text), given.inputs()
    np.testing.assert_allclose(program(*inputs)[0], given.reference(*inputs), rtol=1e-12)
    np.testing.assert_allclose(program.compile()(*inputs)[0], given.reference(*inputs), rtol=1e-12)


@EACH
@STRATEGIES
def test_both_modes(given: ImplicitProgram, strategy: str) -> None:
    program, inputs, tangents = wg.parse(given.text), given.inputs(), given.inputs(1)
    expected = derivative(given, inputs, tangents)
    count = len(program.signature.results)
    forward = program.jvp(of=(0,))
    reverse = program.vjp(of=(0,), strategy=strategy)
    y_bar = np.cos(np.arange(expected.size)).reshape(expected.shape)
    for run_forward, run_reverse in ((forward, reverse), (forward.compile(), reverse.compile())):
        np.testing.assert_allclose(run_forward(*inputs, *tangents)[count], expected, rtol=1e-10)
        x_bars = run_reverse(*inputs, y_bar)[count:]
        assert sum(np.vdot(a, b) for a, b in zip(x_bars, tangents, strict=True)) == pytest.approx(np.vdot(y_bar, expected), rel=1e-10)


@EACH
@pytest.mark.parametrize("inner", ["jvp", "transpose", "direct"])
@pytest.mark.parametrize("outer", ["jvp", "transpose", "direct"])
def test_nested(given: ImplicitProgram, inner: str, outer: str) -> None:
    program, inputs, tangents = wg.parse(given.text), given.inputs(), given.inputs(1)
    n, count = len(inputs), len(program.signature.results)
    shape = given.reference(*inputs).shape
    y_bar = np.cos(np.arange(int(np.prod(shape)))).reshape(shape)
    expected = np.vdot(y_bar, second(given, inputs, tangents))
    # the derivative of the first derivative along (tangents, 0): of y_bar . y' t, or of the gradient of y_bar . y, times t
    if inner == "jvp":
        first, point, tangent = program.jvp(of=(0,)), [*inputs, *tangents], [np.zeros_like(t) for t in tangents]
        weights = [y_bar]
    else:
        first, point, tangent = program.vjp(of=(0,), strategy=inner), [*inputs, y_bar], [np.zeros_like(y_bar)]
        weights = tangents
    of = tuple(range(count, count + len(weights)))
    wrt = tuple(range(n))
    total = len(first.signature.results)
    if outer == "jvp":
        results = first.jvp(wrt=wrt, of=of)(*point, *tangents)[total:]
        pairing = sum(np.vdot(w, r) for w, r in zip(weights, results, strict=True))
    else:
        results = first.vjp(wrt=wrt, of=of, strategy=outer)(*point, *weights)[total:]
        pairing = sum(np.vdot(t, r) for t, r in zip(tangents, results, strict=True))
    assert tangent
    assert pairing == pytest.approx(expected, rel=1e-6)


@EACH
def test_batches(given: ImplicitProgram) -> None:
    program, elements = wg.parse(given.text), [given.inputs(seed) for seed in range(3)]
    y_bars = [np.cos(np.arange(3.0) + k)[: given.shapes[-1][0]] for k in range(3)]
    for flags in itertools.product((True, False), repeat=len(given.shapes)):
        if not any(flags):
            continue
        inputs = [np.stack(column) if flag else column[0] for column, flag in zip(zip(*elements, strict=True), flags, strict=True)]
        one_by_one = [[x[k] if flag else x for x, flag in zip(inputs, flags, strict=True)] for k in range(3)]
        axes = tuple(0 if flag else None for flag in flags)
        batched = program.vmap(axes, size=3)
        np.testing.assert_allclose(batched(*inputs)[0], [given.reference(*e) for e in one_by_one], rtol=1e-11)
        reverse = program.vjp(of=(0,))
        both = reverse.vmap((*axes, 0), size=3)(*inputs, np.stack(y_bars))
        expected = [reverse(*e, y_bar) for e, y_bar in zip(one_by_one, y_bars, strict=True)]
        for j, result in enumerate(both):
            np.testing.assert_allclose(result, [e[j] for e in expected], rtol=1e-9, atol=1e-12)
        # the gradient of the batch: cotangents of what all batch elements share are summed
        summed = batched.vjp(of=(0,))(*inputs, np.stack(y_bars))
        for j, flag in enumerate(flags):
            parts = np.asarray([e[len(program.signature.results) + j] for e in expected])
            np.testing.assert_allclose(summed[len(program.signature.results) + j], parts if flag else parts.sum(0), rtol=1e-9, atol=1e-12)


@EACH
def test_nothing_of_the_solver_is_kept(given: ImplicitProgram) -> None:
    """No loop of a derivative carries a tape or an array with a row for each iteration."""
    for strategy in ("transpose", "direct"):
        text = str(wg.parse(given.text).vjp(of=(0,), strategy=strategy))
        assert "core.tape" not in text
        assert "dynamic_update_slice" not in text
        assert "<80x" not in text
        assert "<60x" not in text


def test_three_passes() -> None:
    """The halves of a derivative are text, in which the system is transposed by itself."""
    module = parse_module(PROGRAMS[1].text)
    parse_pipeline("linearize").run(module)
    assert print_module(module).count("ad.custom_linear_solve @a") == 2
    parse_pipeline("transpose").run(module)
    assert "transposed = true" in print_module(module)
    parse_pipeline("join").run(module)
    verify(module)
    inputs, tangents = PROGRAMS[1].inputs(), PROGRAMS[1].inputs(1)
    x_bars = wg.parse(print_module(module))(*inputs, np.ones(3))[1:]
    pairing = sum(np.vdot(a, b) for a, b in zip(x_bars, tangents, strict=True))
    assert pairing == pytest.approx(derivative(PROGRAMS[1], inputs, tangents).sum(), rel=1e-10)


def test_symmetric_systems_keep_their_solver() -> None:
    symmetric = linear_solve("solve = @jacobi, symmetric = true", solver("jacobi"))
    text = print_module(parse_pipeline("vjp").applied(parse_module(symmetric)))
    assert "transposed" not in text
    assert text.count("ad.custom_linear_solve") == 2
    m, s, b = PROGRAMS[0].inputs()
    m = m + m.T
    w = np.array([1.0, -2.0, 0.5])
    expected = wg.parse(PROGRAMS[0].text).vjp()(m, s, b, w)
    for result, value in zip(wg.parse(symmetric).vjp()(m, s, b, w), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-10)


def test_requests_in_equations() -> None:
    """An equation may ask for a derivative itself: the minimum of a function is a root of its gradient."""
    energy = """
func.func private @energy(%p: tensor<2xf64>, %q: tensor<2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
  %quarter = stablehlo.constant dense<0.25> : tensor<2xf64>
  %half = stablehlo.constant dense<0.5> : tensor<2xf64>
  %0 = stablehlo.multiply %x, %x : tensor<2xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<2xf64>
  %2 = stablehlo.multiply %quarter, %1 : tensor<2xf64>
  %3 = stablehlo.exponential %p : tensor<2xf64>
  %4 = stablehlo.multiply %3, %0 : tensor<2xf64>
  %5 = stablehlo.multiply %half, %4 : tensor<2xf64>
  %6 = stablehlo.multiply %q, %x : tensor<2xf64>
  %7 = stablehlo.add %2, %5 : tensor<2xf64>
  %8 = stablehlo.subtract %7, %6 : tensor<2xf64>
  return %8 : tensor<2xf64>
}
func.func private @f(%p: tensor<2xf64>, %q: tensor<2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<2xf64>
  %0:2 = ad.vjp @energy(%p, %q, %x) cotangents(%one) wrt = [2], of = [0] : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
  return %0#1 : tensor<2xf64>
}
"""  # fmt: skip
    text = energy + ROOT[ROOT.index("func.func private @slope") :]
    request = text.replace("public @main", "private @h") + """
func.func public @main(%p: tensor<2xf64>, %q: tensor<2xf64>, %x0: tensor<2xf64>, %u: tensor<2xf64>) -> tensor<2xf64> {
  %0:2 = ad.vjp @h(%p, %q, %x0) cotangents(%u) wrt = [0], of = [0] : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
  return %0#1 : tensor<2xf64>
}
"""  # fmt: skip
    inputs, u = PROGRAMS[3].inputs(), np.array([0.3, -1.0])
    expected = wg.parse(ROOT).vjp(wrt=(0,))(*inputs, u)[1]
    np.testing.assert_allclose(wg.parse(text).vjp(wrt=(0,))(*inputs, u)[1], expected, rtol=1e-10)
    np.testing.assert_allclose(wg.parse(request)(*inputs, u)[0], expected, rtol=1e-10)


def refused(text: str, pipeline: str = "") -> str:
    with pytest.raises(DiagnosticError) as caught:
        _run(text, pipeline)
    return str(caught.value)


def _run(text: str, pipeline: str) -> None:
    module = parse_module(text, "p.mlir")
    verify(module)
    parse_pipeline(pipeline).run(module)


def test_maps_that_are_not_linear_are_refused() -> None:
    good = PROGRAMS[0].text
    square = good.replace("stablehlo.multiply %2, %x", "stablehlo.multiply %x, %x")
    affine = good.replace("stablehlo.add %1, %3", "stablehlo.add %1, %2")
    for text, op in ((square, "stablehlo.multiply"), (affine, "stablehlo.add")):
        for pipeline in ("lower-ad", "jvp", "vjp", "vjp-direct"):
            message = refused(text, pipeline)
            assert message.startswith("p.mlir:")
            assert f"{op} is not linear in the unknown of @a" in message
            assert "ad.custom_root" in message


def test_wrong_types_and_names_are_refused() -> None:
    good = PROGRAMS[0].text
    assert "the right-hand side must have the types of the unknowns" in refused(
        good.replace("@a(%m, %s) rhs(%c)", "@a(%m, %c) rhs(%s)").replace(
            "tensor<f64>, tensor<3xf64>) -> tensor<3xf64>\n  %y", "tensor<3xf64>, tensor<f64>) -> tensor<3xf64>\n  %y"
        )
    )
    assert "@main" in refused(good.replace("solve = @jacobi", "solve = @main"))
    assert "@jacobi must take (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>)" in refused(
        good.replace("@jacobi(%m: tensor<3x3xf64>, %s: tensor<f64>", "@jacobi(%s: tensor<f64>, %m: tensor<3x3xf64>")
    )
    assert "there is no" in refused(good.replace("solve = @jacobi :", "solve = @jakobi :"))
    assert "an unknown must be of real or complex floating point" in refused(
        FIXED_POINT.replace("tensor<2xf64>", "tensor<2xi32>").replace("dense<0.5>", "dense<5>").replace("dense<1.0>", "dense<1>")
    )
    assert "needs 'tangent_solve = ...'" in refused(ROOT.replace(", tangent_solve = @tangent", ""))
    assert "aux says that 3 of 2 results" in refused(AUX.replace("aux = 1", "aux = 3"))


def test_solvers_without_a_transpose_are_refused() -> None:
    squares = solver("jacobi").replace("%y = stablehlo.divide %e, %dd", "%ee = stablehlo.multiply %e, %e : tensor<3xf64>\n      %y = stablehlo.divide %ee, %dd")
    text = linear_solve("solve = @jacobi", squares)
    assert "transpose_solve" in refused(text, "vjp,lower-ad")
    assert "which has results besides the solution" in refused(AUX.replace(", transpose_solve = @jacobi_t", ""), "vjp,lower-ad")


def test_a_system_in_a_loop_and_a_branch() -> None:
    """Bodies of loops may hold implicit functions; reverse mode keeps what the equation needs, once for each iteration."""
    text = (
        MAP
        + solver("jacobi")
        + """
func.func public @main(%m: tensor<3x3xf64>, %s: tensor<f64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %x = %b) : tensor<i64>, tensor<3xf64>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i64>
      %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i64>
      %v = stablehlo.sine %x : tensor<3xf64>
      %y = ad.custom_linear_solve @a(%m, %s) rhs(%v), solve = @jacobi : (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>) -> tensor<3xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %y : tensor<i64>, tensor<3xf64>
    }
  return %r#1 : tensor<3xf64>
}
"""
    )

    def reference(m, s, b):
        for _ in range(3):
            b = np.linalg.solve(np.tanh(m) / 4 + (4 + s**2) * np.eye(3), np.sin(b))
        return b

    given = ImplicitProgram("loop", text, reference, ((3, 3), (), (3,)))
    for strategy in ("transpose", "direct"):
        test_both_modes(given, strategy)
    test_batches(given)


@EACH
def test_costs_are_those_of_the_solvers(given: ImplicitProgram) -> None:
    """What is counted is what the interpreter executes, of programs and of both derivatives."""
    program, count = wg.parse(given.text), len(given.shapes)
    for derived, extra in ((program, []), (program.jvp(of=(0,)), given.inputs(1)), (program.vjp(of=(0,)), [np.ones(given.shapes[-1])])):
        counter, cost = Counter(), program_cost(derived.counted_module)
        run(derived.counted_module, [*given.inputs(), *extra], counter=counter)
        at = cost.at(measured(cost, counter.blocks))
        assert at.flops == counter.flops
        assert at.ops == dict(counter.ops)
        assert counter.flops > 10 * count
    assert "ad.custom" in print_module(program.optimized_module)


@EACH
def test_taylor_coefficients(given: ImplicitProgram) -> None:
    """Those of order 1 to 3, beside JVPs of JVPs."""
    program, inputs, tangents = wg.parse(given.text), given.inputs(), given.inputs(1)
    wrt = tuple(range(len(inputs)))
    coefficients = program.taylor(3, wrt, (0,))(*inputs, *tangents)[-1]
    nested, point, last = program, list(inputs), 0
    for j in range(1, 4):
        count = len(nested.signature.results)
        nested, point, last = nested.jvp(wrt, (last,)), [*point, *tangents], count
        np.testing.assert_allclose(coefficients[j - 1], nested(*point)[-1] / math.factorial(j), rtol=1e-9, atol=1e-12)
