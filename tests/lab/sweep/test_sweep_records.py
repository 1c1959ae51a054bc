"""What a sweep recorded is not run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_model import MODEL, recorded_ids, sweep

from wengert.lab.cli.main import main
from wengert.lab.records.database import Database
from wengert.runtime.errors import InputError

pytestmark = pytest.mark.usefixtures("folder")


def test_records_and_resuming(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "model.py:layer --over mode=primal,reverse --measure --rounds 3 --budget 0.01 --records r.db"
    first = sweep(f"{words} --over n=2..4", capsys)
    assert all(len(cell["result"]["samples"]) == 3 and not cell["again"] for cell in first["cells"])
    with Database(folder / "r.db") as database:
        records = {record.id: record for record in database.records()}
        assert [cell["record"] for cell in first["cells"]] == list(records)
        one = records[first["cells"][0]["record"]]
        assert list(one.result.samples) == first["cells"][0]["result"]["samples"]
        exec(MODEL, names := {})
        np.testing.assert_array_equal(database.given(one.work.given)[1], names["layer"](2)[1][1])
    again = sweep(f"{words} --over n=2..8 --resume", capsys)
    assert [cell["again"] for cell in again["cells"]] == [True] * 4 + [False] * 2
    assert again["cells"][:4] == [{**cell, "again": True} for cell in first["cells"]]
    main(["replay", one.id, "--records", "r.db", "--rounds", "3"])
    assert "results: the same norms" in capsys.readouterr().out
    (folder / "model.py").write_text(MODEL.replace("wnp.tanh(w @ x)", "wnp.sin(w @ x)"))
    changed = subprocess.run(
        [sys.executable, "-m", "wengert", "sweep", *words.split(), "--over", "n=2..4", "--resume", "--json"], capture_output=True, text=True, check=True
    )
    assert not any(cell["again"] for cell in json.loads(changed.stdout)["cells"])


PLUGIN = """
import wengert as wg
from wengert.transforms.ad.linear.vjp import vjp_function
from wengert.transforms.rewriter import Rewriter


@wg.register
class Mine(wg.Strategy):
    name = "mine"

    def vjp(self, request, name, residuals):
        function = vjp_function(request, name, residuals)
        last = function.body.block.last_op
        for _ in range(2 * TIMES):
            negated = Rewriter.before(last).negate(last.operands[-1])
            last.operands[len(last.operands) - 1] = wg.keep_apart([negated], last)[0]
        return function
"""


def test_versions_of_a_plugin_are_compared(folder: Path) -> None:
    """A worse version of one's own strategy is a regression, and is not taken for what was recorded of the one before."""

    def wengert(words: str, code: int = 0) -> Any:
        done = subprocess.run([sys.executable, "-m", "wengert", *words.split()], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    words = "sweep sine.mlir --load mine.py --over n=4,8 --over mode=reverse,mine --records r.db --resume --json"
    for times in (1, 2):
        (folder / "mine.py").write_text(PLUGIN.replace("TIMES", str(times)))
        cells = wengert(words)["cells"]
        assert [cell["again"] for cell in cells] == [times == 2, False] * 2
        flops = {(cell["sizes"]["n"], cell["mode"]): cell["result"]["counts"]["flops"] for cell in cells}
        assert flops[8, "mine"] == flops[8, "reverse"] + 2 * 8 * times
    with Database(folder / "r.db") as database:
        before, after = (run[0] for run in database.runs())
    seen = wengert(f"records compare {before} {after} --records r.db --json", 4)
    assert [(pair["name"], list(pair["counts"])[:2]) for pair in seen["pairs"]] == [("sine n=4 mine", ["ops", "flops"]), ("sine n=8 mine", ["ops", "flops"])]
    assert any(note.startswith("plug-ins: ") for note in seen["notes"])


def test_what_was_counted_is_measured_when_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sine.mlir --over n=4 --over mode=primal --records r.db --resume"
    assert sweep(words, capsys)["cells"][0]["result"]["samples"] == []
    assert sweep(words, capsys)["cells"][0]["again"]
    measured = sweep(f"{words} --measure --rounds 3", capsys)["cells"][0]
    assert (measured["again"], len(measured["result"]["samples"])) == (False, 3)
    assert sweep(words, capsys)["cells"][0]["again"]


def test_refusals_are_not_tried_again_and_failures_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sine.mlir --over n=20000 --over mode=hessian --records r.db --resume"
    assert [sweep(words, capsys, 1)["cells"][0]["again"] for _ in range(2)] == [False, True]
    slow = "sine.mlir --over n=8 --over mode=primal --records r.db --resume --measure --timeout 0.0001"
    reasons = [sweep(slow, capsys, 1)["cells"][0] for _ in range(2)]
    assert all(cell["result"]["status"] == "failed" and not cell["again"] for cell in reasons)


def test_a_sweep_that_is_killed_goes_on(folder: Path) -> None:
    words = [sys.executable, "-m", "wengert", "sweep", "sine.mlir", "--over", "n=2..1024", "--over", "mode=primal,reverse", "--measure"]
    words += ["--records", "r.db", "--resume", "--rounds", "5", "--json"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while not (folder / "r.db").is_file() or _count(folder / "r.db") < 4:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    before = recorded_ids(folder / "r.db")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    cells = json.loads(done.stdout)["cells"]
    assert len(cells) == 20
    assert [cell["record"] for cell in cells if cell["again"]] == before  # nothing is lost, nothing twice
    assert _count(folder / "r.db") == 20


def _count(path: Path) -> int:
    try:
        return len(recorded_ids(path))
    except InputError:  # it is being made
        return 0
