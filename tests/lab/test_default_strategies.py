"""What a Jacobian or a Hessian chooses without being asked: by prediction, by measuring ties, and by what is known from before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs.strategy_programs import BAND, LAYER, SUM, UNTIL, WIDE

import wengert as wg
from wengert import numpy as wnp
from wengert.ir import plugins
from wengert.lab.cli.main import main
from wengert.lab.costs.time_model import shipped_model, write_model
from wengert.lab.strategies import deciding, default
from wengert.lab.strategies import table as tables
from wengert.lab.strategies.choice import UNDECIDED
from wengert.lab.strategies.default import jacobian_passes
from wengert.lab.strategies.measuring import near
from wengert.lab.strategies.remembered import recalled, remember
from wengert.runtime.machine_model import model_path


def _inputs(program: wg.Program) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(x.shape) for x in program.signature.arguments]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that no other test has extended."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugins, "LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    return tmp_path / "cache"


def _never(*_: object, **__: object) -> object:
    raise AssertionError("nothing is measured here: this is known")


@pytest.mark.parametrize("measure", [None, False, True])
def test_what_a_jacobian_chooses_is_known_afterwards(home: Path, monkeypatch: pytest.MonkeyPatch, measure: bool | None):
    first = wg.parse(WIDE)
    x = _inputs(first)[0]
    expected = first.jacobian(measure=measure)(x)[0]
    mode, hessian = first.jacobian_mode(measure=measure), wg.parse(SUM).hessian(measure=measure)(np.ones(300))[0]
    monkeypatch.setattr(deciding, "decided", _never)
    again = wg.parse(WIDE)
    np.testing.assert_array_equal(again.jacobian(measure=measure)(x)[0], expected)
    assert again.jacobian_mode(measure=measure) == mode
    np.testing.assert_array_equal(wg.parse(SUM).hessian(measure=measure)(np.ones(300))[0], hessian)
    with pytest.raises(AssertionError, match="is known"):
        wg.parse(BAND).jacobian(measure=measure)


def test_a_known_jacobian_imports_no_ir(home: Path):
    script = f"""
