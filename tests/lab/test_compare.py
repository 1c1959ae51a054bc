"""The comparison of strategies over a corpus made here, with strategies of a plug-in: one is right, one is wrong, one has no effect, one refuses, one fails."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.ir import plugins
from wengert.ir.pipeline.passes import PASSES
from wengert.lab.cli.main import main
from wengert.lab.compare.outcome import Outcome
from wengert.lab.compare.summary import means, worst
from wengert.lab.records.database import Database
from wengert.lab.tables import duration
from wengert.transforms.ad import strategies

PRODUCT = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
CALL = PRODUCT.replace("stablehlo.sine %x : tensor<3xf64>", "stablehlo.custom_call @elsewhere(%x) : (tensor<3xf64>) -> tensor<3xf64>")
UNTIL = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i64>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<3xf64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.sine %y : tensor<3xf64>
    stablehlo.return %j, %z : tensor<i64>, tensor<3xf64>
  }
  return %0#1 : tensor<3xf64>
}
"""
PLUGIN = '''
import os

import wengert as wg
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.transforms.ad.linear.vjp import vjp_function
from wengert.transforms.rewriter import Rewriter


@wg.register
class Longer(wg.Strategy):
    """Right: the last cotangent is negated twice, with a barrier between."""

    name = "longer"

    def vjp(self, request, name, residuals):
        function = vjp_function(request, name, residuals)
        last = function.body.block.last_op
        b = Rewriter.before(last)
        x_bar = last.operands[-1]
        last.operands[len(last.operands) - 1] = b.negate(wg.keep_apart([b.negate(x_bar)], last)[0])
        return function


@wg.register
class Wrong(wg.Strategy):
    name = "wrong"

    def vjp(self, request, name, residuals):
        function = vjp_function(request, name, residuals)
        last = function.body.block.last_op
        last.operands[len(last.operands) - 1] = Rewriter.before(last).negate(last.operands[-1])
        return function


@wg.register
class Idle(wg.Strategy):
    """Without effect: what it adds nobody reads."""

    name = "idle"

    def vjp(self, request, name, residuals):
        function = vjp_function(request, name, residuals)
        last = function.body.block.last_op
        Rewriter.before(last).negate(last.operands[-1])
        return function


@wg.register
class Refusing(wg.Strategy):
    name = "refusing"

    def vjp(self, request, name, residuals):
        raise DiagnosticError(Diagnostic("a sine is not yet supported"))


@wg.register
class Failing(wg.Strategy):
    name = "failing"

    def vjp(self, request, name, residuals):
        raise KeyError("lost")


@wg.register
class Dying(wg.Strategy):
    name = "dying"

    def vjp(self, request, name, residuals):
        os._exit(7)
'''
X, C = np.array([0.5, 1.0, 2.0]), np.array([3.0, 4.0, -1.0])


