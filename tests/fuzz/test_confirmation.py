"""Differences that are rounding, amplified, are no findings; those of a wrong op or a wrong program are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from fuzz.case import Case, in_wide_arithmetic, interpreted, lowered, noise_of
from fuzz.checks.check import Check
from fuzz.execution import Amplified, assert_executes, wrong_op
from fuzz.generator import Program, generate
from fuzz.judgement import assert_agree
from fuzz.trial import Finding, Rounding, attempt
from fuzz.wide.formats import copies
from fuzz.wide.machine import wide_run
from wengert.lab.agreement.agreement import Mismatch
from wengert.lab.agreement.noise.machine import noisy_run

CHAOTIC = """func.func public @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {{
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %r = stablehlo.constant dense<3.99> : tensor<3xf32>
  %y0 = stablehlo.{function} %x : tensor<3xf32>
{steps}
  %c = stablehlo.compare LT, %y{n}, %half : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %y{n}, %c : tensor<3xf32>, tensor<3xi1>
}}"""
STEP = """  %a{i} = stablehlo.subtract %one, %y{i} : tensor<3xf32>
  %b{i} = stablehlo.multiply %y{i}, %a{i} : tensor<3xf32>
  %y{j} = stablehlo.multiply %r, %b{i} : tensor<3xf32>"""
X = np.array([0.3, 0.6, 0.9], np.float32)


def chaotic(n: int, function: str = "sine") -> wg.Program:
    """Steps of y -> 3.99 y (1 - y), each of which doubles an error."""
    return wg.parse(CHAOTIC.format(n=n, function=function, steps="\n".join(STEP.format(i=i, j=i + 1) for i in range(n))))


def rounding_otherwise(program: wg.Program, inputs: Sequence[Any]) -> Sequence[Any]:
    """An executor whose last bits are others."""
    return noisy_run(lowered(program), inputs, 101, 1.0)


def with_cosines(program: wg.Program, inputs: Sequence[Any]) -> Sequence[Any]:
    """An executor that has cosines for sines."""
    return rounding_otherwise(wg.parse(program.text().replace("stablehlo.sine", "stablehlo.cosine")), inputs)


def test_an_executor_that_rounds_otherwise_has_no_wrong_op() -> None:
    program = chaotic(40)
    given = rounding_otherwise(program, [X])
    assert np.abs(given[0] - interpreted(program, [X])[0]).max() > 0.1
    assert wrong_op(rounding_otherwise, program, [X], given) is None


def test_an_executor_with_a_wrong_op_is_told_which() -> None:
    program = chaotic(40)
    assert "stablehlo.sine" in str(wrong_op(with_cosines, program, [X], with_cosines(program, [X])))


def test_what_is_not_seen_again_is_not_explained() -> None:
    def first_call_only(program: wg.Program, inputs: Sequence[Any]) -> Sequence[Any]:
        results = interpreted(program, inputs)
        return [results[0] + (len(results) == 2), *results[1:]]

    program = chaotic(2)
    assert "not seen" in str(wrong_op(first_call_only, program, [X], first_call_only(program, [X])))
    with pytest.raises(Mismatch, match="a test") as error:
        assert_executes("a test", first_call_only, program, [X])
    assert "not seen" in error.value.details


def test_a_difference_that_no_noisy_run_shows_is_looked_at_op_by_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the judge did not know what the program amplifies."""
    monkeypatch.setattr("fuzz.execution.noise_of", lambda program, inputs, flushing: lambda seed: interpreted(program, inputs))
    with pytest.raises(Amplified):
        assert_executes("a test", rounding_otherwise, chaotic(40), [X])
    with pytest.raises(Mismatch) as error:
        assert_executes("a test", with_cosines, chaotic(40), [X])
    assert "stablehlo.sine" in error.value.details


ORDER = """func.func public @main(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<i1>, tensor<f32>) {
  %y = stablehlo.add %x, %x : tensor<f32>
  %c = stablehlo.compare LT, %y, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %o = stablehlo.tanh %x : tensor<f32>
  return %c, %o : tensor<i1>, tensor<f32>
}"""


