"""Memory over a run: timelines at both levels against what is counted and allocated, their pictures, and differences of peaks."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from benchmarks.long_program import long_program

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.inspection.naming import SourceNames
from wengert.lab.memory.arena_level import arena_timeline
from wengert.lab.memory.ir_level import ir_timeline
from wengert.lab.memory.memory import memory
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.transforms.analysis.liveness import peak_bytes
from wengert.transforms.analysis.memory import memory_of
from wengert.transforms.lowering import placed

FUNCTION = """func.func public @main(%x: tensor<64xf64>, %w: tensor<64x64xf64>) -> tensor<64xf64> {
  %product = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64xf64>) -> tensor<64xf64>
  %active = stablehlo.tanh %product : tensor<64xf64>
  %second = stablehlo.dot_general %w, %active, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64xf64>) -> tensor<64xf64>
  %e = stablehlo.exponential %second : tensor<64xf64>
  return %e : tensor<64xf64>
}
"""
LOOP = """func.func public @main(%x: tensor<8xf64>) -> tensor<8xf64> {
  %n = stablehlo.constant dense<10> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i64>, tensor<8xf64>
    cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<8xf64>
      %t = stablehlo.exponential %s : tensor<8xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %t : tensor<i64>, tensor<8xf64>
    }
  return %r#1 : tensor<8xf64>
}
"""
PROGRAMS = {
    "function": FUNCTION,
    "loop": LOOP,
    "mlp": Path("examples/mlp.mlir").read_text(),
    "block": Path("examples/transformer_block.mlir").read_text(),
    "long": long_program(300),
}


def forms(name: str) -> list[wg.Program]:
    """A program and its derivatives."""
    program = wg.parse(PROGRAMS[name], "p.mlir")
    return [program, program.jvp(), program.vjp(), program.vjp(residuals="recompute-all")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_arena_is_fullest_where_the_analysis_says(name: str) -> None:
    for program in forms(name):
        module = placed(runnable(program.optimized_module))
        known, timeline = memory_of(entry_function(module, "main")), arena_timeline(module, SourceNames(program))
        assert sum(piece.bytes for piece in timeline.at_peak if piece.offset is not None) == known.kept + known.temporaries
        assert timeline.peak == known.total - known.gaps
        assert sum(amount for _, amount in timeline.holes) == known.gaps
        pieces = [piece for piece in timeline.at_peak if piece.offset is not None]
        ranges = sorted((piece.offset or 0, (piece.offset or 0) + piece.bytes) for piece in pieces)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))  # no two pieces overlap


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_live_as_the_peak_without_fusion_counts_them(name: str) -> None:
    for program in forms(name):
        assert ir_timeline(program, SourceNames(program)).peak == peak_bytes(program.optimized_module)


def test_what_is_predicted_is_allocated() -> None:
    report = wg.parse(FUNCTION).memory(vjp=True)
    assert [r.what for r in report.reconciled] == ["inputs", "results", "constants", "arena"]
    assert all(r.predicted == r.allocated for r in report.reconciled)
    assert "exact" in str(report)


def test_what_is_kept_is_what_kept_says() -> None:
    program = wg.parse(PROGRAMS["block"], "p.mlir")
    at_split = [piece for piece in program.memory(vjp=True, allocated=False).timeline.pieces if piece.role == "kept"]
    assert sum(piece.bytes for piece in at_split) == int(program.kept().bytes)


@pytest.mark.parametrize("name", ["function", "loop", "block", "long"])  # in mlp one kernel in phases computes what fusion would have stored
def test_all_that_is_kept_is_in_the_arena(name: str) -> None:
    program = wg.parse(PROGRAMS[name], "p.mlir")
    kept, timeline = program.kept(), program.memory(vjp=True, allocated=False).timeline
    in_arena = [piece for piece in timeline.pieces if piece.role == "kept"]
    assert int(kept.bytes) <= sum(piece.bytes for piece in in_arena)  # which takes more where a size is no multiple of 64
    assert len(in_arena) >= len({r.name for r in kept.stored if r.times == 1})


def test_roles_and_sources() -> None:
    report = wg.parse(FUNCTION, "p.mlir").memory(vjp=True, level="ir")
    timeline = report.timeline
    kept = {piece.name for piece in timeline.pieces if piece.role == "kept"}
    assert "%active" in kept | {piece.op.rpartition(" ")[2] for piece in timeline.pieces if piece.role == "kept"}
    assert {piece.role for piece in timeline.pieces} >= {"input", "result", "kept", "temporary"}
    assert timeline.split is not None
    assert 0 < timeline.split < len(timeline.steps)
    assert {piece.line[0] for piece in timeline.pieces if piece.line[1]} == {"p.mlir"}
    assert sum(timeline.by_role().values()) == timeline.peak == int(timeline.total.max())


def test_json_svg_and_html() -> None:
    report = wg.parse(LOOP, "<script>.mlir").memory(vjp=True)
    data = json.loads(json.dumps(report.to_json()))
    assert data["peak_bytes"] == report.peak == max(step["bytes"] for step in data["steps"])
    assert sum(piece["bytes"] for piece in data["at_peak"]) == report.peak
    picture = report.svg()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "prefers-color-scheme:dark" in picture
    html = report._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script" not in html
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org/2000/svg)", html)


@pytest.mark.parametrize("name", ["block", "loop", "long"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_fits(name: str, width: int) -> None:
    text = wg.parse(PROGRAMS[name], "p.mlir").memory(vjp=True, allocated=False).text(width)
    chart = text.split("\n\n")[1].splitlines()
    assert all(len(line) <= width for line in chart[:-1])
    assert "▲" in text


def test_differences() -> None:
    program = wg.parse(FUNCTION, "p.mlir")
    one, other = program.memory(level="ir"), program.memory(vjp=True, level="ir")
    difference = one.diff(other)
    assert difference
    assert difference.change == other.peak - one.peak
    gone, new = (sum(piece.bytes for piece in side) for side in (difference.only_before, difference.only_after))
    assert new - gone == difference.change
    assert not one.diff(one)
    assert "the same pieces" in str(one.diff(one))
    assert json.loads(json.dumps(difference.to_json()))["change"] == difference.change


def test_what_cannot_be_looked_at() -> None:
    with pytest.raises(InputError, match="not both"):
        wg.parse(FUNCTION).memory(vjp=True, jvp=True)
    with pytest.raises(InputError, match="holds kernels"):
        memory(wg.parse(FUNCTION).apply("to-core,fuse"), level="ir")


def test_kernels_and_buffers_are_programs_too() -> None:
    whole = wg.parse(FUNCTION).memory(allocated=False).timeline
    for pipeline in ("to-core,fuse", "to-core,expand-functions,fuse,schedule,bufferize"):
        assert wg.parse(FUNCTION).apply(pipeline).memory(allocated=False).timeline.peak == whole.peak


def test_a_program_without_ops() -> None:
    report = wg.parse("func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> { return %x : tensor<3xf64> }").memory(level="ir")
    assert report.peak == 24
    assert np.array_equal(report.timeline.total, [24])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(LOOP)
    picture = tmp_path / "m.svg"
    assert main(["memory", str(path), "--vjp", "--svg", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "memory of vjp of" in out
    assert "│ reverse" in out
    assert picture.read_text().startswith("<svg")
    assert main(["memory", str(path), "--vjp", "--level", "ir", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == "ir"
    assert main(["memory", str(path), "--vjp", "--diff-residuals", "recompute-all"]) == 0
    assert "only A" in capsys.readouterr().out
    assert main(["memory", str(path), "--vjp", "--diff-strategy", "drect"]) == 2
    assert "did you mean 'direct'" in capsys.readouterr().err
    assert main(["memory", str(path), "--diff-strategy", "direct"]) == 2
    assert "add --vjp" in capsys.readouterr().err
    assert main(["memory", str(path), "--diff", "nothing.mlir"]) == 1
    assert "nothing.mlir" in capsys.readouterr().err


def test_differences_between_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=tmp_path, check=True, capture_output=True)

    path = tmp_path / "p.mlir"
    path.write_text(LOOP)
    try:
        git("init", "-q")
    except FileNotFoundError:
        pytest.skip("git is not installed")
    git("add", "p.mlir")
    git("commit", "-qm", "one")
    path.write_text(LOOP.replace("8xf64", "16xf64"))
    assert main(["memory", str(path), "--diff", "HEAD"]) == 0
    out = capsys.readouterr().out
    assert f"B: {path} at HEAD" in out
    assert "only B" in out
    assert main(["memory", str(path), "--diff", "--json"]) == 2
