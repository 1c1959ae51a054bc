"""Plans of programs with loops: what loops keep is one more choice, judged by the same arena."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.checkpoint import checkpoints
from wengert.lab.cli.main import main
from wengert.lab.inputs import random_inputs
from wengert.runtime.program import Program


def ode(steps: int = 100) -> Program:
    @wg.jit
    def loss(x: Any, w: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, steps, lambda i, s: s + 0.05 * wnp.sin(s @ w), x))

    return loss.program(np.ones((8, 8)), np.ones((8, 8)) / 8)


def two_loops() -> Program:
    """A long loop over small states and a short one over large ones."""

    @wg.jit
    def loss(x: Any, w: Any) -> Any:
        x = wg.fori_loop(0, 60, lambda i, s: s + 0.05 * wnp.sin(s @ w), x)
        y = wnp.concatenate([x] * 8, axis=1)
        return wnp.sum(wg.fori_loop(0, 9, lambda i, s: s + 0.05 * wnp.tanh(s) * wnp.sum(s), y))

    return loss.program(np.ones((4, 4)), np.ones((4, 4)) / 4)


def uncounted() -> Program:
    @wg.jit
    def loss(x: Any) -> Any:
        return wnp.sum(wg.while_loop(lambda s: wnp.sum(s * s) < 100.0, lambda s: s * 1.05 + 0.01 * wnp.sin(s), x))

    return loss.program(np.ones(16))


def assert_plans_hold(derivative: Program) -> None:
    """Predicted arenas are allocated, results do not change, and flops grow as memory shrinks."""
    frontier = derivative.frontier
    bounded = [plan for plan in frontier.best if not (plan.grows and frontier.bounded)]
    assert [plan.arena for plan in bounded] == sorted({plan.arena for plan in bounded}, reverse=True)
    assert [plan.work for plan in frontier.best] == sorted({plan.work for plan in frontier.best})
    inputs = random_inputs(derivative.signature, 0)
    expected = derivative(*inputs)
    for plan in (*bounded[::3], bounded[-1]):
        within = derivative.within(plan.arena)
        assert within.compile().stats.arena_bytes == plan.arena
        for a, e in zip(within(*inputs), expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12 * max(1.0, float(np.abs(e).max())))


@pytest.mark.parametrize("program", [ode, two_loops, uncounted], ids=lambda made: made.__name__)
def test_plans_of_loops(program: Any):
    assert_plans_hold(program().vjp())


def test_a_loop_takes_a_small_part_of_its_memory_for_few_flops():
    """Blocks of 10 of 100 iterations keep a fifth of what all keep, for one more run of the loop."""
    frontier = ode().vjp().frontier
    full = frontier.best[0]
    within = frontier.within(full.arena // 4)
    assert within.name.startswith("loops")
    assert within.work <= 0.5 * frontier.total


def test_loops_choose_each_for_itself():
    names = [plan.name for plan in two_loops().vjp().frontier.plans]
    assert any("," in name for name in names)


def test_where_nobody_counts_a_budget_leads_to_slots():
    frontier = uncounted().vjp().frontier
    assert frontier.best[0].grows
    assert frontier.bounded
    assert not frontier.within(10**9).grows
    with pytest.raises(DiagnosticError, match=f"the least is {frontier.best[-1].arena} bytes"):
        frontier.within(64)


def test_the_table_says_what_is_assumed():
    table = checkpoints(uncounted(), budget="4KB")
    assert "1000 iterations of each loop that nobody counts" in str(table)
    assert "however long loops run" in str(table)
    assert table.to_json()["plans"][0]["tapes_grow"]
    assert "assumed" not in str(checkpoints(ode(20)))


def test_the_pass_chooses_for_loops_too():
    program = ode()
    budget = program.vjp().frontier.best[-1].arena
    passed = program.apply(f"vjp{{budget={budget}}}")
    assert passed.compile().stats.arena_bytes <= budget
    inputs = random_inputs(passed.signature, 0)
    for a, e in zip(passed(*inputs), program.vjp()(*inputs), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-9)


def test_the_command_plans_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "ode.mlir"
    path.write_text(ode().text())
    assert main(["checkpoint", str(path), "--budget", "8KB", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["chosen"].startswith("loops")
    assert main(["checkpoint", str(path), "--budget", "8KB", "-o", str(tmp_path / "o.mlir")]) == 0
    assert wg.load(tmp_path / "o.mlir").compile().stats.arena_bytes <= 8000
