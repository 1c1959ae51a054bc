"""Mistakes in a command line, in what it asks of a program, and in programs when they run: the exit code, the place and the words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.main import main
from wengert.lab.inspection.terminal import FILE_WIDTH, width_of_output

TEXT = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""
CHAIN = """func.func public @main(%x: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  return %1 : tensor<64x64xf64>
}
"""
FOREIGN = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.custom_call @nobody(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.mlir").write_text(TEXT)
    (tmp_path / "chain.mlir").write_text(CHAIN)
    (tmp_path / "foreign.mlir").write_text(FOREIGN)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("run p.mlir --backend cup", Exit.USAGE, "there is no backend 'cup'; did you mean 'cpu'?"),
        ("vjp p.mlir --memory 64XB", Exit.USAGE, "expected bytes, as in 65536, 64MB or 1.5GiB, found '64XB'"),
        ("bisect p.mlir -p simplfy", Exit.USAGE, "<pipeline>:1:1: error: unknown pass 'simplfy'"),
        ("vjp p.mlir --of 1", Exit.DIAGNOSTIC, "of: there is no result 1; the program has result 0 alone"),
        ("costs p.mlir --sizes n=3", Exit.DIAGNOSTIC, "n is no symbol of these costs; there is no symbol"),
        ("strategies p.mlir --predict --sizes n=3", Exit.DIAGNOSTIC, "n is no symbol of these costs; there is no symbol"),
        ("conformance nowhere", Exit.DIAGNOSTIC, "nowhere is not a corpus folder: there is no file nowhere/manifest.json"),
        ("vjp chain.mlir --memory 1B", Exit.DIAGNOSTIC, " bytes can be met ("),
    ],
)
def test_mistakes(words: str, code: Exit, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == code
    assert told in capsys.readouterr().err


def test_a_wrong_value_is_not_taken_for_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "p.mlir", "--tests", "valus"]) == Exit.USAGE
    assert "did you mean '--" not in capsys.readouterr().err
    assert main(["check", "p.mlir", "--test", "values"]) == Exit.USAGE
    assert "did you mean '--tests'?" in capsys.readouterr().err


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_an_op_that_cannot_be_run_is_named_once_with_its_place(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "foreign.mlir", "--random", "0", "--backend", backend]) == Exit.DIAGNOSTIC
    assert capsys.readouterr().err.startswith("foreign.mlir:2:3: error: 'stablehlo.custom_call' calls @nobody")
    assert main(["run", "foreign.mlir", "--random", "0", "--backend", backend, "--diagnostics=json"]) == Exit.DIAGNOSTIC
    finding = json.loads(capsys.readouterr().err)
    assert (finding["file"], finding["line"], finding["column"]) == ("foreign.mlir", 2, 3)


def test_rows_are_not_cut_off_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert width_of_output() == FILE_WIDTH
    assert main(["kept", "p.mlir"]) == Exit.OK
    assert "…" not in capsys.readouterr().out


def test_the_default_derivative_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kept", "--help"]) == Exit.OK
    assert "look at the reverse derivative (default)" in capsys.readouterr().out
