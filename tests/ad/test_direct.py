"""Both strategies of reverse mode give the same: on every rule's cases, control flow, and the reference programs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from reference_programs import PROGRAMS, assert_agrees, share
from xdsl.dialects.builtin import ModuleOp

import wengert as wg
from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.locations import provenance
from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import run
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.derive import vjp
from wengert.transforms.ad.direct.adjoint import ADJOINTS, INACTIVE
from wengert.transforms.ad.direct.adjoint import STEPS as DIRECT_STEPS
from wengert.transforms.ad.rule import RULES, STEPS
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.core.to_core import to_core

sys.path.insert(0, str(Path(__file__).parent))
import loops_and_branches
from ad_checks import Arrays, active_arguments, active_results, assert_near, derived, differences, pairing, random_like

by_name = pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])


def direct(module: ModuleOp) -> None:
    vjp(module, strategy="direct")


def assert_same(actual: Arrays, expected: Arrays, tolerance: float = 1e-10) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert_near(actual, expected, tolerance)


def check_strategies(module: ModuleOp, inputs: Arrays, rng: np.random.Generator, *, against_differences: bool = True) -> Arrays:
    """The direct VJP equals the transposed one and the differences; returns the cotangents that were used."""
    outputs = run(module, inputs)
    y_bars = random_like([outputs[j] for j in active_results(module)], rng)
    actual = run(derived(module, direct), [*inputs, *y_bars])
    assert_same(actual, run(derived(module, vjp), [*inputs, *y_bars]))
    if against_differences:
        active = active_arguments(module)
        x_dots = random_like([inputs[i] for i in active], rng)
        expected = pairing(y_bars, differences(module, inputs, active, x_dots))
        assert abs(pairing(actual[len(outputs) :], x_dots) - expected) <= 1e-6 * max(1.0, abs(expected))
    return y_bars


def check_second_order(module: ModuleOp, inputs: Arrays, y_bars: Arrays, rng: np.random.Generator) -> None:
    """The two agree on the derivatives that either of them makes."""
    for mode in (vjp, direct):
        check_strategies(derived(module, mode), [*inputs, *y_bars], rng, against_differences=False)


@by_name
def test_cases(case: Case) -> None:
    rng = np.random.default_rng(1)
    module, inputs = case.module(), [arg.draw(rng) for arg in case.args]
    check_second_order(module, inputs, check_strategies(module, inputs, rng), rng)


@pytest.mark.parametrize("name", loops_and_branches.CASES)
def test_control_flow(name: str) -> None:
    text, inputs = loops_and_branches.CASES[name]
    rng = np.random.default_rng(3)
    module = parse_module(text)
    check_second_order(module, inputs, check_strategies(module, inputs, rng), rng)


@pytest.mark.parametrize("bound", [0, 1])
def test_loops_of_few_iterations(bound: int) -> None:
    text, inputs = loops_and_branches.CASES["counted"]
    rng = np.random.default_rng(3)
    module = parse_module(text.replace("dense<4>", f"dense<{bound}>"))
    check_second_order(module, inputs, check_strategies(module, inputs, rng), rng)


@pytest.mark.parametrize("trip_count", [-2, 0, 1, 6])
def test_bound_known_at_run_time(trip_count: int) -> None:
    text = loops_and_branches.COUNTED.replace("%w: tensor<3xf64>)", "%w: tensor<3xf64>, %bound: tensor<i64>)")
    text = text.replace("%n = stablehlo.constant dense<4> : tensor<i64>", "").replace("LT, %i, %n", "LT, %i, %bound")
    rng = np.random.default_rng(3)
    module, inputs = parse_module(text), [*loops_and_branches.CASES["counted"][1], np.array(trip_count)]
    check_second_order(module, inputs, check_strategies(module, inputs, rng), rng)


def test_every_op_with_a_rule_has_an_adjoint() -> None:
    missing = {op.name for op in (*RULES, *STEPS) if op not in ADJOINTS and op not in DIRECT_STEPS and op not in INACTIVE}
    assert not missing


KINKS = [
    ("maximum", (1.0, 1.0), (0.5, 0.5)),
    ("minimum", (1.0, 1.0), (0.5, 0.5)),
    ("abs", (0.0,), (1.0,)),
    ("sign", (0.0,), (0.0,)),
    ("floor", (1.0,), (0.0,)),
    ("clamp", (0.0, -1.0, 1.0), (1.0, 0.0, 0.0)),
    ("clamp", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ("clamp", (0.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    ("sqrt", (0.0,), (np.inf,)),
    ("power", (0.0, 2.0), (0.0, 0.0)),
    ("power", (0.0, 0.5), (np.inf, 0.0)),
    ("atan2", (0.0, 0.0), (np.nan, np.nan)),
    ("remainder", (4.0, 2.0), (1.0, -2.0)),
]


@pytest.mark.parametrize(("op", "at", "expected"), KINKS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conventions_at_kinks(op: str, at: tuple[float, ...], expected: tuple[float, ...]) -> None:
    names = [f"%x{i}" for i in range(len(at))]
    p = wg.parse(f"""func.func public @main({", ".join(f"{n}: tensor<f64>" for n in names)}) -> tensor<f64> {{
      %y = stablehlo.{op} {", ".join(names)} : tensor<f64>
      return %y : tensor<f64>
    }}""")
    gradient = [float(x) for x in p.vjp(strategy="direct").compile("interpreter")(*at, 1.0)[1:]]
    np.testing.assert_array_equal(gradient, expected)


DEAD_LOOP = """
func.func public @main(%x: tensor<f64>, %n: tensor<i32>) -> tensor<f64> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %s = %x) : tensor<i32>, tensor<f64>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %1:2 = stablehlo.while(%j = %c, %t = %s) : tensor<i32>, tensor<f64>
    cond {
      %q = stablehlo.compare LT, %j, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %u = stablehlo.sine %t : tensor<f64>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %k = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %k, %u : tensor<i32>, tensor<f64>
    }
    %v = stablehlo.sine %s : tensor<f64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %m = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %m, %v : tensor<i32>, tensor<f64>
  }
  return %0#1 : tensor<f64>
}
"""


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_second_derivatives_of_absolute_values_far_from_one(size: float) -> None:
    """|z| has the curvature 1 / |z| across: quotients by |z|^2, which is no float of this type, would lose it."""
    p = wg.parse("""func.func public @main(%z: tensor<complex<f64>>) -> tensor<f64> {
      %0 = stablehlo.abs %z : (tensor<complex<f64>>) -> tensor<f64>
      return %0 : tensor<f64>
    }""")
    z, z_dot = np.asarray(size * (0.6 + 0.8j)), np.asarray(0.5 + 0.25j)
    curvature = np.conj(z_dot - z / size * (np.conj(z / size) * z_dot).real) / size
    for strategy in ("transpose", "direct"):
        second = p.vjp(strategy=strategy).jvp(wrt=[0], of=[1]).compile("interpreter")(z, np.asarray(1.0), z_dot)[-1]
        np.testing.assert_allclose(second, curvature, rtol=1e-12)


def test_a_loop_that_nothing_uses_in_a_loop() -> None:
    module = parse_module(DEAD_LOOP)
    to_core(module)
    verify(module)
    check_strategies(module, [np.array(0.3), np.array(2, np.int32)], np.random.default_rng(0))


CAPTURING_SORT = """
func.func public @main(%x: tensor<5xf64>) -> tensor<5xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %p = stablehlo.maximum %a, %zero : tensor<f64>
    %q = stablehlo.maximum %b, %zero : tensor<f64>
    %c = stablehlo.compare LT, %p, %q : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xf64>) -> tensor<5xf64>
  %1 = stablehlo.sine %0 : tensor<5xf64>
  return %1 : tensor<5xf64>
}
"""


def test_a_comparator_that_uses_a_value_from_outside() -> None:
    module = parse_module(CAPTURING_SORT)
    check_strategies(module, [np.array([0.3, -0.7, 2.0, -0.1, 1.1])], np.random.default_rng(0))


# -- structure


def test_only_active_values_are_kept() -> None:
    """Of a counted loop what the adjoints of sine and multiply use is kept, and no induction variable."""
    gradient = derived(parse_module(loops_and_branches.COUNTED), direct)
    stacks = [str(r.type) for op in gradient.walk() if isinstance(op, core.ForOp) for r in op.results if str(r.type).startswith("tensor<4x")]
    assert stacks == ["tensor<4x3xf64>"] * 2


def test_nothing_is_kept_for_results_that_are_not_asked_for() -> None:
    """The adjoint of an op exists only between what varies and what is useful."""
    text = """func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
      %0 = stablehlo.sine %x : tensor<3xf64>
      %1 = stablehlo.exponential %0 : tensor<3xf64>
      %2 = stablehlo.multiply %x, %y : tensor<3xf64>
      return %1, %2 : tensor<3xf64>, tensor<3xf64>
    }"""
    module = parse_module(text)
    vjp(module, wrt=[1], of=[1], strategy="direct")
    derived_ops = [op.name for op in module.walk() if provenance(op.location) is not None]
    assert derived_ops == ["stablehlo.multiply"]


def test_branches_share_what_they_keep() -> None:
    """Values that different branches keep go through one result of the case if their types agree."""
    gradient = derived(parse_module(loops_and_branches.IF), direct)
    forward = next(op for op in gradient.walk() if isinstance(op, core.CaseOp))
    assert len(forward.results) <= 2


def test_an_indexed_read_in_a_loop_adds_in_place() -> None:
    gradient = derived(parse_module(loops_and_branches.SCAN), direct)
    reverse = [op for op in gradient.walk() if isinstance(op, core.ForOp)][-1]
    assert not any(isinstance(op, hlo.PadOp) for op in reverse.walk())
    assert any(isinstance(op, hlo.DynamicUpdateSliceOp) for op in reverse.walk())


# -- interface


def test_passes() -> None:
    for text in ("vjp{strategy=direct}", "vjp-direct"):
        module = parse_module(loops_and_branches.SCAN)
        to_core(module)
        after = Pipeline.parse(f"{text},simplify,cse,dce").run(module)
        assert any((origin := provenance(op.location)) is not None and origin.pass_name == "vjp-direct" for op in after.walk())


def test_unknown_strategies_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="strategy must be 'transpose' or 'direct', not 'dirct'"):
        vjp(parse_module(loops_and_branches.SCAN), strategy="dirct")


def test_ops_without_an_adjoint_are_refused_by_name_and_place() -> None:
    text = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
      %y = stablehlo.custom_call @mystery(%x) : (tensor<3xf64>) -> tensor<3xf64>
      return %y : tensor<3xf64>
    }"""
    with pytest.raises(DiagnosticError, match=r"p.mlir:2:.*stablehlo.custom_call of @mystery has no adjoint"):
        vjp(parse_module(text, "p.mlir"), strategy="direct")


