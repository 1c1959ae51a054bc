"""``bisect`` on long programs: leaps over steps that are right, pieces that show what is wrong, ops looked at in the order in which most is learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.long_program import long_program
from mutations.mutation import mutated

import wengert as wg
from wengert.lab.bisect import Bisection
from wengert.lab.inspection.subject import Request
from wengert.lab.recorded_ops import ops_with_values, pieces
from wengert.runtime.interpreter import run

LAYERS = long_program(400)


@pytest.fixture(autouse=True)
def long_from_here_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.lab.bisect.walk.LONG", 300)
    monkeypatch.setattr("wengert.lab.recorded_ops.MANY", 100)


def bisected(tmp_path: Path, pipeline: str = "") -> Bisection:
    return wg.bisect(wg.parse(LAYERS), pipeline, request=None if pipeline else Request("vjp"), path=str(tmp_path / "small.mlir"), seconds=60.0)


def test_steps_that_are_right_are_stepped_over(tmp_path: Path) -> None:
    result = bisected(tmp_path)
    assert result, str(result)
    ran = [tried.step.partition("{")[0] for tried in result.tried if tried.outcome != "stepped over"]
    assert ran == ["input", "dce", "vjp", "emit-asm"]
    assert "were stepped over" in str(result)


def test_a_wrong_rule_is_named_from_a_piece(tmp_path: Path) -> None:
    with mutated("wengert.transforms.ad.rules.elementwise:cosine", "b.negate(b.sine(x))", "b.sine(x)"):
        result = bisected(tmp_path)
    assert result.step.startswith("vjp{")
    assert result.culprit is not None
    assert (result.culprit.kind, result.culprit.name) == ("rule", "stablehlo.cosine")
    assert result.reproducer is not None
    assert result.reproducer.ops <= 2


def test_a_wrong_rewrite_is_named_by_bisection_over_steps(tmp_path: Path) -> None:
    with mutated("wengert.transforms.optimize.cse:_Sharer._operands", "return operands_of(op)", "return operands_of(op)[:1]"):
        result = bisected(tmp_path, "to-core,simplify,cse,dce,simplify")
    assert result.step == "cse"
    assert result.culprit is not None
    assert result.culprit.kind == "rewrite"
    assert result.reproducer is not None


def test_pieces_compute_what_the_program_computes_there() -> None:
    program = wg.parse(LAYERS)
    inputs = [np.random.default_rng(0).normal(size=p.shape) for p in program.signature.arguments]
    whole = program(*inputs)
    *_, (last, values) = pieces(program.core_module, inputs, 37)
    np.testing.assert_allclose(run(last, values)[-1], whole[0], rtol=1e-9)


def test_one_op_of_each_name_comes_first() -> None:
    program = wg.parse(LAYERS)
    inputs = [np.ones(p.shape) for p in program.signature.arguments]
    names = [op.name for op, _, _ in ops_with_values(program.core_module, inputs)]
    kinds = set(names)
    assert set(names[: len(kinds)]) == kinds
