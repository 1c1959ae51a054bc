"""``linearize,transpose,join`` is ``vjp`` and ``linearize,join`` is ``jvp``: the same text, the same values, from any dump in between."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from reference_programs import PROGRAMS, in_all_precisions, share
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import run
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.pipelines import FRONT, OPTIMIZE, parse_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import active_arguments, entry, random_like
from loops_and_branches import CASES as CONTROL
from test_ad_dialect import CHECKPOINT, CUSTOM_JVP, CUSTOM_VJP, RULE_THAT_CALLS


def after(module: ModuleOp, *pipelines: str, printed: bool = False) -> ModuleOp:
    """A copy of the module after these pipelines; ``printed``: each of them goes on from the text that the one before left."""
    result = module.clone()
    for pipeline in pipelines:
        result = parse_module(print_module(result)) if printed else result
        parse_pipeline(pipeline).run(result)
        verify(result)
    return result


def text_of(module: ModuleOp) -> str:
    """The module's text, values named by the order in which they come."""
    names: dict[str, str] = {}
    return re.sub(r"%[\w$.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), print_module(module))


def check_equal_text(module: ModuleOp, options: str = "", *then: str) -> None:
    """The three passes give what ``vjp`` gives, in one go or one by one, each from the text of the one before."""
    expected = text_of(after(module, f"vjp{options}", *then))
    assert text_of(after(module, f"linearize{options},transpose,join", *then)) == expected
    assert text_of(after(module, f"linearize{options}", "transpose", "join", *then, printed=True)) == expected


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_the_cases_of_all_rules(case: Case) -> None:
    check_equal_text(case.module())


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_the_halves_joined_as_they_are_push_forward(case: Case) -> None:
    module, rng = case.module(), np.random.default_rng(5)
    inputs = [arg.draw(rng) for arg in case.args]
    given = [*inputs, *random_like([inputs[i] for i in active_arguments(module)], rng)]
    for actual, expected in zip(run(after(module, "linearize,join"), given), run(after(module, "jvp"), given), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str) -> None:
    check_equal_text(parse_module(CONTROL[name][0]))


@pytest.mark.parametrize("text", [CUSTOM_JVP, CUSTOM_VJP, CHECKPOINT, RULE_THAT_CALLS], ids=["custom jvp", "custom vjp", "checkpoint", "rule that calls"])
def test_what_functions_declare(text: str) -> None:
    check_equal_text(parse_module(text), "", "lower-ad")  # where functions that nothing calls any more are gone


SEVERAL = """
func.func public @main(%n: tensor<2xi32>, %x: tensor<2xf64>, %e: tensor<0xf64>, %y: tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf64>, tensor<0xf64>, tensor<2xf32>) {
  %0 = call @f(%x) : (tensor<2xf64>) -> tensor<2xf64>
  %1 = stablehlo.negate %e : tensor<0xf64>
  return %n, %0, %1, %y : tensor<2xi32>, tensor<2xf64>, tensor<0xf64>, tensor<2xf32>
}
func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.sine %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}
"""


@pytest.mark.parametrize("options", ["", "{wrt=1}", "{wrt=3,1 of=1}", "{of=3}", "{wrt=2 of=2}", "{wrt=1 of=3}", "{fn=f}"])
def test_choices_of_arguments_and_results(options: str) -> None:
    check_equal_text(parse_module(SEVERAL), options)


def test_two_functions_of_a_module() -> None:
    module = parse_module(SEVERAL)
    apart = text_of(after(module, "vjp{fn=f},vjp{fn=main wrt=1}"))
    assert text_of(after(module, "linearize{fn=f},linearize{fn=main wrt=1},transpose,join")) == apart


def test_reverse_over_reverse() -> None:
    module = parse_module(CONTROL["counted"][0])
    again = "linearize,simplify,cse,transpose,dce,join,simplify"
    y, x = np.array([0.3, -0.2, 0.9]), np.array([1.1, 0.7, -0.4])
    first, second = after(module, "vjp", "vjp"), after(module, again, again)
    shapes = [type.get_shape() for type in entry(first).function_type.inputs]
    given = [y, x, *(np.full(shape, 0.5) for shape in shapes[2:])]
    for actual, expected in zip(run(second, given), run(first, given), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["counted", "scan", "uncounted in counted", "branch in loop"])
def test_records_are_tapes_first_and_run_as_they_are(name: str) -> None:
    """Every stage runs: with tapes, and with stacks in their place."""
    text, inputs = CONTROL[name]
    module = parse_module(text)
    given = [*inputs, *(np.cos(y) for y in run(module, inputs))]
    taped, stacked = after(module, "vjp"), after(module, "linearize,transpose", "tapes-to-stacks", "join", printed=True)
    assert "!core.tape<" in print_module(taped)
    assert re.search(r"!core\.tape<\d", print_module(stacked)) is None
    for actual, expected in zip(run(taped, given), run(stacked, given), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_the_transpose_of_the_transpose_pushes_forward() -> None:
    module = parse_module(CONTROL["scan"][0])
    assert print_module(after(module, "linearize,transpose,transpose,join,simplify,cse,dce")).count("core.for") == 2
    inputs = CONTROL["scan"][1]
    given = [*inputs, *(np.cos(x) for x in inputs)]
    for actual, expected in zip(run(after(module, "linearize,transpose,transpose,join"), given), run(after(module, "jvp"), given), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_nothing_to_join_is_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"no function of the module has a linear part .* to be joined with"):
        after(parse_module(CHECKPOINT), "join")


def test_the_halves_are_kept_as_long_as_they_belong_together() -> None:
    text = print_module(after(parse_module(SEVERAL), "linearize{fn=f}"))
    assert "func.func @f_linear" in text
    assert "@f_linear(" in print_module(after(parse_module(text.replace("func.func @f_linear", "func.func private @f_linear")), "symbol-dce"))


@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(PROGRAMS), 4))
def test_reference_programs(program: CorpusProgram, precision: str) -> None:
    module = parse_module(program.path(precision).read_text())
    try:
        parse_pipeline(f"{FRONT},{OPTIMIZE}").run(module)
        expected = text_of(after(module, "vjp"))
    except DiagnosticError:
        pytest.skip("has no derivative")
    assert text_of(after(module, "linearize,transpose,join")) == expected