import sys
import numpy as np
import wengert as wg
program = wg.parse('''{WIDE}''')
jacobian = program.jacobian()
print(jacobian(np.linspace(0, 1, 40))[0].sum(), "xdsl" in sys.modules)
"""
    environment = {**os.environ, "WENGERT_CACHE": str(home)}
    runs = [subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert runs[0][0] == runs[1][0]
    assert [run[1] for run in runs] == ["True", "False"]


def test_what_was_measured_before_goes_before_what_is_predicted(home: Path):
    program = wg.parse(WIDE)
    wrt, of = program.resolve()
    other = "jacrev" if jacobian_passes(program, wrt, of, None) != "jacrev" else "jacfwd"
    remember(program, "jacobian", wrt, of, "measured", other)
    assert jacobian_passes(wg.parse(WIDE), wrt, of, None) == other
    assert jacobian_passes(wg.parse(WIDE), wrt, of, True) == other
    assert jacobian_passes(wg.parse(WIDE), wrt, of, False) != other


def test_a_table_that_measures_ties_tells_later_jacobians(home: Path, monkeypatch: pytest.MonkeyPatch):
    program = wg.parse(WIDE)
    names = ["jacfwd", "jacrev", "compressed columns", "compressed rows"]
    monkeypatch.setattr(tables, "_undecided", lambda rows, at_inputs: [row for row in rows if row.plan.at_once is None])
    seen = wg.strategies(program, strategies=["transpose"])
    measured_names = {row.name: row.measured.times.minimum for row in seen.rows if row.measured is not None and row.plan.at_once is None}
    assert set(names) <= measured_names.keys()
    close = [row for row in seen.rows if row.plan.at_once is None and row.predicted is not None]
    best = min((row for row in close), key=lambda row: measured_names[row.name])
    kept = recalled(program, "jacobian", *program.resolve(), "measured")
    alone = len(near([row.unmeasured for row in close], UNDECIDED)) < 2
    assert kept == (None if alone else best.plan.passes or best.name)


def test_the_model_of_the_machine_is_part_of_what_is_known(home: Path, monkeypatch: pytest.MonkeyPatch):
    program = wg.parse(WIDE)
    wrt, of = program.resolve()
    remember(program, "jacobian", wrt, of, "predicted", "jacrev")
    remember(program, "jacobian", wrt, of, "measured", "jacrev")
    assert recalled(program, "jacobian", wrt, of, "predicted") == "jacrev"
    path = model_path()
    assert path is not None
    write_model(shipped_model(), path)
    assert recalled(program, "jacobian", wrt, of, "predicted") is None
    assert recalled(program, "jacobian", wrt, of, "measured") == "jacrev"
    monkeypatch.setenv("WENGERT_NUM_THREADS", "3")
    assert recalled(program, "jacobian", wrt, of, "measured") is None
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert recalled(wg.parse(WIDE), "jacobian", wrt, of, "measured") is None


def test_ties_are_measured_by_default_and_not_with_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)

    def told(*options: str) -> dict[str, Any]:
        assert main(["strategies", str(path), "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    default = told()["decision"]
    assert default["by"] == "measurement"
    assert len(default["measured"]) > 1
    assert "; predicted was " in default["line"]
    assert default["predicted"]["row"] in {row["name"] for row in told("--predict")["rows"]}
    predicted = told("--predict")
    assert predicted["decision"]["by"] == "prediction"
    assert not any(row["measured"] for row in predicted["rows"])
    assert predicted["decision"]["line"].rstrip(".").endswith("predicted") or "is chosen" in predicted["decision"]["line"]
    assert main(["strategies", str(path), "--predict", "--measure"]) == 2


def test_what_is_clear_is_not_measured():
    seen = wg.strategies(wg.parse(SUM), strategies=["transpose"])
    numbers = [float(row.predicted.seconds.constant or 0) for row in seen.rows if row.predicted is not None]
    if sum(n <= UNDECIDED * min(numbers) for n in numbers) == 1:
        assert "no other row is predicted within 50 %" in seen.decision
    assert all(row.measured is None for row in wg.strategies(wg.parse(SUM), measure=False).rows)


def test_nothing_is_measured_at_drawn_inputs_where_iterations_are_given_or_not_known():
    for values in ({}, {"T0": 7}):
        seen = wg.strategies(wg.parse(UNTIL), values=values)
        assert all(row.measured is None for row in seen.rows)


def test_traced_derivatives_say_what_is_measured(monkeypatch: pytest.MonkeyPatch):
    asked: list[bool | None] = []
    monkeypatch.setattr(default, "jacobian_passes", lambda program, wrt, of, measure: asked.append(measure) or "jacrev")
    monkeypatch.setattr(default, "hessian_plan", lambda program, wrt, of, measure: asked.append(measure) or "reverse over reverse")
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(wg.jacobian(wnp.sin, measure=True)(x), np.diag(np.cos(x)))
    np.testing.assert_allclose(wg.hessian(lambda x: wnp.sum(x**3), measure=False)(x), np.diag(6 * x), atol=1e-12)
    assert asked == [True, False]
    monkeypatch.undo()
    np.testing.assert_allclose(wg.jacobian(wnp.sin, measure=True)(x), np.diag(np.cos(x)), atol=1e-15)


def test_ties_are_settled_by_measuring_once(home: Path, monkeypatch: pytest.MonkeyPatch):
    runs: list[int] = []
    measuring = deciding.timed
    monkeypatch.setattr(deciding, "timed", lambda rows, inputs: runs.append(len(rows)) or measuring(rows, inputs))
    monkeypatch.setattr(deciding, "near", lambda rows, slower: list(rows)[:2])
    wg.parse(WIDE).jacobian(measure=False)
    assert not runs
    wg.parse(WIDE).jacobian()
    assert runs == [2]
    wg.parse(WIDE).jacobian()
    wg.parse(WIDE).jacobian(measure=True)
    assert runs == [2]


def test_long_runs_are_measured_only_if_asked_for(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deciding, "timed", _never)
    monkeypatch.setattr(deciding, "near", lambda rows, slower: list(rows)[:2])
    monkeypatch.setattr(deciding, "SHORT", 1e-9)
    wg.parse(WIDE).jacobian()
    with pytest.raises(AssertionError):
        wg.parse(WIDE).jacobian(measure=True)


def test_programs_that_might_not_end_are_not_run(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deciding, "timed", _never)
    for measure in (None, True):
        assert float(wg.parse(UNTIL).jacobian(measure=measure)(0.5, 1)[0]) == pytest.approx(np.cos(0.5))
