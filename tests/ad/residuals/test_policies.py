"""Residual policies: the same values whatever is kept, nothing kept that was not to be, and recomputation that stays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import ad, core
from wengert.dialects.ad_parts import parts_of
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.residuals.policies import POLICIES
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.lowering import lower
from wengert.transforms.pipelines import FINISH, parse_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import active_results, random_like
from loops_and_branches import CASES as CONTROL
from test_ad_dialect import CHECKPOINT

CHOSEN = [name for name in POLICIES if name != "auto"]

CHAIN = """
func.func public @main(%x: tensor<4000xf64>) -> tensor<4000xf64> {
  %0 = stablehlo.exponential %x : tensor<4000xf64>
  %1 = stablehlo.sine %0 : tensor<4000xf64>
  %2 = stablehlo.exponential %1 : tensor<4000xf64>
  %3 = stablehlo.sine %2 : tensor<4000xf64>
  return %3 : tensor<4000xf64>
}
"""


def reverse(text: str, inputs: list[np.ndarray[Any, Any]], *pipelines: str) -> list[np.ndarray[Any, Any]]:
    """The results of a function after these pipelines, for inputs and for cotangents that depend on their shapes only."""
    module = parse_module(text)
    rng = np.random.default_rng(0)
    given = list(inputs)
    for pipeline in pipelines:
        outputs = run(module, given)
        given += random_like([outputs[j] for j in active_results(module)], rng)
        parse_pipeline(pipeline).run(module)
        verify(module)
    return list(run(module, given))


@pytest.mark.parametrize("policy", CHOSEN)
@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_the_cases_of_all_rules(case: Case, policy: str) -> None:
    rng = np.random.default_rng(1)
    inputs, text = [arg.draw(rng) for arg in case.args], print_module(case.module())
    for actual, expected in zip(reverse(text, inputs, f"vjp{{residuals={policy}}}"), reverse(text, inputs, "vjp"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("policy", CHOSEN)
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str, policy: str) -> None:
    text, inputs = CONTROL[name]
    asked = f"vjp{{residuals={policy}}},simplify,cse,dce"
    for pipelines in ((asked,), (asked, asked), (asked, "vjp")):
        for actual, expected in zip(reverse(text, inputs, *pipelines), reverse(text, inputs, *["vjp"] * len(pipelines)), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("policy", CHOSEN)
@pytest.mark.parametrize("name", ["counted", "uncounted", "branch in loop"])
def test_compiled_loops(name: str, policy: str) -> None:
    text, inputs = CONTROL[name]
    program = wg.parse(text)
    given = [*inputs, *(np.cos(np.ones_like(y)) for y in program(*inputs))]
    for actual, expected in zip(program.vjp(residuals=policy).compile()(*given), program.vjp()(*given), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def kept(text: str, policy: str) -> list[str]:
    """The types of the residuals."""
    module = parse_module(text)
    parse_pipeline(f"linearize{{residuals={policy}}}").run(module)
    (parts,) = parts_of(module)
    return [str(parts.forward.function_type.outputs.data[k]) for k in parts.residuals]


def test_a_chain_keeps_its_coefficients_or_its_argument() -> None:
    assert len(kept(CHAIN, "save-all")) == len(kept(CHAIN, "auto")) == 4
    assert len(kept(CHAIN, "recompute-all")) == 1


def test_a_loop_keeps_what_it_carries_or_nothing() -> None:
    """Rematerialised, the loop that records runs again in the linear part; the first one records nothing."""
    text, _ = CONTROL["counted"]
    assert any("!core.tape<" in type for type in kept(text, "auto"))
    assert not any("!core.tape<" in type for type in kept(text, "recompute-all"))
    module = parse_module(text)
    parse_pipeline("vjp{residuals=recompute-all},simplify,cse,dce").run(module)
    first, again, _ = ops_of(module, core.ForOp)
    assert len(first.results) < len(again.results)


def test_recomputation_stays_in_what_is_compiled() -> None:
    """The functions are evaluated twice, and what lay between the sweeps is gone."""
    program = wg.parse(CHAIN)
    x, y_bar = np.linspace(-1, 1, 4000), np.cos(np.arange(4000.0))
    plain, again = program.vjp(), program.vjp(residuals="recompute-all")
    assert [str(p).count("stablehlo.exponential") for p in (plain, again)] == [2, 4]
    assert [str(p).count("stablehlo.optimization_barrier") for p in (plain, again)] == [0, 1]
    expected, actual = plain.compile()(x, y_bar), again.compile()(x, y_bar)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert [exponentials(p) for p in (plain, again)] == [2, 4]


def exponentials(program: wg.Program) -> int:
    """How many exponentials stand in the kernels of a program."""
    module = program.optimized_module.clone()
    parse_pipeline(FINISH).run(module)
    return print_module(lower(module)).count("exponential")


def test_a_linear_program_keeps_what_the_policy_says() -> None:
    program, x = wg.parse(CHAIN), np.linspace(-1, 1, 4000)
    by_policy = {policy: program.linearize(residuals=policy) for policy in ("save-all", "recompute-all")}
    (all_results, everything), (nothing_results, nothing) = (linear.run([x]) for linear in by_policy.values())
    assert [len(everything), len(nothing)] == [4, 1]
    np.testing.assert_array_equal(nothing[0], x)
    np.testing.assert_allclose(all_results, nothing_results)
    pulled = [linear.pull(residuals, [x])[0] for linear, residuals in zip(by_policy.values(), (everything, nothing), strict=True)]
    np.testing.assert_allclose(pulled[0], pulled[1], rtol=1e-12)


def test_requests_in_the_text_name_a_policy() -> None:
    request = 'ad.vjp @f(%x) cotangents(%y) wrt = [0], of = [0], residuals = "recompute-all" : (tensor<4000xf64>, tensor<4000xf64>) -> (tensor<4000xf64>, tensor<4000xf64>)'
    text = f"""{CHAIN.replace("public @main", "private @f")}