CUSTOM = """
func.func private @f(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> attributes {{{declared}}} {{
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  return %0 : tensor<f64>
}}
func.func private @f_fwd(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  return %0, %y : tensor<f64>, tensor<f64>
}}
func.func private @f_bwd(%y: tensor<f64>, %z_bar: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
  %0 = stablehlo.multiply %y, %z_bar : tensor<f64>
  %1 = stablehlo.add %0, %0 : tensor<f64>
  return %1, %z_bar : tensor<f64>, tensor<f64>
}}
func.func private @f_jvp(%x: tensor<f64>, %y: tensor<f64>, %x_dot: tensor<f64>, %y_dot: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  %1 = stablehlo.sine %y : tensor<f64>
  %2 = stablehlo.multiply %1, %x_dot : tensor<f64>
  %3 = stablehlo.add %2, %y_dot : tensor<f64>
  return %0, %3 : tensor<f64>, tensor<f64>
}}
func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {{
  %s = stablehlo.sine %x : tensor<f64>
  %0 = func.call @f(%s, %y) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %1 = stablehlo.multiply %0, %0 : tensor<f64>
  return %1 : tensor<f64>
}}
"""


@pytest.mark.parametrize("declared", ["ad.custom_vjp = [@f_fwd, @f_bwd]", "ad.custom_jvp = @f_jvp"])
def test_declared_derivatives(declared: str) -> None:
    p = wg.parse(CUSTOM.format(declared=declared))
    x, y, bar = 0.7, 1.3, 0.9
    out = np.sin(x) * y
    by_f = (2 * y, 1.0) if "vjp" in declared else (np.sin(y), 1.0)
    expected = [out * out, bar * 2 * out * by_f[0] * np.cos(x), bar * 2 * out * by_f[1]]
    np.testing.assert_allclose(p.vjp(strategy="direct").compile("interpreter")(x, y, bar), expected, rtol=1e-14)
    np.testing.assert_allclose(p.vjp().compile("interpreter")(x, y, bar), expected, rtol=1e-14)


