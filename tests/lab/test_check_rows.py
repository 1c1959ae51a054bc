"""The check of rows of the table of strategies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.lab.check.rows import check_rows
from wengert.lab.cli.main import main
from wengert.lab.strategies.plan import JacobianFunction
from wengert.runtime.errors import InputError


def program() -> wg.Program:
    x = np.linspace(0, 1, 5)
    return wg.jit(lambda x, y: wnp.sum((x[1:] - x[:-1] ** 2) ** 2) * wnp.tanh(y)).program(x, np.float64(0.3))


def test_every_row_is_checked_once():
    report = check_rows(program())
    assert report
    assert {row.verdict for row in report.rows} == {"ok"}
    names = [(row.derivative, row.name) for row in report.rows]
    assert len(set(names)) == len(names)
    assert {("jacobian", "jacrev"), ("jacobian", "eliminated"), ("hessian", "edge pushing"), ("hessian", "hvps")} <= set(names)
    vector = wg.jit(wnp.sin).program(np.ones(3))
    assert {row.derivative for row in check_rows(vector).rows} == {"jacobian"}


@pytest.mark.parametrize(("name", "derivative"), [("jacrev", "jacobian"), ("edge pushing", "hessian")])
def test_a_wrong_row_is_seen(name: str, derivative: str, monkeypatch: pytest.MonkeyPatch):
    right = JacobianFunction.__call__

    def wrong(self: JacobianFunction, *inputs: Any) -> tuple[Any, ...]:
        blocks = right(self, *inputs)
        return (blocks[0] * 1.001, *blocks[1:]) if self.plan.name == name else blocks

    monkeypatch.setattr(JacobianFunction, "__call__", wrong)
    report = check_rows(program())
    assert report.outcome == "MISMATCH"
    assert [(row.derivative, row.name) for row in report.rows if row.verdict == "MISMATCH"] == [(derivative, name)]
    assert f"MISMATCH: {name}" in str(report)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "p.mlir"
    path.write_text(str(program().module))
    assert main(["check", str(path), "--rows", "jacrev,edge pushing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  jacobian  jacrev        ok: error")
    assert lines[2].startswith("  hessian   edge pushing  ok: error")
    assert lines[-1] == "ok"
    assert main(["check", str(path), "--rows", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "ok"
    assert main(["check", str(path), "--rows", "jacfw"]) == 1
    assert "there is no row 'jacfw' for this program" in capsys.readouterr().err
    with pytest.raises(InputError, match="did you mean 'jacrev'"):
        check_rows(program(), rows=["jacrevs"])


def test_rows_without_a_meaning_for_complex_numbers_are_skipped_with_the_reason():
    z = np.array([0.3 + 0.4j, -1.0 + 0.2j])
    length = wg.jit(lambda z: wnp.real(z * wnp.conj(z)) * wnp.exp(wnp.imag(z))).program(z)
    report = check_rows(length)
    assert report
    verdicts = {row.name: row.verdict for row in report.rows}
    assert verdicts["jacrev"] == verdicts["vjps"] == verdicts["vjps direct"] == "ok"
    assert verdicts["jacfwd"] == verdicts["eliminated"] == "skipped"
    assert "argument 0 (z): tensor<2xcomplex<f64>> is complex" in str(report)

    spiral = wg.jit(lambda x: wnp.exp(x * 1j) * x).program(np.array([0.3, 0.7]))
    verdicts = {row.name: row.verdict for row in check_rows(spiral).rows}
    assert verdicts["jacfwd"] == verdicts["jvps"] == "ok"
    assert verdicts["jacrev"] == "skipped"

    square = check_rows(wg.jit(lambda z: z * z).program(z))
    assert {row.verdict for row in square.rows} == {"skipped"}
    assert str(square).endswith("no row was checked")


def test_second_derivatives_of_a_complex_argument_have_no_rows():
    energy = wg.jit(lambda z: wnp.sum(wnp.real(z * wnp.conj(z)))).program(np.array([0.3 + 0.4j]))
    assert {row.derivative for row in check_rows(energy).rows} == {"jacobian"}


def test_a_point_at_which_results_are_not_finite_settles_nothing():
    x = np.array([4.0, -1.0])
    report = check_rows(wg.jit(lambda x, a: wnp.sqrt(x) * a).program(x, np.float64(2.0)), [x, np.float64(2.0)])
    assert report.outcome == "not settled"
    assert "MISMATCH" not in {row.verdict for row in report.rows}