@pytest.mark.parametrize("units", [1, 1000])
def test_an_order_of_nearly_equal_numbers_is_looked_at_with_its_operands(units: int) -> None:
    """Where all values are results the kernels are others, and round as the interpreter does."""
    x = np.float32(0.3)
    y = x + x
    k = y + np.spacing(y)

    def with_few_results(program: wg.Program, inputs: Sequence[Any]) -> Sequence[Any]:
        results = list(interpreted(program, inputs))
        off = np.asarray(y + units * np.spacing(y))
        return results if len(results) == 5 else [off < k, results[1], *[off, off < k][: len(results) - 2]]

    program = wg.parse(ORDER)
    given = with_few_results(program, [x, k])
    assert bool(given[0]) != bool(interpreted(program, [x, k])[0])
    assert "not seen" in str(wrong_op(with_few_results, program, [x, k], given))
    fault = wrong_op(with_few_results, program, [x, k], given, result=0)
    assert fault is None if units == 1 else "stablehlo.add" in str(fault)


@pytest.mark.parametrize(("op", "x", "given"), [("atan2 %x, %x", 1e-310, np.nan), ("divide %x, %x", 1e-310, np.nan), ("atan2 %x, %x", 1e-300, np.nan)])
def test_what_is_made_of_subnormal_operands_by_who_has_none(op: str, x: float, given: float) -> None:
    program = wg.parse(f"func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {{\n  %0 = stablehlo.{op} : tensor<2xf64>\n  return %0 : tensor<2xf64>\n}}")
    inputs = [np.array([x, 0.5])]

    def execute(program: wg.Program, inputs: Sequence[Any]) -> Sequence[Any]:
        return [np.where(np.arange(2) == 0, given, y) for y in interpreted(program, inputs)]

    assert (wrong_op(execute, program, inputs, execute(program, inputs), flushing=True) is None) == (x < np.finfo(np.float64).tiny)
    assert wrong_op(execute, program, inputs, execute(program, inputs)) is not None


def test_the_factor_of_a_matrix_that_has_none_may_be_anything() -> None:
    text = "func.func public @main(%x: tensor<2x2x2xf64>) -> tensor<2x2x2xf64> {\n  %0 = stablehlo.cholesky %x, lower = false : tensor<2x2x2xf64>\n  return %0 : tensor<2x2x2xf64>\n}"
    inputs = [np.stack([-np.eye(2), np.eye(2)])]
    for wrong in (0, 1):

        def execute(program: wg.Program, inputs: Sequence[Any], wrong: int = wrong) -> Sequence[Any]:
            return [np.where(np.arange(2)[:, None, None] == wrong, 7.0, y) for y in interpreted(program, inputs)]

        fault = wrong_op(execute, wg.parse(text), inputs, execute(wg.parse(text), inputs))
        assert (fault is None) == (wrong == 0)


# -- wide arithmetic

PRODUCT = """func.func public @main(%x: tensor<{e}>, %y: tensor<{e}>, %z: tensor<{e}>) -> tensor<{e}> {{
  %0 = stablehlo.multiply %x, %y : tensor<{e}>
  %1 = stablehlo.multiply %0, %z : tensor<{e}>
  return %1 : tensor<{e}>
}}"""


def comparing(other: Callable[[str], str]) -> Check:
    """The check that a program computes the same as another one, by a judge who knows no noise."""

    def run(case: Case) -> None:
        second = wg.parse(other(case.text))
        assert_agree("two ways", interpreted(second, case.inputs), case.outputs, lambda seed: case.outputs)

    return Check("two-ways", run)


@pytest.mark.parametrize(("element", "dtype", "large"), [("f32", np.float32, 3e38), ("f64", np.float64, 1e308)])
def test_what_leaves_the_range_of_a_format_on_one_way_is_no_finding(element: str, dtype: Any, large: float) -> None:
    program = Program(PRODUCT.format(e=element), tuple(np.array(x, dtype) for x in (large, 100.0, 0.001)))
    assert isinstance(attempt(Case(program), comparing(lambda text: text.replace("%x, %y", "%x, %z").replace("%0, %z", "%0, %y"))), Rounding)
    assert isinstance(attempt(Case(program), comparing(lambda text: text.replace("%0, %z", "%y, %z"))), Finding)


def test_a_wrong_program_is_wrong_in_wide_arithmetic() -> None:
    program = Program(PRODUCT.format(e="f32"), tuple(np.array(x, np.float32) for x in (1.1, 2.3, 0.7)))
    assert isinstance(attempt(Case(program), comparing(lambda text: text.replace("multiply %0", "add %0"))), Finding)
    assert attempt(Case(program), comparing(lambda text: text.replace("%0, %z", "%z, %0"))) is None


