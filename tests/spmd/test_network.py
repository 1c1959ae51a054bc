"""What collectives send and cost: formulas against counted schedules, predicted bytes against those that were sent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from spmd_programs import groups, one_op, reducer

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.lab.cli.main import main
from wengert.lab.costs.network import calibration
from wengert.lab.costs.network.algorithms import ALGORITHMS, Algorithm, algorithms_of, counted, fastest, is_for
from wengert.lab.costs.network.network import Level, Network, read_network
from wengert.lab.costs.network.report import communication_report
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
    report = communication_report([("forward", p), ("reverse", p.vjp(wrt=0))], p.name, Grid(1, 2), 64, Network.flat(2e-6, 4e-11))
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


# -- networks of several levels

LEVELS = Network((Level(5e-7, 1e-11, 8, "node"), Level(2e-6, 4e-11, None, "cluster")))


def test_a_group_runs_at_the_pace_of_the_level_that_holds_it() -> None:
    m = 1e6
    inner, outer = Network.flat(5e-7, 1e-11), Network.flat(2e-6, 4e-11)
    assert LEVELS.plan("all_to_all", 8, m, 8) == inner.plan("all_to_all", 8, m, 8)
    assert LEVELS.plan("all_to_all", 8, m, 64) == outer.plan("all_to_all", 8, m, 64)  # ranks that are not neighbours
    assert LEVELS.plan("all_reduce", 12, m, 12) == outer.plan("all_reduce", 12, m, 12)  # one node and a half


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "collective_broadcast"])
def test_sums_go_within_nodes_and_then_across(collective: str) -> None:
    m, outer = 1e6, Network.flat(2e-6, 4e-11)
    flat, plan = outer.plan(collective, 64, m, 64), LEVELS.plan(collective, 64, m, 64)
    assert plan.seconds < flat.seconds
    assert " + " in plan.algorithm
    alike = Network((Level(2e-6, 4e-11, 8), Level(2e-6, 4e-11)))
    assert alike.plan(collective, 64, m, 64).seconds <= flat.seconds


def test_the_steps_of_a_sum() -> None:
    m = 1e6
    inner, outer = Network.flat(5e-7, 1e-11), Network.flat(2e-6, 4e-11)
    steps = inner.plan("reduce_scatter", 8, m, 8), outer.plan("all_reduce", 8, m / 8, 8), inner.plan("all_gather", 8, m / 8, 8)
    plan = LEVELS.plan("all_reduce", 64, m, 64)
    assert plan.seconds == pytest.approx(sum(step.seconds for step in steps))
    assert plan.rounds == sum(step.rounds for step in steps)
    assert plan.sent == pytest.approx(2 * m * 7 / 8 + 2 * (m / 8) * 7 / 8)


def test_three_levels() -> None:
    three = Network((Level(1e-7, 1e-11, 4), Level(1e-6, 2e-11, 4), Level(5e-6, 8e-11)))
    assert [three.holding(p) for p in (2, 4, 5, 16, 17, 4096)] == [three.levels[i] for i in (0, 0, 1, 1, 2, 2)]
    assert three.plan("all_reduce", 64, 1e6, 64).algorithm.count(" + ") >= 2


FILE = """[[level]]
name = "node"
ranks = 8
alpha = 5e-7
beta = 1e-11

[[level]]
name = "cluster"
alpha = 2e-6
beta = 4e-11
"""


def test_a_network_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(FILE)
    assert read_network(str(path)).levels == LEVELS.levels
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "64", "--network", str(path)]) == 0
    out = capsys.readouterr().out
    assert "node of 8: 500 ns a message, 100 GB/s; cluster: 2 us a message, 25 GB/s" in out
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "64", "--network", str(path), "--alpha", "1"]) == 1
    assert "leave --alpha and --beta out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("ranks = 8\n", "", "level 1 needs ranks"),
        ("ranks = 8", "ranks = 0", "ranks is a number of at least one, found 0"),
        ("alpha = 2e-6", "alfa = 2e-6", "did you mean 'alpha'"),
        ("beta = 4e-11", "beta = -1", "beta is a number of seconds, found -1"),
        ("[[level]]", "[level]", "expected [[level]] tables"),
        ("alpha = 5e-7", "alpha = ", "Invalid value"),
    ],
)
def test_files_that_are_no_networks(old: str, new: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n.toml").write_text(FILE.replace(old, new) if old != "[[level]]" else "[level]\nalpha = 1e-6\n")
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "64", "--network", str(tmp_path / "n.toml")]) == 1
    assert told in capsys.readouterr().err


# -- what is fitted


def test_the_fit_finds_what_the_times_are_made_of() -> None:
    alpha, beta = calibration.fit({m: 3e-6 + 2e-10 * m for m in calibration.SIZES})
    assert alpha == pytest.approx(3e-6)
    assert beta == pytest.approx(2e-10)


def test_samples_are_taken_until_a_byte_is_seen_to_cost_something() -> None:
    taken: list[int] = []

    def sample(size: int) -> float:
        taken.append(size)
        return 1e-3 if len(taken) < 1.5 * samples else 3e-6 + 2e-10 * size

    samples = calibration.ROUNDS * len(calibration.SIZES)
    least = calibration.least_seconds(sample, bool)
    assert len(taken) == 2 * samples
    assert taken[: len(calibration.SIZES)] == list(calibration.SIZES)
    assert calibration.fit(least) == pytest.approx((3e-6, 2e-10))


def test_times_that_never_depend_on_the_size_end_the_attempts() -> None:
    least = calibration.least_seconds(lambda size: 1e-3, bool)
    assert calibration.hidden_cost(*calibration.fit(least)) == "byte"
    assert calibration.hidden_cost(0, 1e-9) == "message"
    assert calibration.hidden_cost(3e-6, 2e-10) is None


def test_what_was_fitted_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    assert main(["calibrate", "--mpi", "--show"]) == 1
    assert "mpiexec -n 2 wengert calibrate --mpi" in capsys.readouterr().err
    path = calibration.network_path()
    assert path is not None
    calibration.write_calibration(calibration.Calibration(3e-6, 2e-10, 1.5, "MPI", "2026-01-02", {8: 3e-6}), path)
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "4"]) == 0
    assert "3 us a message, 5 GB/s; two processes of this machine, 2026-01-02, within a factor of 1.5" in capsys.readouterr().out
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "4", "--beta", "1e-10", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["alpha"], report["beta"]) == (3e-6, 1e-10)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", "examples/data_parallel_loss.mlir", "--ranks", "64", "--alpha", "1e-6", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ranks"], report["alpha"], report["devices"]) == (64, 1e-6, 2)
    assert {line["part"] for line in report["collectives"]} == {"forward", "reverse"}
    assert main(["costs", "examples/mlp.mlir", "--ranks", "64"]) == 1
    assert "is a program for one device: it exchanges nothing" in capsys.readouterr().err
    assert main(["costs", "examples/mlp.mlir", "--ranks", "64", "--alpha", "soon"]) == 2
