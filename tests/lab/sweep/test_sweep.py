"""Sweeps of functions, of programs with open extents and by files: their counts are those of the programs, their growth that of known powers, and what
is recorded is not run again."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_programs import OPEN

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.time_model import predicted_time
from wengert.lab.records.database import Database
from wengert.lab.records.record import Result
from wengert.lab.sweep import plot
from wengert.lab.sweep.axes import axis, points, read_axes, read_axis
from wengert.lab.sweep.crossover import crossover
from wengert.lab.sweep.fit import growth
from wengert.lab.sweep.series import Cell, SweepReport
from wengert.runtime.errors import InputError
from wengert.transforms.analysis.program_cost import program_cost

MODEL = '''
import numpy as np
import wengert as wg
import wengert.numpy as wnp


def mix(n, rows=40):
    """n arguments and as many results as rows: forward mode for a full derivative costs n runs, reverse mode as many as there are rows."""
    def f(x):
        return wnp.sum(wnp.sin(wnp.outer(x, wnp.arange(float(rows)))), axis=0)
    return f, wg.ArraySpec((n,), "float64")


def layer(n, dtype="float64"):
    random = np.random.default_rng(0)
    return wnp.tanh if False else (lambda x, w: wnp.tanh(w @ x)), (random.standard_normal(n).astype(dtype), random.standard_normal((3, n)).astype(dtype))


def program(n):
    return wg.jit(wnp.sin).program(wg.ArraySpec((n,), "float64"))


def text(n):
    return str(program(n))


def decay(x, a, power=1):
    return wnp.sum(wnp.exp(-a * x) ** power)


def number(n):
    return n


def odd(n):
    if n % 2 == 0:
        raise ValueError("even")
    return program(n)


def dying(n):
    import os
    if n == 4:
        os._exit(7)
    return program(n)
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "sine.mlir").write_text(OPEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweep(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main(["sweep", *words.split(), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def error_of(words: str, capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    assert main(["sweep", *words.split()]) == code
    return capsys.readouterr().err


# -- axes


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=2..16", (2, 4, 8, 16)),
        ("n=3..20", (3, 6, 12)),
        ("n=2..8:+2", (2, 4, 6, 8)),
        ("n=2..4096:*8", (2, 16, 128, 1024)),
        ("n=4,8,32", (4, 8, 32)),
        ("n = 7", (7,)),
        ("dtype=float64,float32", ("float64", "float32")),
        ("mode=transpose,direct", ("reverse", "direct")),
    ],
)
def test_axes(text: str, values: tuple[Any, ...]) -> None:
    assert read_axis(text).values == values


@pytest.mark.parametrize("text", ["n", "n=", "=2", "n=8..2", "n=0..4", "n=2..8:+0", "n=2..8:*1", "2=n", "mode=forwrd", "n=1..100000:+1"])
def test_texts_that_are_no_axes(text: str) -> None:
    with pytest.raises(InputError):
        read_axis(text)


def test_small_sizes_come_first() -> None:
    axes, modes = read_axes([axis("d", [3, 5]), axis("mode", "forward"), axis("n", "2..4")])
    assert modes == ("forward",)
    assert list(points(axes)) == [{"d": d, "n": n} for d in (3, 5) for n in (2, 4)]
    axes, modes = read_axes([axis("dtype", ["a", "b"]), axis("n", "2..4")])
    assert list(points(axes)) == [{"dtype": t, "n": n} for n in (2, 4) for t in ("a", "b")]
    assert modes == ("primal", "forward", "reverse")
    with pytest.raises(InputError, match="twice"):
        read_axes([axis("n", [3]), axis("n", [4])])


# -- growth and crossovers


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_growth_of_powers(power: float) -> None:
    sizes = [2.0**k for k in range(1, 13)]
    fitted = growth(sizes, [7 * x**power for x in sizes])
    assert fitted is not None
    assert fitted.exponent == pytest.approx(power)
    assert fitted.error == pytest.approx(0, abs=1e-12)
    assert fitted.sizes == tuple(sizes[6:])


def test_growth_looks_at_large_sizes_and_has_an_error() -> None:
    sizes = [2.0**k for k in range(1, 13)]
    fitted = growth(sizes, [1e4 + x**2 for x in sizes])
    assert fitted is not None
    assert 1.5 < fitted.exponent < 2
    assert fitted.error is not None
    assert fitted.error > 0.03
    noise = np.random.default_rng(0).standard_normal((200, 12))
    fits = [growth(sizes, list(np.array(sizes) * np.exp(0.1 * row))) for row in noise]
    off = [abs(fit.exponent - 1) / fit.error for fit in fits if fit is not None and fit.error]
    assert 0.85 < np.mean([o < 2.776 for o in off]) <= 1  # Student's t with 4 degrees of freedom: 95 %
    assert growth([2.0], [3.0]) is None
    assert growth([2.0, 4.0], [3.0, 0.0]) is None
    two = growth([2.0, 4.0], [3.0, 6.0])
    assert two is not None
    assert (str(two), two.error) == ("1.00", None)


def test_crossovers_of_powers() -> None:
    sizes = [2.0**k for k in range(1, 8)]
    seen = crossover(("forward", "reverse"), {n: n**2 for n in sizes}, {n: 40 * n for n in sizes})
    [crossing] = seen.crossings
    assert crossing.size == pytest.approx(40)
    assert (crossing.below, crossing.above, crossing.before, crossing.after) == (32, 64, "forward", "reverse")
    assert str(seen) == "at 40 (forward below, reverse above)"
    never = crossover(("a", "b"), {2.0: 1.0, 4.0: 1.0}, {2.0: 3.0, 4.0: 5.0})
    assert str(never) == "none: a takes less (3 times at 2, 5 times at 4)"
    noise = crossover(("a", "b"), dict.fromkeys(sizes, 1.0), {n: 1 + 0.04 * (-1) ** k for k, n in enumerate(sizes)})
    assert (noise.crossings, str(noise)) == ((), "none: a tie within 5 % at all sizes")
    late = crossover(("a", "b"), dict.fromkeys(sizes, 1.0), {n: 1.01 if n < 64 else 0.5 for n in sizes})
    assert str(late) == "none: b takes less (a tie at 2, 2 times at 128)"
    between = crossover(("a", "b"), dict.fromkeys((2.0, 4.0, 8.0, 16.0), 1.0), {2.0: 2.0, 4.0: 1.02, 8.0: 0.98, 16.0: 0.5})
    assert [(c.below, c.above) for c in between.crossings] == [(4, 8)]
    assert str(crossover(("a", "b"), {2.0: 1.0}, {2.0: 1.0})) == "none: the same at all sizes"
    assert str(crossover(("a", "b"), {2.0: 1.0}, {})) == "not known"


# -- sweeps


def test_a_function_of_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("model.py:mix --over n=2..64 --over mode=forward,reverse", capsys)
    cells = {(cell["sizes"]["n"], cell["mode"]): cell["result"] for cell in seen["cells"]}
    assert list(cells) == [(n, mode) for n in (2, 4, 8, 16, 32, 64) for mode in ("forward", "reverse")]
    exec(MODEL, names := {})
    for n in (2, 64):
        function, spec = names["mix"](n)
        program = wg.jit(function).program(spec)
        for mode, derived, runs in (("forward", program.jvp(), n), ("reverse", program.vjp(), 40)):
            seconds = predicted_time(derived).seconds.constant
            assert seconds is not None
            assert cells[n, mode]["counts"]["flops"] == int(program_cost(derived.optimized_module).flops)
            assert cells[n, mode]["counts"]["peak"] == compiled(derived).memory.total
            assert cells[n, mode]["predicted"] == float(seconds)
            assert cells[n, mode]["directions"] == runs
    [by] = seen["crossovers"].values()
    flops = {mode: {n: cells[n, mode]["counts"]["flops"] * cells[n, mode]["directions"] for n in (32, 64)} for mode in ("forward", "reverse")}
    assert flops["forward"][32] < flops["reverse"][32]
    assert flops["forward"][64] > flops["reverse"][64]
    [crossing] = by["flops"]["crossings"]
    assert 32 < crossing["size"] < 64
    forward = seen["growth"][0]
    assert forward["exponents"]["flops"]["exponent"] == pytest.approx(1, abs=0.02)
    assert forward["flops"] == {"formula": "280 n - 80", "problem": None}
    assert cells[64, "forward"]["counts"]["flops"] == 280 * 64 - 80


@pytest.mark.parametrize("name", ["program", "text"])
def test_what_a_function_may_return(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep(f"model:{name} --over n=3 --over mode=primal", capsys)
    [cell] = seen["cells"]
    assert cell["result"]["counts"]["flops"] == 3
    assert seen["growth"] == []


def test_other_axes_are_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("model.py:layer --over n=2..8 --over dtype=float64,float32 --over mode=primal", capsys)
    moved = {tuple(cell["sizes"].values()): cell["result"]["counts"]["moved"] for cell in seen["cells"]}
    assert all(moved[n, "float64"] == 2 * moved[n, "float32"] for n in (2, 4, 8))
    assert [one["series"] for one in seen["growth"]] == ["primal dtype=float64", "primal dtype=float32"]


def test_a_function_of_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("model.py:decay --shapes n, --over n=4,8 --over power=2 --over mode=reverse --dtype float32", capsys)
    assert [cell["sizes"] for cell in seen["cells"]] == [{"n": 4, "power": 2}, {"n": 8, "power": 2}]
    assert all(cell["result"]["status"] == "ok" for cell in seen["cells"])
    assert seen["cells"][0]["result"]["counts"]["peak"] < 4 * 8 * 4


def test_open_extents(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("sine.mlir --over n=2..8 --over mode=primal,forward,reverse,jacfwd,jacrev,hvp,hessian,direct,recompute-all", capsys)
    flops = {(cell["sizes"]["n"], cell["mode"]): cell["result"]["counts"]["flops"] for cell in seen["cells"]}
    program = wg.load("sine.mlir").specialize((8,))
    assert flops[8, "hessian"] == int(program_cost(program.hessian().optimized_module).flops)
    assert flops[8, "jacrev"] == int(program_cost(program.jacrev().optimized_module).flops)
    assert {mode: flops[8, mode] for mode in ("primal", "forward", "reverse")} == {"primal": 16, "forward": 56, "reverse": 56}
    named = sweep("sine.mlir --over rows=2..8 --shapes rows --over mode=primal", capsys)
    assert [cell["result"]["counts"]["flops"] for cell in named["cells"]] == [4, 8, 16]


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "model.py:mix", "--over", "n=2..64", "--over", "mode=forward,reverse"]) == 0
    out = capsys.readouterr().out
    assert "(n = 16, 32, 64)" in out
    assert "280 n - 80" in out
    assert "forward and reverse:\n  predicted  at " in out
    assert "\n  by flops   at 4" in out


LOOP = """func.func public @main(%x: tensor<?xf64>, %k: tensor<i64>) -> tensor<?xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<?xf64>
  cond {
    %c = stablehlo.compare LT, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.sine %y : tensor<?xf64>
    stablehlo.return %j, %z : tensor<i64>, tensor<?xf64>
  }
  return %0#1 : tensor<?xf64>
}
"""


def test_loops_run_as_often_at_all_sizes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loop.mlir").write_text(LOOP)
    seen = sweep("loop.mlir --over n=2..64 --over mode=primal,reverse --seed 1", capsys)
    [times] = {value for cell in seen["cells"] for value in cell["result"]["values"].values()}
    assert times > 0
    flops = {cell["sizes"]["n"]: cell["result"]["counts"]["flops"] for cell in seen["cells"] if cell["mode"] == "primal"}
    assert flops == {n: times * n for n in (2, 4, 8, 16, 32, 64)}
    assert seen["growth"][0]["flops"]["formula"] == "T0 n"
    assert main(["sweep", "loop.mlir", "--over", "n=2,4", "--seed", "1"]) == 0
    assert f"T0 (iterations, or branches taken) is {times} in these runs" in capsys.readouterr().out


def test_modes_without_an_effect_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "sine.mlir", "--over", "n=4,8", "--over", "mode=reverse,direct,save-all"]) == 0
    out = capsys.readouterr().out
    report = wg.sweep("sine.mlir", {"n": [4, 8]}, ["reverse", "direct", "save-all"])
    derived = {series.mode: [cell.result.derived for cell in series.cells.values()] for series in report.series}
    assert derived["reverse"] == derived["save-all"]
    for mode in ("direct", "save-all"):
        said = f"{mode}: no effect after clean-up, the program is that of reverse at all sizes" in out
        assert said == (derived[mode] == derived["reverse"])


def test_modes_that_are_refused_do_not_stop_others(capsys: pytest.CaptureFixture[str]) -> None:
    seen = sweep("sine.mlir --over n=4,20000 --over mode=primal,hessian", capsys)
    cells = {(cell["sizes"]["n"], cell["mode"]): cell["result"] for cell in seen["cells"]}
    assert [cells[key]["status"] for key in ((4, "primal"), (4, "hessian"), (20000, "primal"), (20000, "hessian"))] == ["ok", "ok", "ok", "refused"]
    assert "of memory, more than half" in cells[20000, "hessian"]["reason"]


def test_sizes_of_which_there_is_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "model.py:odd", "--over", "n=2,3", "--over", "mode=primal,reverse"]) == 0
    out = capsys.readouterr().out
    assert "all modes at n=2: failed: ValueError: even (" in out
    assert "model.py:" in out
    seen = sweep("model.py:dying --over n=2..8 --over mode=primal", capsys)
    assert [cell["result"]["status"] for cell in seen["cells"]] == ["ok", "failed", "ok"]
    assert seen["cells"][1]["result"]["reason"] == "the process died (exit code 7)"
    assert sweep("model.py:number --over n=2 --over mode=primal", capsys, 1)["cells"][0]["result"]["reason"].startswith("model.py:number(n=2) returned int")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("model:layr --over n=2", "did you mean 'layer'?"),
        ("modl:layer --over n=2", "there is no module 'modl'"),
        ("other.py:f --over n=2", "there is no file other.py"),
        ("model.py:layer --over m=2", "has no size 'm'; there are: n, dtype"),
        ("model.py:layer", "give n too, as in --over n=2..64"),
        ("model.py:decay --shapes n,m --over n=2", "no value for 'm'"),
        ("sine.mlir", "leaves extents open: give their values, as in --over n=2..4096"),
        ("sine.mlir --over n=2 --over m=2", "as in --shapes nxd,d"),
        ("sine.mlir --over dtype=a", "are numbers"),
        ("sine.mlir --over n=2 --resume", "name their file with --records"),
        ("sine.mlir --over n=2 --backend gpux", "there is no backend 'gpux'"),
        ("sine.mlir --over n=2 --plot nowhere/s.svg", "there is no folder nowhere"),
        ("sine.mlir --over n=2 --plot s.svg --figure tme", "there is no figure 'tme' to plot"),
        ("none.mlir --over n=2", "No such file"),
        ("layer --over n=2", "expected FILE.mlir, FILE.py:function or module:function"),
    ],
)
def test_what_is_wrong(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    if words.startswith("model.py:decay"):
        main(["sweep", *words.split()])
        assert message in capsys.readouterr().out
        return
    assert message in error_of(words, capsys)


def test_a_mode_that_is_none_is_a_mistake_in_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    error = error_of("sine.mlir --over n=2 --over mode=forwrd", capsys, 2)
    assert "there is no mode 'forwrd'; did you mean 'forward'?" in error


# -- in Python


def test_in_python() -> None:
    exec(MODEL, names := {})
    report = wg.sweep(names["mix"], {"n": "2..64", "rows": 20}, ["forward", "transpose"])
    assert report.modes == ("forward", "reverse")
    assert [cell.sizes for cell in report.cells][:2] == [{"n": 2, "rows": 20}] * 2
    assert [round(c.size) for c in report.crossovers()["forward and reverse rows=20"]["flops"].crossings] == [20]
    assert "sweep of mix" in str(report)
    assert "<pre>" in report._repr_html_()
    by_text = wg.sweep("sine.mlir", {"n": [2, 4]}, ["primal"], measure=True, rounds=3, records="r.db")
    assert [len(cell.result.samples) for cell in by_text.cells] == [3, 3]
    assert _ids(Path("r.db")) == [cell.record for cell in by_text.cells]
    assert all(cell.again for cell in wg.sweep("sine.mlir", {"n": [2, 4]}, ["primal"], measure=True, records="r.db", resume=True).cells)
    of_arrays = wg.sweep(names["decay"], {"n": [4]}, ["primal"], shapes="n,")
    assert of_arrays.cells[0].result.status == "ok"
    with pytest.raises(InputError, match="no size 'm'"):
        wg.sweep(names["mix"], {"m": [2]})
    with pytest.raises(InputError, match="there is no mode 'forwrd'"):
        wg.sweep(names["mix"], {"n": [2]}, ["forwrd"])
    with pytest.raises(InputError, match="name their file"):
        wg.sweep(names["mix"], {"n": [2]}, resume=True)


# -- records


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
    before = _ids(folder / "r.db")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    cells = json.loads(done.stdout)["cells"]
    assert len(cells) == 20
    assert [cell["record"] for cell in cells if cell["again"]] == before  # nothing is lost, nothing twice
    assert _count(folder / "r.db") == 20


def _count(path: Path) -> int:
    try:
        return len(_ids(path))
    except InputError:  # it is being made
        return 0


def _ids(path: Path) -> list[str]:
    with Database(path) as database:
        return [record.id for record in database.records()]


# -- files


def test_a_sweep_as_a_file(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "layer.toml").write_text(
        'program = "model.py:layer"\nrecords = "r.db"\nwrt = [1]\n\n[over]\nn = "2..8"\nmode = ["forward", "reverse"]\ndtype = "float32"\n'
    )
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    seen = sweep("../layer.toml", capsys)
    assert [(cell["sizes"], cell["mode"]) for cell in seen["cells"]] == [({"n": n, "dtype": "float32"}, m) for n in (2, 4, 8) for m in ("forward", "reverse")]
    assert [cell["result"]["directions"] for cell in seen["cells"]] == [6, 3, 12, 3, 24, 3]  # by w only
    assert len(_ids(folder / "r.db")) == 6
    other = sweep("../layer.toml --over n=16 --over mode=primal --records other.db", capsys)
    assert [cell["sizes"] for cell in other["cells"]] == [{"dtype": "float32", "n": 16}]
    assert len(_ids(folder / "elsewhere" / "other.db")) == 1


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
