"""``bisect`` on passes from outside that are wrong in every way there is, and on pipelines that are right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.inputs import read_inputs
from wengert.lab.inspection.subject import Request
from wengert.runtime.loading import load

TEXT = """func.func public @main(%x: tensor<4x3xf64>, %y: tensor<4x3xf64>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.tanh %x : tensor<4x3xf64>
  %1 = stablehlo.negate %y : tensor<4x3xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<4x3xf64>
  %3 = stablehlo.exponential %2 : tensor<4x3xf64>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
  return %4 : tensor<4xf64>
}
"""
LOOP = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %start, %h = %x) : tensor<i32>, tensor<3xf64>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %b = stablehlo.sine %h : tensor<3xf64>
    stablehlo.return %j, %b : tensor<i32>, tensor<3xf64>
  }
  return %1#1 : tensor<3xf64>
}
"""
PLUGIN = '''"""Passes that are wrong."""

import wengert as wg
from wengert.dialects import stablehlo
from wengert.ir.location.places import error_at


def negations(module):
    return [op for op in module.walk() if isinstance(op, stablehlo.NegateOp)]


@wg.register
class WrongValue(wg.Pass):
    """Takes negations away."""

    name = "wrong-value"

    def run(self, module):
        for op in negations(module):
            if wg.may_rewrite("drop-negation", op):
                op.result.replace_all_uses_with(op.operand)
                op.detach()
                op.erase()


@wg.register
class WrongIr(wg.Pass):
    """Erases what is used."""

    name = "wrong-ir"

    def run(self, module):
        for op in negations(module):
            op.parent.detach_op(op)


@wg.register
class Raising(wg.Pass):
    """Raises an exception."""

    name = "raising"

    def run(self, module):
        for op in negations(module):
            raise KeyError("negated")


@wg.register
class Refusing(wg.Pass):
    """Refuses negations."""

    name = "refusing"

    def run(self, module):
        for op in negations(module):
            raise error_at(op.location, "negations are refused")


@wg.register
class Endless(wg.Pass):
    """Does not end."""

    name = "endless"

    def run(self, module):
        while negations(module):
            pass
'''


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, and a plug-in, which is registered once."""
    folder = tmp_path_factory.mktemp("bisect")
    (folder / "p.mlir").write_text(TEXT)
    (folder / "wrong_passes.py").write_text(PLUGIN)
    return folder


def bisected(files: Path, pipeline: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, object]]:
    code = main(["bisect", str(files / "p.mlir"), "--load", str(files / "wrong_passes.py"), "-p", pipeline, "--random", "1", "--json", *more])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "kind", "code"), [("wrong-value", "wrong result", 3), ("wrong-ir", "invalid IR", 6), ("raising", "exception", 6), ("refusing", "refusal", 1)]
)
def test_what_is_wrong_with_a_pass_is_said_and_reduced(files: Path, name: str, kind: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code, result = bisected(files, f"to-core,simplify,{name},cse", capsys)
    assert exit_code == code
    assert (result["step"], result["position"], result["fault"]["kind"]) == (name, 3, kind)  # type: ignore[index]
    assert result["owner"] == "wrong_passes.py"
    reproducer = result["reproducer"]
    assert reproducer["ops"] == 1  # type: ignore[index]
    assert "stablehlo.negate" in reproducer["text"]  # type: ignore[index]


def test_the_reproducer_shows_it_again(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files / "small.mlir"
    bisected(files, "simplify,wrong-value", capsys, "-o", str(path))
    text = path.read_text()
    assert text.startswith(f'// wengert bisect {path} -p "simplify,wrong-value" --inputs {path}')
    inputs = read_inputs(path, load(path).signature)
    assert [x.dtype for x in inputs] == [np.float64]
    code = main(["bisect", str(path), "--load", str(files / "wrong_passes.py"), "-p", "simplify,wrong-value", "--inputs", str(path), "--no-reduce"])
    assert code == 3
    assert "rewrite drop-negation, 1 of 1" in capsys.readouterr().out


def test_an_endless_pass_is_found(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("wengert.lab.bisect.walk.LEAST_PATIENCE", 0.2)
    monkeypatch.setattr(
        "wengert.lab.bisect.stages._PATIENCE", type("Short", (), {"get": lambda self: 0.5, "set": lambda self, s: None, "reset": lambda self, t: None})()
    )
    _, result = bisected(files, "simplify,endless", capsys)
    assert (result["step"], result["fault"]["kind"]) == ("endless", "no end")  # type: ignore[index]


@pytest.mark.parametrize(
    "request_", [None, Request("jvp"), Request("vjp"), Request("vjp", strategy="direct"), Request("hvp"), Request("vjp", wrt=(1,))], ids=str
)
@pytest.mark.parametrize("text", [TEXT, LOOP], ids=["expression", "loop"])
def test_nothing_is_wrong_with_the_compiler(text: str, request_: Request | None) -> None:
    if text is LOOP and request_ == Request("vjp", wrt=(1,)):
        request_ = Request("vjp", wrt=(0,))
    result = wg.bisect(wg.parse(text), request=request_)
    assert result, str(result)
    assert [tried.step.partition("{")[0] for tried in result.tried[-6:]] == [
        "schedule",
        "fuse-epilogues",
        "bufferize",
        "emit-llvm",
        "optimize-llvm",
        "emit-asm",
    ]
    assert {tried.outcome for tried in result.tried} == {"runs", "right", "no change"}


@pytest.mark.parametrize(
    "pipeline", ["linearize,simplify,cse,transpose,cse,join,dce", "linearize,join", "jacfwd", "jacrev,simplify", "vjp,jvp", "vjp-direct{of=0}"]
)
def test_derivative_passes_are_compared(pipeline: str) -> None:
    result = wg.bisect(wg.parse(TEXT), f"to-core,{pipeline}")
    assert result, str(result)
    assert all(tried.outcome in ("runs", "right", "no change") for tried in result.tried)


def test_what_cannot_be_compared_is_said() -> None:
    result = wg.bisect(wg.parse(TEXT), "to-core,batch{in-axes=0,0 out-axes=0 size=2}")
    assert result
    assert "not compared: it changes what the function takes or returns" in str(result)


def test_halves_that_stand_apart_are_compared() -> None:
    """A mistake between linearize and transpose is found where it is made."""

    @wg.register
    class Doubled(wg.Pass):
        """Doubles what the linear half returns."""

        name = "doubled-linear-part"

        def run(self, module) -> None:  # type: ignore[no-untyped-def]
            from wengert.dialects.stablehlo import AddOp

            linear = next(op for op in module.ops if op.sym_name.data == "main_linear")
            end = linear.body.block.last_op
            double = AddOp.create(operands=[end.operands[0]] * 2, result_types=[end.operands[0].type])
            linear.body.block.insert_op_before(double, end)
            end.operands = [double.results[0]]

    result = wg.bisect(wg.parse(TEXT), "to-core,linearize,doubled-linear-part,transpose,join", reduce=False)
    assert result.step == "doubled-linear-part"
    assert result.fault is not None
    assert result.fault.kind == "wrong result"


def test_code_that_crashes_ends_no_process_but_its_own() -> None:
    from wengert.lab.isolation import ProcessEndedError, in_copy

    def crash() -> None:
        import ctypes

        ctypes.string_at(0)

    with pytest.raises(ProcessEndedError, match="SIGSEGV"):
        in_copy(crash, 10)
    assert in_copy(lambda: 7, 10) == 7
    with pytest.raises(ValueError, match="mine"):
        in_copy(lambda: int("mine"), 10)


def test_mistakes_in_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = str(files / "p.mlir")
    assert main(["bisect", program, "-p", "simplfy"]) == 2
    assert "did you mean 'simplify'" in capsys.readouterr().err
    assert main(["bisect", program, "--wrt", "0"]) == 2
    assert "add --vjp or --jvp" in capsys.readouterr().err
    assert main(["bisect", str(files / "none.mlir")]) == 1