def _write(root: Path, name: str, text: str, **arrays: Any) -> dict[str, Any]:
    folder = root / name
    folder.mkdir()
    (folder / "f64.mlir").write_text(text)
    np.savez(folder / "f64.npz", **arrays)
    return {"name": name, "precisions": ["f64"], "tolerance": {kind: {"f64": 1e-12} for kind in ("out", "jvp", "vjp")}, "ops": {}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    product = {"in_0": X, "out_0": np.sin(X) ** 2, "tan_0": C, "cot_0": C, "vjp_0": C * np.sin(2 * X)}
    until = {"in_0": X, "in_1": np.array(2), "out_0": np.sin(np.sin(X)), "tan_0": C, "cot_0": C, "vjp_0": C * np.cos(np.sin(X)) * np.cos(X)}
    entries = [_write(root, "product", PRODUCT, **product), _write(root, "call", CALL, **product), _write(root, "until", UNTIL, **until)]
    (root / "manifest.json").write_text(json.dumps({"programs": entries}))
    return root


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that a test registers is known to another; what the command sets for its worker processes is undone."""
    monkeypatch.setenv("WENGERT_CACHE", "off")
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    tables: list[dict[Any, Any]] = [plugins.LOADED, plugins._CONTENTS, strategies.STRATEGIES._registered]
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    PASSES.version += 1


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def _compare(corpus: Path, plugin: Path, *words: str) -> tuple[int, dict[str, Any]]:
    out = plugin.with_name("c.json")
    code = main(["compare", str(corpus), "--load", str(plugin), "--json", str(out), *words])
    return code, json.loads(out.read_text())


def test_a_right_strategy_is_compared(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = plugin.with_name("c.csv")
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,direct,longer", "--only", "product,until", "--csv", str(table), "--jobs", "2")
    assert code == 0
    outcomes = {(o["program"], o["strategy"]): o for o in seen["outcomes"]}
    assert len(outcomes) == 6
    assert all(o["status"] == "right" and o["error"] <= 1e-12 and not o["equal_to"] for (_, s), o in outcomes.items() if s != "direct")
    for program in ("product", "until"):
        first, longer = outcomes[program, "transpose"], outcomes[program, "longer"]
        assert longer["ops"] > first["ops"]
        assert longer["flops"] == first["flops"] + 6  # two negations of three elements
        assert all(o[figure] is not None for o in (first, longer) for figure in ("kept", "arena", "seconds", "compile_seconds"))
    mean = next(m for m in seen["means"] if (m["strategy"], m["figure"]) == ("longer", "flops"))
    ratios = [outcomes[p, "longer"]["flops"] / outcomes[p, "transpose"]["flops"] for p in ("product", "until")]
    assert math.isclose(mean["value"], math.sqrt(ratios[0] * ratios[1]))
    assert mean["programs"] == 2
    with table.open() as file:
        assert [(row["program"], row["strategy"], row["flops"]) for row in csv.DictReader(file)] == [(p, s, str(o["flops"])) for (p, s), o in outcomes.items()]
    out = capsys.readouterr().out
    assert "longer: 2 right" in out
    assert "geometric means, in units of transpose" in out


def test_the_command_of_a_worst_program_shows_the_difference(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,longer", "--only", "product")
    assert code == 0
    row = next(w for w in seen["worst"] if w["figure"] == "flops")
    words = shlex.split(row["command"])
    assert words[:2] == ["wengert", "costs"]
    assert row["command"] in capsys.readouterr().out
    assert main([*words[1:], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    by_strategy = {o["strategy"]: o for o in seen["outcomes"]}
    assert (rows["reverse"]["flops"], rows["longer"]["flops"]) == (by_strategy["transpose"]["flops"], by_strategy["longer"]["flops"])
    assert (rows["reverse"]["op_count"], rows["longer"]["op_count"]) == (by_strategy["transpose"]["ops"], by_strategy["longer"]["ops"])


def test_a_wrong_strategy_exits_with_3(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,wrong", "--only", "product")
    assert code == 3
    assert [o["status"] for o in seen["outcomes"]] == ["right", "wrong"]
    assert all(m["programs"] == 0 for m in seen["means"])
    assert "product f64 wrong: wrong: cotangent of input 0 differs by 2.00e+00, tolerance 1e-12" in capsys.readouterr().out


def test_no_effect_after_clean_up(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,idle,longer", "--only", "product")
    assert code == 0
    assert [o["equal_to"] for o in seen["outcomes"]] == ["", "transpose", ""]
    assert not [w for w in seen["worst"] if w["strategy"] == "idle"]
    out = capsys.readouterr().out
    assert "idle: no effect after clean-up (the derivative is that of transpose) on all programs" in out
    assert "longer: no effect" not in out


def test_refusals_and_failures_by_name(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,refusing", "--only", "product,call")
    assert code == 0
    assert [o["status"] for o in seen["outcomes"]] == ["right", "refused", "refused", "refused"]
    out = capsys.readouterr().out
    assert any(line.startswith("product f64 refusing: refused: ") and "a sine is not yet supported" in line for line in out.splitlines())
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,failing", "--only", "product")
    assert code == 3
    assert seen["outcomes"][1]["status"] == "failed"
    assert "lost" in seen["outcomes"][1]["reason"]


def test_a_process_that_dies(corpus: Path, plugin: Path) -> None:
    code, seen = _compare(corpus, plugin, "--strategy", "transpose,dying", "--only", "product")
    assert code == 3
    first, dying = seen["outcomes"]
    assert (first["status"], first["seconds"], first["reason"]) == ("right", None, "not timed: the process died (exit code 7)")
    assert (dying["status"], dying["reason"]) == ("failed", "the process died (exit code 7)")


def test_outcomes_are_recorded(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = plugin.with_name("r.db")
    words = ("--strategy", "transpose,direct,wrong,refusing,failing", "--only", "product", "--records", str(file))
    code, seen = _compare(corpus, plugin, *words)
    assert code == 3
    with Database(file) as database:
        records = {record.work.mode: record for record in database.records()}
        [(run, command, _, _)] = database.runs()
    outcomes = {o["strategy"]: o for o in seen["outcomes"]}
    assert {mode: r.result.status for mode, r in records.items()} == {
        "reverse": "ok", "direct": "ok", "wrong": "wrong", "refusing": "refused", "failing": "failed"
    }  # fmt: skip
    assert "--load" in command
    for mode, strategy in (("reverse", "transpose"), ("direct", "direct")):
        record, outcome = records[mode], outcomes[strategy]
        assert record.run == run
        assert (record.label, record.sizes, record.work.wrt, record.work.of) == ("product", {"dtype": "f64"}, (0,), (0,))
        assert record.result.counts == {name: outcome[name] for name in ("ops", "flops", "kept", "arena")}
        assert list(record.result.samples) == outcome["samples"]
        assert len(record.result.samples) >= 3
        assert record.environment.threads == 1
    assert (records["reverse"].work.plugin, records["wrong"].work.plugin != "") == ("", True)
    assert main(["replay", records["direct"].id, "--records", str(file), "--rounds", "3"]) in (0, 4)
    assert "IR that is run, counts and memory: the same\nresults: the same norms" in capsys.readouterr().out


def test_recorded_comparisons_are_compared(corpus: Path, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.db", "b.db"):
        assert main(["compare", str(corpus), "--only", "product", "--records", str(plugin.with_name(name))]) == 0
    capsys.readouterr()
    assert main(["records", "compare", str(plugin.with_name("a.db")), str(plugin.with_name("b.db")), "--json"]) in (0, 4)
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert [pair["name"] for pair in pairs] == ["product dtype=f64 reverse", "product dtype=f64 direct"]
    assert all(pair["counts"] == {} and pair["status"] == ["ok", "ok"] for pair in pairs)


def test_unknown_strategy(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(corpus), "--strategy", "transpose,dirct"]) == 2
    assert "did you mean 'direct'?" in capsys.readouterr().err
    assert main(["compare", str(corpus), "--dtype", "f16"]) == 1
    assert "no programs in 'f16'" in capsys.readouterr().err


def test_means_and_worst_programs() -> None:
    base = {"a": 1, "b": 10, "c": 0, "d": 4, "e": 5, "f": 6}
    mine = {"a": 4, "b": 10, "c": 3, "d": 1, "e": 10, "f": 18}
    outcomes = [Outcome(p, "f64", s, "right", kept=v) for s, table in (("transpose", base), ("mine", mine)) for p, v in table.items()]
    outcomes += [Outcome("g", "f64", "transpose", "right", kept=1), Outcome("g", "f64", "mine", "wrong", kept=99)]
    mean = next(m for m in means(outcomes, ("transpose", "mine")) if m.figure == "kept")
    assert mean.programs == 5
    assert math.isclose(mean.value, (4 * 1 * 0.25 * 2 * 3) ** (1 / 5))
    assert [(pair.other.program, pair.ratio("kept")) for pair in worst(outcomes, "transpose", "kept")] == [("c", math.inf), ("a", 4), ("f", 3)]
    assert worst(outcomes, "transpose", "flops") == []
    timed = [
        Outcome(p, "f64", s, "right", seconds=v) for p, s, v in (("a", "transpose", 1.0), ("a", "mine", 1.04), ("b", "transpose", 1.0), ("b", "mine", 1.2))
    ]
    assert [pair.other.program for pair in worst(timed, "transpose", "seconds")] == ["b"]


@pytest.mark.parametrize(("left", "text"), [(12.3, "12 s"), (90, "2 min"), (3900, "1 h 5 min")])
def test_durations(left: float, text: str) -> None:
    assert duration(left) == text
