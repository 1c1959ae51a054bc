"""``wengert trace``: values by name, loops, where NaN and infinity begin, arrays in a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main

TEXT = """func.func public @main(%x: tensor<3xf64>, %k: tensor<3xi32>) -> tensor<3xf64> {
  %0 = stablehlo.log %x : tensor<3xf64>
  %1 = stablehlo.sqrt %0 : tensor<3xf64>
  %2 = stablehlo.multiply %1, %x : tensor<3xf64>
  return %2 : tensor<3xf64>
}
"""
LOOP = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<3xf64>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sqrt %a : tensor<3xf64>
      %half = stablehlo.constant dense<0.5> : tensor<3xf64>
      %m = stablehlo.subtract %s, %half : tensor<3xf64>
      stablehlo.return %i1, %m : tensor<i32>, tensor<3xf64>
    }
  %y = stablehlo.multiply %r#1, %x : tensor<3xf64>
  return %y : tensor<3xf64>
}
"""
NESTED = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<f64>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %inner:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<f64>
        cond {
          %on = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %on : tensor<i1>
        } do {
          %j1 = stablehlo.add %j, %one : tensor<i32>
          %twice = stablehlo.add %b, %b : tensor<f64>
          stablehlo.return %j1, %twice : tensor<i32>, tensor<f64>
        }
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %inner#1 : tensor<i32>, tensor<f64>
    }
  return %r#1 : tensor<f64>
}
"""
X = np.array([1.0, 0.5, 3.0])
K = np.zeros(3, np.int32)


def test_values_by_name() -> None:
    trace = wg.parse(TEXT, "p.mlir").trace([X, K])
    assert [value.name for value in trace.values] == ["%x", "%k", "%0", "%1", "%2"]
    log = trace["%0"]
    assert (log.op, log.place, log.line) == ("stablehlo.log", "p.mlir:2:3", "%0 = stablehlo.log %x : tensor<3xf64>")
    assert (log.summary.dtype, log.summary.shape) == ("float64", (3,))
    assert (log.summary.low, log.summary.high) == pytest.approx((math.log(0.5), math.log(3)))
    assert log.summary.mean == pytest.approx(np.log(X).mean())
    assert trace["%1"].summary.nan == 1
    with pytest.raises(KeyError):
        trace["%9"]


def test_in_a_derivative() -> None:
    p = wg.parse(TEXT, "p.mlir")
    trace = p.vjp().trace([X + 1, K, np.ones(3)])
    roles = {value.derivation for value in trace.values}
    assert "cotangent of stablehlo.log" in roles
    assert trace.first is None


def test_selectors() -> None:
    p = wg.parse(LOOP, "p.mlir")
    inputs = [X, np.int32(2)]
    assert {v.name for v in p.trace(inputs, "op:sqrt").values} == {"%s"}
    assert {v.name for v in p.trace(inputs, "%r#1", "result:0").values} == {"%r#1", "%y"}
    assert {v.name for v in p.trace(inputs, "p.mlir:4").values} >= {"%r#0", "%r#1"}
    with pytest.raises(wg.InputError, match="there is no op tanh"):
        p.trace(inputs, "op:tanh")


def test_loops_show_their_first_and_last_iteration() -> None:
    trace = wg.parse(LOOP).trace([X, np.int32(4)], "%m")
    assert [(v.iteration, v.times) for v in trace.values] == [((0,), 4), ((3,), 4)]
    once = wg.parse(LOOP).trace([X, np.int32(1)], "%m")
    assert [(v.iteration, v.times) for v in once.values] == [((0,), 1)]


@pytest.mark.parametrize(("iteration", "expected"), [((1,), [8.0 * 2, 8.0 * 8]), ((2, 1), [64.0 * 4]), ((-1,), [512.0])])
def test_an_iteration(iteration: tuple[int, ...], expected: list[float]) -> None:
    trace = wg.parse(NESTED).trace([1.0], "%twice", iteration=iteration)
    assert [v.summary.low for v in trace.values] == expected


def test_arrays_of_loops_have_a_row_for_each_iteration(tmp_path: Path) -> None:
    x = 4 * X
    trace = wg.parse(LOOP).trace([x, np.int32(3)], keep=True)
    a = x
    rows: list[Any] = []
    for _ in range(3):
        a = np.sqrt(a) - 0.5
        rows.append(a)
    np.testing.assert_allclose(trace["%m"].array, np.stack(rows), rtol=1e-15)
    trace.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as stored:
        np.testing.assert_allclose(stored["%y"], a * x, rtol=1e-15)
        assert stored["%m"].shape == (3, 3)
    with pytest.raises(wg.InputError, match="arrays are not kept"):
        wg.parse(LOOP).trace([X, np.int32(3)])["%m"].array  # noqa: B018


def test_where_nan_begins() -> None:
    trace = wg.parse(TEXT, "p.mlir").trace([X, K])
    first = trace.first
    assert first is not None
    begins = first.begins
    assert (begins.what, begins.op, begins.place, begins.role) == ("NaN", "stablehlo.sqrt", "p.mlir:3:3", "primal")
    assert (begins.index, begins.element, begins.inputs) == ((1,), "nan", (str(np.log(0.5)),))
    assert begins.operands[0][0] == "%0"
    assert first.reaches == ("result 0: 1 NaN of 3",)


def test_where_nan_begins_in_a_loop() -> None:
    first = wg.parse(LOOP).trace([np.array([1.0, 0.5, 0.3]), np.int32(6)]).first
    assert first is not None
    assert (first.begins.op, first.begins.iteration) == ("stablehlo.sqrt", (2,))
    assert first.reaches


def test_where_nan_begins_in_a_derivative() -> None:
    """The derivative of the square root at zero is infinite, and times zero NaN; the primal is finite."""
    p = wg.parse("""func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf64>
  %1 = stablehlo.sqrt %0 : tensor<2xf64>
  return %1 : tensor<2xf64>
}
""")
    assert p.trace([np.array([0.0, 2.0])]).first is None
    first = p.vjp().trace([np.array([0.0, 2.0]), np.ones(2)]).first
    assert first is not None
    assert first.begins.what == "infinity"
    assert first.begins.role.endswith("of stablehlo.sqrt")
    assert first.begins.place == "<string>:3:3"
    assert first.becomes_nan is not None
    assert first.becomes_nan.role.endswith("of stablehlo.multiply")
    assert first.becomes_nan.index == (0,)
    assert first.reaches == ("result 1 (cotangent of argument 0): 1 NaN of 2",)
    assert "it becomes NaN at <string>:2:3, in the derivative" in str(first)


def test_what_reaches_no_result_is_said_to() -> None:
    """An infinity that a branch of a select drops is told from the one that makes the result NaN."""
    text = """func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %bad = stablehlo.divide %one, %x : tensor<f64>
  %no = stablehlo.compare NE, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %safe = stablehlo.select %no, %bad, %zero : tensor<i1>, tensor<f64>
  %root = stablehlo.sqrt %y : tensor<f64>
  %r = stablehlo.add %safe, %root : tensor<f64>
  return %r : tensor<f64>
}
"""
    first = wg.parse(text).trace([0.0, 4.0]).first
    assert first is not None
    assert first.begins.op == "stablehlo.divide"
    assert first.reaches == ()
    first = wg.parse(text).trace([0.0, -4.0]).first
    assert first is not None
    assert first.begins.op == "stablehlo.sqrt"
    assert first.reaches == ("result 0: 1 NaN of 1",)
    assert first.others == ("infinity at <string>:4:3 (stablehlo.divide), which reaches no result",)


def test_a_constant_that_holds_an_infinity() -> None:
    """The initial value of a maximum is no finding; a mask that is subtracted from itself is."""
    text = """func.func public @main(%x: tensor<3xf64>) -> tensor<f64> {
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
    assert wg.parse(text).trace([X]).first is None
    masked = text.replace("  return %0", "  %1 = stablehlo.subtract %low, %low : tensor<f64>\n  return %1")
    first = wg.parse(masked).trace([X]).first
    assert first is not None
    assert first.begins.op == "stablehlo.constant"
    assert first.becomes_nan is not None
    assert first.becomes_nan.op == "stablehlo.subtract"


def test_arguments_that_are_not_finite() -> None:
    first = wg.parse(TEXT).trace([np.array([1.0, np.nan, 2.0]), K]).first
    assert first is not None
    assert str(first).startswith("NaN begins in argument %x, which is given so")


def test_through_calls() -> None:
    text = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.log %x : tensor<f64>
  %1 = func.call @twice(%0) : (tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
}
func.func private @twice(%y: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.add %y, %y : tensor<f64>
  return %0 : tensor<f64>
}
"""
    first = wg.parse(text).trace([-1.0]).first
    assert first is not None
    assert (first.begins.op, first.reaches, first.others) == ("stablehlo.log", ("result 0: 1 NaN of 1",), ())


def test_bfloat16() -> None:
    text = "func.func public @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {\n  %0 = stablehlo.log %x : tensor<2xbf16>\n  return %0 : tensor<2xbf16>\n}\n"
    p = wg.parse(text)
    import ml_dtypes

    trace = p.trace([np.array([1.0, 0.0], ml_dtypes.bfloat16)])
    assert trace["%0"].summary.infinite == 1
    assert trace.first is not None


def test_results_are_those_of_the_interpreter() -> None:
    p = wg.load(Path(__file__).parents[2] / "examples" / "transformer_block.mlir").vjp()
    inputs = [np.random.default_rng(0).standard_normal(a.shape) for a in p.signature.arguments]
    trace = p.trace(inputs, "result:3", keep=True)
    np.testing.assert_array_equal(trace.values[0].array, p.compile("interpreter")(*inputs)[3])


# -- the command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(TEXT)
    Path("loop.mlir").write_text(LOOP)
    np.savez("x.npz", in_0=X, in_1=K)
    np.savez("n.npz", in_0=np.array([1.0, 0.5, 0.3]), in_1=np.int32(6))
    return tmp_path


def test_the_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "p.mlir", "--inputs", "x.npz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "p.mlir: 5 values"
    assert any(line.split() == ["%1", "stablehlo.sqrt", "float64[3]", "[0,", "1.048]", "0.5241", "1", "NaN", "p.mlir:3:3"] for line in lines)
    assert lines[-1] == "NaN begins at p.mlir:3:3 (stablehlo.sqrt) and reaches a result; --first-nan says more"


def test_cotangents_that_are_not_given_are_ones(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("more.npz", in_0=X + 1, in_1=K)
    assert main(["trace", "p.mlir", "--inputs", "more.npz", "--vjp", "arg:2"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "cotangent of result 0: not in more.npz, taken to be ones\n"
    assert "[1, 1]" in captured.out
    np.savez("less.npz", in_1=K)
    assert main(["trace", "p.mlir", "--inputs", "less.npz", "--vjp"]) == 1
    assert "less.npz has no array for argument 0" in capsys.readouterr().err


def test_first_nan(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "loop.mlir", "--inputs", "n.npz", "--first-nan"]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        "NaN begins at loop.mlir:10:7, in the primal, in iteration 2",
        "    %s = stablehlo.sqrt %a : tensor<3xf64>",
    ]
    assert main(["trace", "loop.mlir", "--random", "0", "--first-nan", "--json"]) in (0, 1)
    json.loads(capsys.readouterr().out)
    np.savez("y.npz", in_0=X, in_1=np.int32(1))
    assert main(["trace", "loop.mlir", "--inputs", "y.npz", "--first-nan"]) == 0
    assert capsys.readouterr().out.startswith("no NaN and no infinity in ")


def test_options_between_selectors(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "loop.mlir", "--inputs", "n.npz", "%s", "--iteration", "2", "op:add"]) == 0
    out = capsys.readouterr().out
    assert "%s " in out
    assert "%i1 " in out
    assert "%half" not in out


def test_json_and_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "p.mlir", "--inputs", "x.npz", "--json", "--save", "out.npz"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [value["name"] for value in report["values"]] == ["%x", "%k", "%0", "%1", "%2"]
    assert report["first"]["begins"]["place"] == "p.mlir:3:3"
    with np.load("out.npz") as stored:
        assert sorted(stored) == ["%0", "%1", "%2", "%k", "%x"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["%9"], 1, "there is no value %9"),
        (["--iteration", "x"], 2, "expected the number of an iteration"),
        (["--wrt", "0"], 2, "is about a derivative, and none is asked for"),
    ],
)
def test_wrong_usage(files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str) -> None:
    assert main(["trace", "p.mlir", "--inputs", "x.npz", *arguments]) == code
    assert message in capsys.readouterr().err


def test_on_buffers(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "p.mlir", "--inputs", "x.npz", "-p", "to-core,fuse"]) == 0
    assert "kernel.nest" in capsys.readouterr().out
    assert main(["trace", "p.mlir", "--inputs", "x.npz", "-p", "to-core,fuse,schedule,bufferize"]) == 1
    assert "is on buffers, which hold many values; trace an earlier stage" in capsys.readouterr().err


def test_in_notebooks() -> None:
    html = wg.parse(TEXT).trace([X, K])._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<td>%1</td>" in html
    assert "NaN begins" in html