CHECKPOINTED = """
func.func private @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.multiply %x, %w : tensor<3xf64>
  %1 = stablehlo.sine %0 : tensor<3xf64>
  %2 = stablehlo.tanh %1 : tensor<3xf64>
  return %2, %1 : tensor<3xf64>, tensor<3xf64>
}
func.func public @main(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%s = %x, %i = %c) : tensor<3xf64>, tensor<i64>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i64>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y:2 = ad.checkpoint @f(%s, %w) : (tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
    %z = stablehlo.add %y#0, %y#1 : tensor<3xf64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %z, %j : tensor<3xf64>, tensor<i64>
  }
  return %0#0 : tensor<3xf64>
}
"""


def test_checkpoints_are_computed_again() -> None:
    """Reverse mode keeps what goes into the checkpoint, nothing of its inside, and agrees with the other strategy."""
    module, inputs = parse_module(CHECKPOINTED), [np.array([0.3, -0.2, 0.9]), np.array([1.1, 0.7, -0.4])]
    bar = np.array([0.5, -1.0, 2.0])
    p = wg.parse(CHECKPOINTED)
    actual, expected = (p.vjp(strategy=s).compile("interpreter")(*inputs, bar) for s in ("direct", "transpose"))
    assert_same(list(actual), list(expected))
    reverse = derived(module, direct)
    stacks = [str(r.type) for op in reverse.walk() if isinstance(op, core.ForOp) for r in op.results if str(r.type).startswith("tensor<4x")]
    assert stacks == ["tensor<4x3xf64>"]
    assert any(isinstance(op, hlo.OptimizationBarrierOp) for op in reverse.walk())


# -- the reference programs

CASES = [(p, precision, backend) for p in PROGRAMS for precision in p.precisions for backend in ("interpreter", "cpu")]
MORE = share([case for case in CASES if case[1:] != ("f64", "interpreter")], 20)
"""In single precision, and compiled."""
RUNS = [case for case in CASES if case[1:] == ("f64", "interpreter") or case in MORE]


@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("entry", "precision", "backend"), RUNS, ids=[f"{p.name}-{precision}-{backend}" for p, precision, backend in RUNS])
def test_reference_programs(entry: CorpusProgram, precision: str, backend: str) -> None:
    """Against what is stored, and against the other strategy."""
    p, reference = wg.load(entry.path(precision)), entry.reference(precision)
    given = [*reference.inputs, *(reference.cotangents[j] for j in sorted(reference.cotangents))]
    actual = p.vjp(strategy="direct").compile(backend)(*given)
    n = len(reference.outputs)
    assert_agrees(entry, "primal", precision, actual[:n], reference.outputs)
    assert_agrees(entry, "vjp", precision, actual[n:], [reference.vjp[i] for i in sorted(reference.vjp)])
    assert_agrees(entry, "vjp", precision, actual[n:], p.vjp().compile(backend)(*given)[n:])
