"""What reverse derivatives keep: functions, loops, policies; and how it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks.long_program import long_program

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.inspection.subject import Request
from wengert.lab.kept.kept import Kept, Residual
from wengert.lab.kept.parts import parts_of
from wengert.lab.kept.policies import compare_policies
from wengert.runtime.errors import InputError

FUNCTION = """func.func public @main(%x: tensor<64xf64>, %w: tensor<64x64xf64>) -> tensor<64xf64> {
  %product = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64xf64>) -> tensor<64xf64>
  %active = stablehlo.tanh %product : tensor<64xf64>
  %double = stablehlo.add %active, %active : tensor<64xf64>
  %second = stablehlo.dot_general %w, %double, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64xf64>) -> tensor<64xf64>
  %e = stablehlo.exponential %second : tensor<64xf64>
  return %e : tensor<64xf64>
}
"""
LOOP = """func.func public @main(%x: tensor<8xf64>) -> tensor<8xf64> {
  %n = stablehlo.constant dense<10> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %limit = stablehlo.constant dense<5.0> : tensor<f64>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i64>, tensor<8xf64>
    cond {
      CONDITION
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
COUNTED = LOOP.replace("CONDITION", "%c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>")
UNCOUNTED = LOOP.replace(
    "CONDITION",
    """%first = stablehlo.slice %h [0:1] : (tensor<8xf64>) -> tensor<1xf64>
      %f = stablehlo.reshape %first : (tensor<1xf64>) -> tensor<f64>
      %c = stablehlo.compare LT, %f, %limit, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>""",
)


def report(text: str, residuals: str = "auto") -> Kept:
    """What is kept of a program in the file p.mlir."""
    return wg.parse(text, "p.mlir").kept(sources={"p.mlir": text}, residuals=residuals)


def rows(residuals: tuple[Residual, ...]) -> dict[str, tuple[int | None, str]]:
    """Bytes and verdict by what is kept, without its type."""
    return {r.title.rpartition(" ")[0]: (None if r.bytes.constant is None else int(r.bytes), r.verdict) for r in residuals}


def test_a_function() -> None:
    kept = report(FUNCTION)
    assert rows(kept.residuals) == {
        "%active tanh": (512, "kept"),
        "%double add": (512, "kept"),
        "subtract for %active": (512, "not stored"),
        "%e exponential": (512, "result"),
        "%x": (512, "input"),
        "%w": (32768, "input"),
    }
    (active,) = [r for r in kept.residuals if r.title.startswith("%active")]
    assert active.place == "p.mlir:3:3"
    assert active.op == "tanh"
    assert active.again is not None
    assert (int(active.again.ops), int(active.again.flops)) == (2, 2 * 64 * 64 + 64)
    assert active.again.seconds is not None
    assert active.again.seconds > 0
    assert [c.what for c in active.consumers] == ["coefficient of tanh"]
    assert int(kept.bytes) == sum(int(r.bytes) for r in kept.residuals if r.where == "memory")


def test_what_the_reverse_part_recomputes() -> None:
    kept = report(FUNCTION, residuals="recompute-all")
    assert int(kept.bytes) == 0
    assert {r.verdict for r in kept.residuals} == {"input"}
    assert {"%active", "%e"} <= {r.source_name for r in kept.recomputed}
    assert "computed again" in str(kept)


def test_the_record_of_a_counted_loop() -> None:
    kept = report(COUNTED)
    recorded = [r for r in kept.residuals if r.times != 1]
    assert recorded
    assert {(int(r.times), r.each, int(r.bytes)) for r in recorded} == {(10, 64, 640)}
    assert {r.line for r in recorded if r.source_name == "%s"} <= {("p.mlir", 11)}
    tapes = [result for op in parts_of(wg.parse(COUNTED).vjp()).forward for result in op.results if str(result.type) == "tensor<10x8xf64>" and result.uses]
    loops = {tape.owner for tape in tapes if getattr(tape.owner, "name", "") == "core.for"}
    assert len(loops) == 1
    assert int(sum((r.bytes for r in recorded), start=kept.bytes * 0)) == 640 * sum(tape.owner in loops for tape in tapes)


def test_the_record_of_a_loop_that_nobody_counts() -> None:
    kept = report(UNCOUNTED)
    recorded = [r for r in kept.residuals if r.times.constant is None]
    assert recorded
    assert {str(r.bytes) for r in recorded} == {"64 T0"}
    assert any("T0: iterations in all of the loop at p.mlir:6" in text for text in kept.unknown)
    assert "T0" in str(kept)


def test_loops_that_run_again() -> None:
    kept = report(COUNTED, residuals="recompute-all")
    assert int(kept.bytes) == 0
    assert {r.where for r in kept.recomputed if r.op == "for"} == {"memory"}


def test_nothing_kept() -> None:
    linear = "func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {\n  %y = stablehlo.add %x, %x : tensor<3xf64>\n  return %y : tensor<3xf64>\n}"
    kept = wg.parse(linear).kept()
    assert kept.residuals == ()
    assert "nothing is kept" in str(kept)


def test_json_and_html() -> None:
    kept = report(COUNTED)
    data = json.loads(json.dumps(kept.to_json()))
    assert data["bytes"] == int(kept.bytes)
    assert len(data["residuals"]) == len(kept.residuals)
    assert {"name", "source_name", "bytes", "times", "consumers", "again", "verdict", "why"} <= data["residuals"][0].keys()
    html = kept._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "prefers-color-scheme" in html
    assert not re.search(r"(src|href)=|https?:", html)


def test_text_fits_its_width() -> None:
    assert all(len(line) <= 100 for line in report(FUNCTION).text(width=100).splitlines()[2:])


def test_long_programs_are_looked_at_in_time() -> None:
    kept = wg.parse(long_program(2400)).kept()
    assert "more of" in str(kept)
    assert len(kept.residuals) > 1000


def test_what_is_far_is_not_looked_at() -> None:
    lines = [f"  %{n + 1} = stablehlo.add %{n}, %x : tensor<8xf64>" for n in range(1100)]  # more than one kernel takes
    text = "\n".join(["func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {", "  %0 = stablehlo.negate %x : tensor<8xf64>", *lines])
    kept = wg.parse(text + "\n  %y = stablehlo.sine %1100 : tensor<8xf64>\n  return %y : tensor<8xf64>\n}").kept()
    assert [(r.far, r.again, r.why) for r in kept.residuals if r.op == "add"] == [(True, None, "its origins are far")]
    assert "> 100" in str(kept)


def test_policies_side_by_side() -> None:
    table = compare_policies(wg.parse(FUNCTION), Request("vjp"))
    kept = {row.name: int(row.kept) for row in table.rows}
    assert kept["auto"] == kept["save-all"] == int(report(FUNCTION).bytes)
    assert kept["recompute-all"] == 0
    flops = {row.name: int(row.flops) for row in table.rows}
    assert flops["recompute-all"] > flops["auto"]
    assert json.loads(json.dumps(table.to_json()))["policies"][0]["residuals"] == "auto"


def test_derivatives_and_programs_without_parts() -> None:
    derivative = wg.parse(wg.parse(FUNCTION).vjp().text())
    assert len(parts_of(derivative).cotangents) == 1
    assert parts_of(derivative).results == 1
    with pytest.raises(InputError, match="is no reverse derivative"):
        parts_of(wg.parse(FUNCTION))
    with pytest.raises(InputError, match="holds kernels"):
        parts_of(wg.parse(FUNCTION).vjp().apply("to-core,fuse"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(COUNTED)
    assert main(["kept", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"what vjp of {path} keeps")
    assert "640 B = 10 x 64 B" in out
    assert main(["kept", str(path), "--vjp", "--residuals", "recompute-all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 0
    assert main(["kept", str(path), "--compare"]) == 0
    assert "recompute-all" in capsys.readouterr().out
    saved = tmp_path / "d.mlir"
    wg.load(path).vjp().save(saved)
    assert main(["kept", str(saved)]) == 0
    assert "640 B" in capsys.readouterr().out
    assert main(["kept", str(saved), "--compare"]) == 2
    ll = tmp_path / "a.ll"
    ll.write_text("define void @f() {\n}\n")
    assert main(["kept", str(ll)]) == 1
    assert "is LLVM text, not MLIR" in capsys.readouterr().err
