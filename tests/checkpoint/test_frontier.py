"""Plans under a budget: what is predicted is what is allocated, results do not change, and more memory never costs more."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from frontiers import arena, assert_frontier_holds, assert_same
from hypothesis import HealthCheck, given, settings
from random_programs import RandomProgram, programs
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.checkpoint import checkpoints
from wengert.lab.cli.main import main
from wengert.lab.corpus import CorpusProgram
from wengert.lab.inputs import random_inputs
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost

BLOCK = Path(__file__).parents[2] / "examples" / "transformer_block.mlir"


def chain(depth: int, width: int = 16) -> Program:
    """A network of so many equal layers."""

    @wg.jit
    def network(x, *weights):
        for w in weights:
            x = x + wnp.tanh(x @ w) * wnp.sin(x)
        return wnp.sum(x * x)

    return network.program(np.ones((width, width)), *[np.ones((width, width)) / width] * depth)


def test_layers_take_much_less_memory_for_a_quarter_of_the_flops_more():
    derivative = chain(16).vjp()
    assert_frontier_holds(derivative, random_inputs(derivative.signature, 0))
    frontier = derivative.frontier
    first, total = frontier.best[0], sum(work or 0 for work in frontier.graph.work)
    within = frontier.within(first.arena // 2)
    assert within.work <= 0.35 * total


def test_memory_of_deep_networks_grows_as_the_root_of_their_depth():
    """With one more evaluation of the forward part, K segments of n / K layers need n / K + K values: 2 sqrt(n)."""
    least: dict[int, int] = {}
    for depth in (9, 36):
        frontier = chain(depth).vjp().frontier
        total = sum(work or 0 for work in frontier.graph.work)
        least[depth] = min(plan.arena for plan in frontier.best if plan.work <= 0.34 * total)
    assert least[36] < 2.3 * least[9]


@settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_more_memory_never_costs_more(random: RandomProgram):
    derivative = wg.Program(random.module).vjp()
    inputs = [*random.inputs, *random_inputs(derivative.signature, 0)[len(random.inputs) :]]
    assert_frontier_holds(derivative, inputs, compiled=1)


@needs_corpus
@pytest.mark.parametrize("program", share(PROGRAMS, 12), ids=lambda program: program.name)
def test_reference_programs_within_every_budget(program: CorpusProgram):
    reference = program.reference("f64" if "f64" in program.precisions else program.precisions[0])
    derivative = wg.load(program.path(program.precisions[0])).vjp(tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents)))
    inputs = random_inputs(derivative.signature, 0)
    inputs[: len(reference.inputs)] = reference.inputs
    assert_frontier_holds(derivative, inputs)


def test_an_impossible_budget_names_the_least():
    program = wg.load(BLOCK)
    least = program.vjp().frontier.best[-1].arena
    with pytest.raises(DiagnosticError, match=f"at most {least - 1} bytes: the least is {least} bytes"):
        program.vjp(memory=least - 1)
    assert arena(program.vjp(memory=least)) == least
    with pytest.raises(InputError, match="expected bytes, as in"):
        program.vjp(memory="a lot")


def test_the_pass_and_the_program_agree():
    program = wg.load(BLOCK)
    budget = program.vjp().frontier.best[1].arena
    passed = wg.parse(BLOCK.read_text()).apply(f"to-core,simplify,cse,dce,vjp{{budget={budget}}}")
    inputs = random_inputs(passed.signature, 0)
    assert arena(passed) <= budget
    assert_same(passed(*inputs), program.vjp()(*inputs))


def test_nothing_later_undoes_it():
    """Recomputed ops are not merged with the first ones by another round of optimisation, and text keeps them."""
    within = wg.load(BLOCK).vjp(memory="112KB")
    flops = program_cost(within.module).flops
    assert program_cost(within.apply("simplify,cse,dce").module).flops == flops > program_cost(wg.load(BLOCK).vjp().module).flops
    assert "optimization_barrier" in within.text()
    assert arena(wg.parse(within.text())) <= 112_000


def test_marks_of_the_program_stay():
    """What the program itself asks to be computed again is not kept, whatever the budget."""
    program = wg.load(BLOCK)
    marked = program.vjp(residuals="recompute-all")
    within = marked.within(marked.frontier.best[-1].arena)
    assert program_cost(within.module).flops.constant >= program_cost(marked.module).flops.constant > program_cost(program.vjp().module).flops.constant


def test_derivatives_within_a_budget_are_differentiated_again():
    program = chain(4, 4)
    within = program.vjp(memory=program.vjp().frontier.best[-1].arena)
    inputs = random_inputs(within.jvp(wrt=(0,)).signature, 0)
    assert_same(within.jvp(wrt=(0,))(*inputs), program.vjp().jvp(wrt=(0,))(*inputs))


def test_what_is_no_reverse_derivative_is_refused():
    with pytest.raises(DiagnosticError, match="is no reverse derivative"):
        chain(2, 4).within(1000)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["checkpoint", str(BLOCK), "--budget", "112KB", "--json", "--plot", str(tmp_path / "a.svg")]) == 0
    report = json.loads(capsys.readouterr().out)
    arenas = [plan["arena_bytes"] for plan in report["plans"]]
    assert arenas == sorted(arenas, reverse=True)
    chosen = next(plan for plan in report["plans"] if plan["plan"] == report["chosen"])
    assert chosen["arena_bytes"] <= 112_000
    assert (tmp_path / "a.svg").read_text().count("<circle") == len(arenas)
    assert main(["checkpoint", str(BLOCK), "--budget", "112KB", "-o", str(tmp_path / "o.mlir")]) == 0
    assert arena(wg.load(tmp_path / "o.mlir")) <= 112_000
    assert main(["checkpoint", str(BLOCK), "--budget", "10"]) == 1
    assert "the least budget that can be met is" in capsys.readouterr().out


def test_the_table_measures_what_is_compiled():
    table = checkpoints(wg.load(BLOCK), budget="112KB")
    for row in table.rows:
        assert arena(row.program) == row.compiled.memory.arena == row.plan.arena
    assert table.chosen is not None
    assert "Use" in str(table)


def test_a_row_of_the_strategies():
    program = chain(8)
    full = program.vjp().frontier.best[0].arena
    table = wg.strategies(program, of="gradient", wrt=0, budget=full * 2 // 3)
    row = table.row("vjps checkpointed")
    assert row in table.usable
    assert row.arena is not None
    assert row.arena <= full * 2 // 3
    inputs = random_inputs(program.signature, 0)
    assert_same(row.compile()(*inputs), program.jacrev(0)(*inputs))
    refused = wg.strategies(program, of="gradient", wrt=0, budget=1).row("vjps checkpointed")
    assert "the least is" in refused.problem