func.func public @main(%x: tensor<4000xf64>, %y: tensor<4000xf64>) -> tensor<4000xf64> {{
  %0, %1 = {request}
  return %1 : tensor<4000xf64>
}}"""
    module = parse_module(text)
    assert request.split(" : ")[0] in print_module(module)
    assert len(ops_of(module, ad.VjpOp)) == 1
    parse_pipeline("expand-ad,simplify,cse,dce").run(module)
    assert print_module(module).count("optimization_barrier") == 1
    with pytest.raises(
        DiagnosticError, match=r"residuals must be 'auto', 'save-all', 'recompute-cheap', 'recompute-all', 'sqrt' or 'binomial-8', not 'recompute'"
    ):
        parse_pipeline("expand-ad").run(parse_module(text.replace("recompute-all", "recompute")))


def test_traced_functions_name_a_policy() -> None:
    def f(x: Any) -> Any:
        return wg.numpy.sum(wg.numpy.sin(wg.numpy.exp(x)))

    x = np.linspace(0, 1, 5)
    np.testing.assert_allclose(wg.grad(f, residuals="recompute-all")(x), wg.grad(f)(x), rtol=1e-14)
    assert str(wg.jit(wg.value_and_grad(f)).program(x)).count("stablehlo.exponential") == 1
    assert str(wg.jit(wg.value_and_grad(f, residuals="recompute-all")).program(x)).count("stablehlo.exponential") == 2


@pytest.mark.parametrize("mode", ["vjp", "linearize"])
def test_unknown_policies_are_refused(mode: str) -> None:
    with pytest.raises(
        DiagnosticError, match=f"'residuals' of pass {mode} expects one of auto, save-all, recompute-cheap, recompute-all, sqrt, binomial-8, found 'save-al'"
    ) as error:
        parse_pipeline(f"{mode}{{residuals=save-al}}").run(parse_module(CHAIN))
    assert "did you mean 'save-all'?" in str(error.value)


def test_written_out_adjoints_take_no_policy() -> None:
    with pytest.raises(DiagnosticError, match="residuals=save-all needs strategy=transpose"):
        wg.parse(CHAIN).vjp(strategy="direct", residuals="save-all")


def test_checkpoints_stay_what_they_are() -> None:
    module = parse_module(CHECKPOINT)
    parse_pipeline("vjp{residuals=save-all},lower-ad,simplify,cse,dce").run(module)
    assert print_module(module).count("stablehlo.sine") == 4
