"""What collectives send and cost: formulas against counted schedules, predicted bytes against those that were sent."""

from __future__ import annotations

import json

import numpy as np
import pytest
from spmd_programs import groups, one_op, reducer

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.lab.cli.main import main
from wengert.lab.costs.network.algorithms import ALGORITHMS, Algorithm, algorithms_of, counted, fastest, is_for
from wengert.lab.costs.network.report import Network, communication_report
from wengert.transforms.analysis.communication import collectives_of, sent_bytes

RANKS = [*range(2, 34), 63, 64, 65, 100, 255, 256, 257, 1000]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.collective} {a.name}")
def test_formulas_are_what_schedules_count(algorithm: Algorithm) -> None:
    for p in RANKS:
        if is_for(algorithm, p):
            assert counted(algorithm, p) == (algorithm.rounds(p), algorithm.blocks(p)), p


def test_formulas_for_thousands_of_ranks() -> None:
    for p in (4093, 4096):
        for algorithm in (a for a in ALGORITHMS if a.rounds(p) < 100 and is_for(a, p)):
            assert counted(algorithm, p) == (algorithm.rounds(p), algorithm.blocks(p))


def test_times() -> None:
    ring, halving, doubling = algorithms_of("all_reduce", 8)
    m, alpha, beta = 8e6, 2e-6, 4e-11
    assert np.isclose(ring.seconds(8, m, alpha, beta), 14 * alpha + 2 * m * 7 / 8 * beta)
    assert np.isclose(halving.seconds(8, m, alpha, beta), 6 * alpha + 2 * m * 7 / 8 * beta)
    assert np.isclose(doubling.seconds(8, m, alpha, beta), 3 * (alpha + m * beta))
    assert fastest("all_reduce", 8, 8, alpha, beta) is doubling
    assert fastest("all_reduce", 8, m, alpha, beta) is halving
    assert ring.seconds(1, m, alpha, beta) == 0


@pytest.mark.parametrize(
    "text",
    [
        one_op("all_reduce", groups([[0, 2], [3, 1]]), "5xf64", "5xf64", reducer("add")),
        one_op("all_reduce", groups([[0, 2, 1], [3]]), "1001xf32", "1001xf32", reducer("add", "f32")),
        one_op("reduce_scatter", f"scatter_dimension = 0 : i64, {groups([[0, 1, 2, 3]])}", "8xf64", "2xf64", reducer("maximum")),
        one_op("all_gather", f"all_gather_dim = 0 : i64, {groups([[0, 1], [2, 3]])}", "3xf64", "6xf64"),
        one_op("all_to_all", f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, {groups([[3, 1, 2, 0]])}", "8xf64", "8xf64"),
        one_op("collective_permute", "source_target_pairs = dense<[[0, 1], [1, 3], [2, 2]]> : tensor<3x2xi64>", "3xf64", "3xf64"),
        one_op("collective_broadcast", groups([[2, 0, 1, 3]]), "3xf64", "3xf64"),
    ],
)
def test_predicted_bytes_are_those_that_are_sent(text: str) -> None:
    p = wg.parse(text)
    for program in (p, p.vjp()):
        q = program.distribute(4)
        q(*[np.ones((4, *a.shape), a.dtype) for a in program.signature.arguments])
        listed = collectives_of(program.optimized_module, Grid(4, 1))
        assert tuple(sum(sent_bytes(c.op, q.grid, device) for c in listed) for device in range(4)) == q.sent_bytes


def test_the_report() -> None:
    p = wg.load("examples/data_parallel_loss.mlir")
    report = communication_report([("forward", p), ("reverse", p.vjp(wrt=0))], p.name, Grid(1, 2), 64, Network(2e-6, 4e-11))
    forward, *reverse = report.lines()
    assert (forward.collective.name, forward.ranks, forward.bytes, forward.algorithm, forward.rounds) == ("all_reduce", 64, 8, "recursive doubling", 6)
    assert np.isclose(forward.seconds, 6 * (2e-6 + 8 * 4e-11))
    assert len(reverse) == 2
    weak, strong = (report.scaling(report.parts[0], strong=strong) for strong in (False, True))
    assert weak[0].communicate == 0
    assert weak[-1].ranks == 4096
    assert weak[1].compute == weak[-1].compute
    assert np.isclose(strong[0].compute, 4096 * strong[-1].compute)
    assert "all figures are predicted" in str(report)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "64", "--alpha", "1e-6", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ranks"], report["alpha"], report["devices"]) == (64, 1e-6, 2)
    assert {line["part"] for line in report["collectives"]} == {"forward", "reverse"}
    assert main(["costs", "examples/mlp.mlir", "--ranks", "64"]) == 1
    assert "is a program for one device: it exchanges nothing" in capsys.readouterr().err
    assert main(["costs", "examples/mlp.mlir", "--ranks", "64", "--alpha", "soon"]) == 2
