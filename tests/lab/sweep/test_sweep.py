"""Sweeps of functions and of programs with open extents: their counts are those of the programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_model import MODEL, error_of, recorded_ids, sweep

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.time_model import predicted_time
from wengert.runtime.errors import InputError
from wengert.transforms.analysis.program_cost import program_cost

pytestmark = pytest.mark.usefixtures("folder")


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
    assert "there is no backend 'gpux'" in error_of("sine.mlir --over n=2 --backend gpux", capsys, 2)
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
    assert recorded_ids(Path("r.db")) == [cell.record for cell in by_text.cells]
    assert all(cell.again for cell in wg.sweep("sine.mlir", {"n": [2, 4]}, ["primal"], measure=True, records="r.db", resume=True).cells)
    of_arrays = wg.sweep(names["decay"], {"n": [4]}, ["primal"], shapes="n,")
    assert of_arrays.cells[0].result.status == "ok"
    with pytest.raises(InputError, match="no size 'm'"):
        wg.sweep(names["mix"], {"m": [2]})
    with pytest.raises(InputError, match="there is no mode 'forwrd'"):
        wg.sweep(names["mix"], {"n": [2]}, ["forwrd"])
    with pytest.raises(InputError, match="name their file"):
        wg.sweep(names["mix"], {"n": [2]}, resume=True)
