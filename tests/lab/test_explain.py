"""``wengert explain``: what it says of ops of a derivative, and why a cotangent is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.inspection.subject import Request, subject_of
from wengert.lab.provenance.missing import missing
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse

TEXT = """\
func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>, %n: tensor<3xi32>, %z: tensor<f64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.tanh %x : tensor<3xf64>
  %1 = stablehlo.floor %y : tensor<3xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf64>
  %3 = stablehlo.compare GT, %y, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  %4 = stablehlo.select %3, %2, %0 : tensor<3xi1>, tensor<3xf64>
  %5 = stablehlo.sine %x : tensor<3xf64>
  return %4, %5 : tensor<3xf64>, tensor<3xf64>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    return path


def test_a_cotangent_says_its_line_rule_factors_and_users(file: Path) -> None:
    explained = wg.load(file).explain("role:cotangent", vjp=True, of=(0,))
    product = next(e for e in explained if e.op == "stablehlo.multiply" and e.origins[0].op_name == "stablehlo.tanh")
    assert product.role == "cotangent"
    assert product.origins[0].place == f"{file}:2:3"
    assert product.origins[0].text == "  %0 = stablehlo.tanh %x : tensor<3xf64>"
    assert product.rule is not None
    assert product.rule.math == "d tanh(x) = (1 - y^2) dx"
    assert product.rule.file == "transforms/ad/rules/elementwise.py"
    assert [v.what for v in product.through] == ["accumulation of stablehlo.tanh"]
    assert [(v.what, v.state) for v in product.factors] == [("coefficient of stablehlo.tanh", "kept")]
    text = str(product)
    assert "^^^^^^^^^^^^^^" in text
    assert "result 2" in text


def test_an_accumulation_is_a_sum_over_uses() -> None:
    (summed,) = parse(TEXT, "p.mlir").explain("role:accumulation", vjp=True, of=(0,))
    assert summed.rule is not None
    assert summed.rule.math == "x_bar = the sum of the cotangents by all uses of x"
    assert len(summed.through) == 2


def test_ops_of_the_program_are_explained_too() -> None:
    (tanh,) = wg.explain(parse(TEXT, "p.mlir"), "op:tanh")
    assert tanh.role == ""
    assert tanh.rule is None
    assert [v.name for v in tanh.factors] == ["%x"]


def test_what_is_computed_again_is_not_called_kept() -> None:
    explained = parse(TEXT, "p.mlir").explain("role:cotangent", vjp=True, of=(0,), residuals="recompute-all")
    states = {v.state for e in explained for v in e.factors}
    assert "recomputed" in states
    assert "kept" not in states


@pytest.mark.parametrize(
    ("selector", "exists", "said"),
    [
        ("arg:0", True, "result 0 depends on it differentiably"),
        ("arg:1", False, "every path from it to a result ends"),
        ("arg:2", False, "integers or truth values"),
        ("arg:3", False, "nothing uses it"),
        ("%1", False, "does not vary differentiably"),
        ("%5", False, "only result 1, not differentiated here"),
    ],
)
def test_why_a_cotangent_is_missing(selector: str, exists: bool, said: str) -> None:
    answer = missing(subject_of(parse(TEXT, "p.mlir"), Request("vjp", of=(0,))), selector)
    assert answer.exists is exists
    assert said in str(answer), str(answer)


def test_paths_end_at_ops_that_are_named() -> None:
    answer = missing(subject_of(parse(TEXT, "p.mlir"), Request("vjp", of=(0,))), "arg:1")
    assert {(end.place, end.op) for end in answer.ends} == {("p.mlir:3:3", "stablehlo.floor"), ("p.mlir:5:3", "stablehlo.compare")}


def test_a_stopped_gradient_is_named() -> None:
    def f(x: Any) -> Any:
        return wg.stop_gradient(x) * 2.0

    program = wg.jit(f).program(1.0)
    answer = missing(subject_of(program), "arg:0")
    assert "stop_gradient" in str(answer)


def test_the_command(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(file), "--vjp", "role:cotangent", "--all"]) == 0
    assert "d tanh(x) = (1 - y^2) dx" in capsys.readouterr().out
    assert main(["explain", str(file), "--vjp", "op:tanh", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ops"][0]["op"] == "stablehlo.tanh"
    assert main(["explain", str(file), "--missing", "arg:1", "--of", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exists"] is False


def test_mistakes_are_answered(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(file)]) == 2
    assert "nothing to explain is named" in capsys.readouterr().err
    assert main(["explain", str(file), "%nowhere"]) == 1
    assert "there is no value %nowhere" in capsys.readouterr().err
    with pytest.raises(InputError, match="ask for one derivative"):
        wg.explain(parse(TEXT, "p.mlir"), "%0", vjp=True, jvp=True)
