"""Sweeps as files, and their plots."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from sweep_model import error_of, recorded_ids, sweep

from wengert.lab.cli.main import main
from wengert.lab.records.record import Result
from wengert.lab.sweep import plot
from wengert.lab.sweep.axes import axis
from wengert.lab.sweep.series import Cell, SweepReport

pytestmark = pytest.mark.usefixtures("folder")


def test_a_sweep_as_a_file(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "layer.toml").write_text(
        'program = "model.py:layer"\nrecords = "r.db"\nwrt = [1]\n\n[over]\nn = "2..8"\nmode = ["forward", "reverse"]\ndtype = "float32"\n'
    )
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    seen = sweep("../layer.toml", capsys)
    assert [(cell["sizes"], cell["mode"]) for cell in seen["cells"]] == [({"n": n, "dtype": "float32"}, m) for n in (2, 4, 8) for m in ("forward", "reverse")]
    assert [cell["result"]["directions"] for cell in seen["cells"]] == [6, 3, 12, 3, 24, 3]  # by w only
    assert len(recorded_ids(folder / "r.db")) == 6
    other = sweep("../layer.toml --over n=16 --over mode=primal --records other.db", capsys)
    assert [cell["sizes"] for cell in other["cells"]] == [{"dtype": "float32", "n": 16}]
    assert len(recorded_ids(folder / "elsewhere" / "other.db")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n = [", "s.toml: "),
        ("[over]\nn = 2", "names no program"),
        ('program = "sine.mlir"\nmesure = true', "did you mean 'measure'?"),
        ('program = "sine.mlir"\nmeasure = "yes"', "measure is true or false, found 'yes'"),
        ('program = "sine.mlir"\nover = 3', "over is a table"),
        ('program = "sine.mlir"\n[over]\nn = 2.5', "n: expected a range"),
    ],
)
def test_files_that_are_wrong(text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.toml").write_text(text)
    assert message in error_of("s.toml", capsys)


# -- plots


def _report(measured: bool = True) -> SweepReport:
    """Forward mode takes n runs of n, reverse mode 40 of n."""
    cells = [
        Cell({"n": n}, mode, Result("ok", counts={"flops": n}, samples=(n * 1e-8,), predicted=n * 2e-8, directions=runs))
        for n in (2, 8, 32, 128)
        for mode, runs in (("forward", n), ("reverse", 40))
    ]
    return SweepReport("model.py:f", (axis("n", [2, 8, 32, 128]),), ("forward", "reverse"), tuple(cells), measured)


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = plot.draw(_report(), ("time", "full", "flops"))
    time, full, flops = figure.axes
    assert [a.get_ylabel() for a in figure.axes] == ["time of one run (s)", "time of the full derivative (s)", "floating-point operations of one run"]
    assert {a.get_xlabel() for a in figure.axes} == {"size n (elements)"}
    assert all(a.get_xscale() == a.get_yscale() == "log" for a in figure.axes)
    assert [list(line.get_xdata()) for line in time.lines] == [[2, 8, 32, 128]] * 4
    drawn = [line for line in time.lines if line.get_linestyle() == "-"]
    assert len({line.get_marker() for line in drawn}) == len({line.get_color() for line in drawn}) == 2
    np.testing.assert_allclose(full.lines[0].get_ydata(), [n * n * 1e-8 for n in (2, 8, 32, 128)])
    marked = [line.get_xdata()[0] for line in full.lines if line.get_linestyle() == ":"]
    assert marked == [pytest.approx(40)]
    assert [text.get_text() for text in full.get_legend().get_texts()] == ["forward: power 2.00 ± 0.00", "reverse: power 1.00 ± 0.00"]
    assert len(flops.lines) == 2
    for name in ("a.svg", "b.svg"):
        plot.save(_report(), ("time", "full"), str(tmp_path / name))
    svg = (tmp_path / "a.svg").read_text()
    assert svg == (tmp_path / "b.svg").read_text()
    assert all(text in svg for text in ("<svg", "time of one run (s)", "forward: power", "model.py:f"))
    assert plot.draw(_report(measured=False), ("time",)).axes[0].get_ylabel() == "time of one run (s), predicted"


def test_a_plot_by_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["sweep", "sine.mlir", "--over", "n=2..16", "--plot", "s.svg", "--figure", "flops,peak"]) == 0
    assert "memory (bytes)" in (folder / "s.svg").read_text()


def test_without_the_plotting_library(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = error_of("sine.mlir --over n=2..16 --plot s.svg", capsys)
    assert "plots are drawn by matplotlib, which is not installed: pip install" in error


def test_a_formula_that_is_not_known_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("model.py:odd --over n=3,5,7 --over mode=primal", capsys)
    assert seen["growth"][0]["flops"]["formula"] is None
    assert "ValueError: even" in seen["growth"][0]["flops"]["problem"]
    assert math.isclose(seen["growth"][0]["exponents"]["flops"]["exponent"], 1)
