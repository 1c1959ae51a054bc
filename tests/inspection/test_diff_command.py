"""``wengert diff``: the two sides, the output in each form, exit codes, values, dumps at every level, commits."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.diff.difference import diff

TEXT = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.tanh %x : tensor<3xf64>
  %1 = stablehlo.exponential %0 : tensor<3xf64>
  %2 = stablehlo.multiply %1, %x : tensor<3xf64>
  return %2 : tensor<3xf64>
}
"""
OTHER = TEXT.replace("stablehlo.exponential", "stablehlo.sine")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.mlir").write_text(TEXT)
    Path("b.mlir").write_text(OTHER)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["diff", *arguments])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_two_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "a.mlir", "b.mlir")
    assert code == 1
    assert out.splitlines()[:3] == ["--- a.mlir", "+++ b.mlir", "+0 -0 ~1, 3 alike"]
    assert "\nb.mlir:3:3\n  ~ %1 = stablehlo.exponential %0 : tensor<3xf64>\n -> %1 = stablehlo.sine %0 : tensor<3xf64>\n" in out
    assert "\x1b[" not in out
    assert run(capsys, "a.mlir", "a.mlir", "--vjp")[0] == 2, "there is nothing to compare"
    Path("c.mlir").write_text(TEXT)
    assert run(capsys, "a.mlir", "c.mlir", "--vjp")[0] == 0
    assert run(capsys, "a.mlir", "--vjp", "c.mlir")[0] == 0


def test_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "a.mlir", "b.mlir", "--vjp", "--json")
    assert code == 1
    report = json.loads(out)
    assert report["equal"] is False
    assert {change["kind"] for source in report["sources"] for change in source["changes"]} >= {"added"}
    assert report["totals"]["ops"]["b"] - report["totals"]["ops"]["a"] == report["added"] - report["removed"]
    assert {"a": "vjp of a.mlir", "b": "vjp of b.mlir"}.items() <= report.items()


def test_strategies_and_policies(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "a.mlir", "--vjp", "--strategy", "transpose,direct")
    assert out.splitlines()[:2] == ["--- vjp of a.mlir", "+++ vjp{strategy=direct} of a.mlir"]
    code, out = run(capsys, "a.mlir", "--vjp", "--residuals", "save-all,recompute-all")
    assert code == 1
    assert "+++ vjp{residuals=recompute-all} of a.mlir" in out
    assert "kept -" in out


