"""``wengert-opt``: what it prints, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.pipeline.passes import PASSES
from wengert.lab.opt import main, split

DEAD = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.cosine %x : tensor<f64>
  return %1 : tensor<f64>
}
"""
WRONG = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %y : tensor<f64>
  return %0 : tensor<f64>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.mlir"
    path.write_text(DEAD)
    return str(path)


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.mlir"
    path.write_text(WRONG)
    return str(path)


def test_applies_passes(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-p", "dce"]) == 0
    out = capsys.readouterr().out
    assert "stablehlo.cosine" in out
    assert "stablehlo.sine" not in out


def test_without_passes_it_prints_what_it_read(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program]) == 0
    out = capsys.readouterr().out
    assert "stablehlo.sine" in out
    assert "loc(" not in out


def test_reads_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(WRONG))
    assert main(["-p", "dce"]) == 1
    assert capsys.readouterr().err.startswith("<stdin>:2:23: error: ")


def test_writes_a_file(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-o", str(tmp_path / "out.mlir")]) == 0
    assert capsys.readouterr().out == ""
    assert "stablehlo.sine" in (tmp_path / "out.mlir").read_text()


def test_several_pipelines_follow_one_another(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-p", "cse,dce", "-p", "symbol-dce", "--time-passes"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["pass", "cse", "dce", "symbol-dce", "total"]


def test_prints_locations_and_the_generic_form(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "--print-locations"]) == 0
    assert f'loc("{program}":2:3)' in capsys.readouterr().out
    assert main([program, "--print-generic"]) == 0
    assert '"stablehlo.sine"(' in capsys.readouterr().out


def test_dumps(program: str, tmp_path: Path) -> None:
    assert main([program, "-p", "cse,dce", "--dump-dir", str(tmp_path / "d"), "-o", str(tmp_path / "out")]) == 0
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["00-input.mlir", "02-dce.mlir", "index.md"]
    assert main([str(tmp_path / "d" / "00-input.mlir"), "-p", "dce", "-o", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again").read_text() == (tmp_path / "out").read_text()


def test_an_error_in_the_program(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([wrong]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{wrong}:2:23: error: ")
    assert "Traceback" not in captured.err


def test_an_error_as_json(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([wrong, "--diagnostics=json"]) == 1
    seen = json.loads(capsys.readouterr().err)
    assert (seen["severity"], seen["file"], seen["line"], seen["column"]) == ("error", wrong, 2, 23)


def test_an_error_in_the_pipeline_is_one_of_usage(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, "-p", "cse,dxe"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("<pipeline>:1:5: error: unknown pass 'dxe'")
    assert "did you mean 'dce'?" in error


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing.mlir")]) == 1
    assert "nothing.mlir: No such file or directory" in capsys.readouterr().err


def test_an_unknown_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-such-flag"]) == 2
    assert capsys.readouterr().err.startswith(
        "<command line>:1:13: error: unrecognized arguments: --no-such-flag\n  wengert-opt --no-such-flag\n              ^~~"
    )


@dataclass(frozen=True)
class Break(ModulePass):
    """Has a defect."""

    __module__ = "wengert.of_ours"  # a pass of a plug-in is its author's to mend (tests/lab/plugins)
    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise IndexError("lost")


def test_a_defect(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_REPRODUCER_DIR", str(tmp_path))
    monkeypatch.setattr(PASSES, "_paths", {"break": ""})
    monkeypatch.setattr(PASSES, "load", lambda name: Break)
    assert main([program, "-p", "break"]) == 70
    error = capsys.readouterr().err
    reproducer = next(tmp_path.glob("wengert-break-*.mlir"))
    assert "internal error in pass 'break' (1 of 1): IndexError: lost" in error
    assert str(reproducer) in error
    assert "Traceback" not in error
    assert main([str(reproducer), "-p", "break"]) == 70


def test_parts_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "parts.mlir"
    path.write_text(f"{DEAD}// -----\n{WRONG}// -----\n{DEAD}")
    assert main([str(path), "--split-input-file", "-p", "dce", "--dump-dir", str(tmp_path / "d")]) == 1
    captured = capsys.readouterr()
    assert captured.out.count("stablehlo.cosine") == 2
    assert captured.out.count("// -----\n") == 1
    assert captured.err.startswith(f"{path}:8:23: error: "), "the line in the file, not in the part"
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["part-01", "part-03"]


def test_splitting_keeps_line_numbers() -> None:
    assert list(split("a\nb\n// -----\nc\n// ----- more\n\nd")) == ["a\nb\n", "\n\n\nc\n", "\n\n\n\n\n\nd"]
    assert list(split("// -----\na")) == ["\na"]
    assert list(split("")) == []


def test_expected_diagnostics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(WRONG.replace(" : tensor<f64>\n", " : tensor<f64> // expected-error {{undefined value}}\n", 1))
    assert main([str(path), "--verify-diagnostics"]) == 0
    assert capsys.readouterr() == ("", "")
    path.write_text(WRONG)
    assert main([str(path), "--verify-diagnostics"]) == 1
    assert f"{path}:2:23: error: unexpected error: " in capsys.readouterr().err
    path.write_text("// expected-error@below {{nothing}}\n" + DEAD)
    assert main([str(path), "--verify-diagnostics"]) == 1
    assert f"{path}:2:1: error: expected error 'nothing' was not produced" in capsys.readouterr().err


def test_lists_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert names == sorted(PASSES)
    assert any(line.startswith("    wrt: integers") for line in lines)


def test_the_installed_command(program: str) -> None:
    command = Path(sys.executable).with_name("wengert-opt")
    done = subprocess.run([command, program, "-p", "dce"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stablehlo.cosine" in done.stdout


TANH = """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.tanh %x : tensor<4xf64>
  %1 = stablehlo.exponential %0 : tensor<4xf64>
  return %1 : tensor<4xf64>
}
"""


def test_what_changed_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tanh.mlir"
    path.write_text(TANH)
    arguments = [str(path), "-p", "to-core,vjp{wrt=0},simplify,cse,dce", "-o", os.devnull, "--print-ir-after-change"]
    assert main(arguments) == 0
    headers = [line for line in capsys.readouterr().err.splitlines() if line.startswith("// -----//")]
    assert headers[0].startswith("// -----// after vjp{wrt=0} (pass 2 of 5; ")
    assert main([*arguments, "--filter", "op:tanh"]) == 0
    shown = [line for line in capsys.readouterr().err.splitlines() if line and not line.startswith("// -----//")]
    assert f"%0 = stablehlo.tanh %arg0 : tensor<4xf64>  // {path}:2:3" in shown
    assert all(f"{path}:2:3" in line for line in shown)
    assert any("cotangent of stablehlo.tanh" in line for line in shown)


def test_dumps_of_what_is_selected(tmp_path: Path) -> None:
    path, folder = tmp_path / "tanh.mlir", tmp_path / "dumps"
    path.write_text(TANH)
    pipeline = "to-core,vjp{wrt=0},simplify,cse,dce,fuse"
    assert main([str(path), "-p", pipeline, "-o", os.devnull, "--dump-dir", str(folder), "--dump-prune", "--filter", "op:exponential"]) == 0
    assert "00-input.mlir" in {p.name for p in folder.iterdir()}
    assert "passes changed nothing of what was asked for" in (folder / "index.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dump-prune"], "--dump-prune is about --dump-dir, which is not given"),
        (["--filter", "op:sine"], "--filter is about --print-ir-after-change or --dump-dir, which is not given"),
    ],
)
def test_inspection_of_nothing(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tanh.mlir"
    path.write_text(TANH)
    assert main([str(path), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_filter_that_is_no_selector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tanh.mlir"
    path.write_text(TANH)
    assert main([str(path), "--print-ir-after-change", "--filter", "tanh"]) == 1
    assert "'tanh' selects nothing: a selector is " in capsys.readouterr().err
