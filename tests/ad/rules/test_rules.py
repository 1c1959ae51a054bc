"""Every declared case of every rule: differences, duality, second order in all combinations of the modes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import ReturnOp

from wengert.dialects import ad, stablehlo
from wengert.dialects.ad_implicit import CustomLinearSolveOp
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rule import RULES, TRANSPOSES
from wengert.transforms.ad.rules import ALL_CASES

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import check_first_order, check_second_order, derived

from wengert.transforms.ad.derive import vjp

by_name = pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])


@by_name
def test_first_order(case: Case) -> None:
    rng = np.random.default_rng(1)
    check_first_order(case.module(), [arg.draw(rng) for arg in case.args], rng)


@by_name
def test_second_order(case: Case) -> None:
    rng = np.random.default_rng(2)
    check_second_order(case.module(), [arg.draw(rng) for arg in case.args], rng)


def test_case_names_are_distinct() -> None:
    names = [case.name for case in ALL_CASES]
    assert len(set(names)) == len(names)


ELSEWHERE = {
    CustomLinearSolveOp,
    ad.GuardOp,
    ad.PartialsOp,
    ad.PushforwardOp,
    ad.StopGradientOp,
    ad.LinearCallOp,
    ad.TransposedCallOp,
    stablehlo.OptimizationBarrierOp,
    *(op for op in RULES | TRANSPOSES if op.name.startswith("core.tape")),
}
"""Ops whose derivatives are tested by programs in text."""


def test_every_rule_has_a_case() -> None:
    seen = {type(op) for case in ALL_CASES for op in case.module().walk()}
    derivative_ops = {type(op) for case in ALL_CASES for op in derived(case.module(), vjp).walk()}
    missing = {op.name for op in RULES if op not in seen and op not in derivative_ops and op not in ELSEWHERE}
    assert missing <= {"stablehlo.iota", "stablehlo.bitcast_convert", "stablehlo.reduce_precision"}, missing
    unused = {op.name for op in TRANSPOSES if op not in seen and op not in derivative_ops and op not in ELSEWHERE}
    assert unused <= {"stablehlo.reduce_precision"}, unused


def test_rules_do_not_touch_the_original() -> None:
    for case in ALL_CASES[:5]:
        module = case.module()
        before = str(module)
        derived(module, vjp)
        assert str(module) == before
        assert isinstance(next(op for op in module.walk() if isinstance(op, ReturnOp)), ReturnOp)