def test_against(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "a.mlir", "--jvp", "--against", "--vjp")
    assert out.splitlines()[:2] == ["--- jvp of a.mlir", "+++ vjp of a.mlir"]
    code, out = run(capsys, "a.mlir", "-p", "to-core", "--against", "-p", "to-core,fuse")
    assert code == 1
    assert out.splitlines()[:2] == ["--- a.mlir, after to-core", "+++ a.mlir, after to-core,fuse"]
    _, out = run(capsys, "a.mlir", "--vjp", "--against", "b.mlir", "--strategy", "direct")
    assert out.splitlines()[:2] == ["--- vjp of a.mlir", "+++ vjp{strategy=direct} of b.mlir"]
    _, out = run(capsys, "a.mlir", "--against", "--vjp")
    assert out.splitlines()[:2] == ["--- a.mlir", "+++ vjp of a.mlir"]
    assert "~ arguments: (tensor<3xf64>) and (tensor<3xf64>, tensor<3xf64>)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mlir"], "there is nothing to compare with"),
        (["a.mlir", "b.mlir", "--against", "--vjp"], "two programs are given, and --against is for one"),
        (["a.mlir", "--vjp", "--strategy", "transpose,dirct"], "there is no 'dirct'"),
        (["a.mlir", "b.mlir", "--strategy", "direct"], "is about a derivative, and none is asked for"),
    ],
)
def test_wrong_usage(files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out = run(capsys, *arguments)
    assert code == 2
    assert message in out


def test_values(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("x.npz", in_0=np.array([0.1, 0.2, 0.3]))
    code, out = run(capsys, "a.mlir", "b.mlir", "--values", "--inputs", "x.npz")
    assert code == 1
    assert "the first one is\n  %1 = stablehlo.sine %0 : tensor<3xf64>\n    at b.mlir:3:3: " in out
    assert "result 0 differs in 3 of 3 elements" in out
    _, out = run(capsys, "a.mlir", "--vjp", "--strategy", "transpose,direct", "--values", "--random", "0")
    assert "all equal within the tolerance" in out or "the results are equal within the tolerance" in out
    code, out = run(capsys, "a.mlir", "--against", "--vjp", "--values", "--inputs", "x.npz")
    assert code == 1
    assert "take other arguments, so they cannot be run on the same inputs" in out


def test_values_within_a_tolerance(files: Path) -> None:
    a = wg.parse(TEXT)
    near = wg.parse(
        TEXT.replace("stablehlo.tanh %x : tensor<3xf64>", "stablehlo.tanh %x : tensor<3xf64>\n  %e = stablehlo.constant dense<1.0e-7> : tensor<3xf64>")
        .replace("exponential %0", "exponential %s")
        .replace("  %1 =", "  %s = stablehlo.add %0, %e : tensor<3xf64>\n  %1 =")
    )
    x = [np.array([0.1, 0.2, 0.3])]
    strict, loose = diff(a, near, inputs=x).values, diff(a, near, inputs=x, rtol=1e-5).values
    assert strict is not None
    assert loose is not None
    assert strict.first is not None
    assert strict.first.b == "%1 = stablehlo.exponential %s : tensor<3xf64>"
    assert loose.equal


def test_values_in_loops() -> None:
    loop = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<f64>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %one : tensor<i32>
      %half = stablehlo.constant dense<0.5> : tensor<f64>
      %s = stablehlo.maximum %a, %half : tensor<f64>
      %t = stablehlo.subtract %s, %half : tensor<f64>
      stablehlo.return %i1, %t : tensor<i32>, tensor<f64>
    }
  return %r#1 : tensor<f64>
}
"""
    other = loop.replace("stablehlo.maximum %a, %half", "stablehlo.add %a, %half")
    values = diff(wg.parse(loop), wg.parse(other), inputs=[1.2]).values
    assert values is not None
    assert values.first is not None
    assert values.first.execution == 0
    assert values.first.b.startswith("%s = stablehlo.add")


@pytest.mark.parametrize("stage", ["fuse.mlir", "bufferize.mlir", "emit-llvm.ll", "emit-asm.s"])
def test_dumps_at_every_level(files: Path, capsys: pytest.CaptureFixture[str], stage: str) -> None:
    for name in ("a", "b"):
        wg.load(f"{name}.mlir").compile(dump_dir=name)
    (one,), (other,) = Path("a").glob(f"*-{stage}"), Path("b").glob(f"*-{stage}")
    assert run(capsys, str(one), str(other))[0] == 1
    other.write_text(one.read_text())
    assert run(capsys, str(one), str(other))[0] == 0


def test_an_instruction_more(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "define double @f(double %x) {\nentry:\n  %a = fadd double %x, 1.0\n  %b = fmul double %a, %x\n  %c = fsub double %b, %x\n  ret double %c\n}\n"
    Path("a.ll").write_text(text)
    Path("b.ll").write_text(text.replace("  %c = fsub double %b", "  %n = fneg double %b\n  %c = fsub double %n"))
    code, out = run(capsys, "a.ll", "b.ll")
    assert code == 1
    assert out.splitlines()[2] == "+1 -0 ~0, 4 alike (1 of them reads something new)"
    Path("c.ll").write_text(text.replace("%a", "%other"))
    assert run(capsys, "a.ll", "c.ll")[0] == 0
    code, out = run(capsys, "a.ll", "a.mlir")
    assert code == 1
    assert "only dumps of one kind can be compared" in out


def test_a_file_in_a_commit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("add", "a.mlir")
    git("commit", "-qm", "first")
    Path("a.mlir").write_text(OTHER)
    code, out = run(capsys, "HEAD:a.mlir", "a.mlir", "--vjp")
    assert code == 1
    assert out.splitlines()[:2] == ["--- vjp of HEAD:a.mlir", "+++ vjp of a.mlir"]
    code, out = run(capsys, "HEAD:missing.mlir", "a.mlir")
    assert code == 1
    assert "the commit HEAD has no file missing.mlir" in out
    Path("a.mlir").write_text(TEXT.replace("%0", "%first"))
    assert run(capsys, "HEAD:a.mlir", "a.mlir")[0] == 0


def test_colours_where_they_are_asked_for(files: Path) -> None:
    difference = diff(wg.load("a.mlir"), wg.load("b.mlir"))
    assert "\x1b[33m" in difference.render(color=True)
    assert "\x1b" not in str(difference)


def test_in_notebooks(files: Path) -> None:
    html = diff(wg.load("a.mlir"), wg.load("b.mlir"))._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<details open>" in html
    assert "tensor&lt;3xf64&gt;" in html
    assert "tensor<3xf64>" not in html


def test_what_is_no_program() -> None:
    with pytest.raises(wg.InputError, match="diff takes programs, found str"):
        wg.diff("a.mlir", "b.mlir")