def test_special_functions_are_exact_in_wide_arithmetic() -> None:
    text = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  %0 = chlo.{} %x : tensor<2xf32> -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}"
    x = np.array([0.375, 1.5], np.float32)
    for name, function in {"erf": mpmath.erf, "lgamma": mpmath.loggamma, "digamma": mpmath.digamma}.items():
        [y] = wide_run(copies(wg.parse(text.format(name)).module), [x])
        assert y.dtype == np.longdouble
        with mpmath.workprec(100):
            for ours, at in zip(y, x, strict=True):
                exact = function(mpmath.mpf(float(at)))
                assert abs((mpmath.mpf(str(ours)) - exact) / exact) < 4 * float(np.finfo(np.longdouble).eps)


def test_programs_and_derivatives_are_the_same_in_wide_arithmetic_but_for_rounding() -> None:
    for seed in range(25):
        case = Case(generate(seed))
        assert_agree(f"{seed}", _narrow(wide_run(copies(lowered(case.program)), case.inputs), case.outputs), case.outputs, case.noisy)
        if case.is_differentiable:
            given = [*case.inputs, *case.y_bars]
            assert_agree(f"{seed}", _narrow(wide_run(copies(lowered(case.vjp)), given), case.reverse), case.reverse, noise_of(case.vjp, given))


def _narrow(wide: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        return [x.astype(y.dtype) for x, y in zip(wide, like, strict=True)]


def test_cases_in_wide_arithmetic_have_the_same_directions() -> None:
    program = next(p for p in map(generate, range(100)) if "f32" in p.text and Case(p).is_differentiable)
    case = Case(program)
    with in_wide_arithmetic():
        wide = Case(program)
        assert wide.outputs[case.asked[0]].dtype in (np.longdouble, np.clongdouble)
        for a, b in zip([*case.x_dots, *case.y_bars], [*wide.x_dots, *wide.y_bars], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


OTHER_WAY = """func.func public @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %factor = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<f32>
  %1 = stablehlo.compare GT, %0, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = stablehlo.multiply %y, %factor : tensor<f32>
  %3 = stablehlo.select %1, %zero, %2 : tensor<i1>, tensor<f32>
  return %3 : tensor<f32>
}"""


def test_where_wide_arithmetic_takes_another_way_it_says_nothing() -> None:
    """The square vanishes in f32 only, so that the mistake is nowhere to be seen in wide arithmetic."""
    program = Program(OTHER_WAY, (np.array(1e-30, np.float32), np.array(1.1, np.float32)))
    assert isinstance(attempt(Case(program), comparing(lambda text: text.replace("dense<3.0>", "dense<6.0>"))), Finding)


def test_the_comparison_that_fails_is_the_one_that_is_made_again() -> None:
    """Others of the same check hold in one arithmetic and not in the other."""

    def run(case: Case) -> None:
        assert_agree("first", case.outputs, case.outputs, lambda seed: case.outputs)
        assert_agree("second", [2 * x for x in case.outputs], case.outputs, lambda seed: case.outputs)

    program = Program(PRODUCT.format(e="f32"), tuple(np.array(x, np.float32) for x in (1.1, 2.3, 0.7)))
    outcome = attempt(Case(program), Check("two", run))
    assert isinstance(outcome, Finding)
    assert outcome.what.startswith("second")


@pytest.mark.parametrize("mantissa", [7, 37])
def test_a_rounding_within_the_program_is_finer_in_wide_arithmetic(mantissa: int) -> None:
    """On one way the rounding comes before a factor, on the other behind it, as with tangents in the two modes."""
    text = f"""func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {{
  %0 = stablehlo.reduce_precision %x, format = e11m{mantissa} : tensor<f64>
  %1 = stablehlo.multiply %0, %y : tensor<f64>
  return %1 : tensor<f64>
}}"""
    other = f"""func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {{
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  %1 = stablehlo.reduce_precision %0, format = e11m{mantissa} : tensor<f64>
  return %1 : tensor<f64>
}}"""
    program = Program(text, (np.array(1 / 3), np.array(1.7)))
    assert isinstance(attempt(Case(program), comparing(lambda _: other)), Rounding)
    assert isinstance(attempt(Case(program), comparing(lambda text: other.replace("%0 = stablehlo.multiply", "%0 = stablehlo.add"))), Finding)
