"""The whole way down as files: the command in the header of each goes on to the same assembly, and every stage runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.inputs import random_inputs
from wengert.lab.opt import main
from wengert.runtime.loading import load, parse
from wengert.runtime.program import Program
from wengert.transforms.codegen.cpu.machine_code import emit_object, optimized
from wengert.transforms.pipelines import BUFFERIZE, EMIT, EPILOGUES, LOWER, SCHEDULE

EXAMPLES = Path(__file__).parents[2] / "examples"

LOOP = """
func.func public @main(%x: tensor<40x3xf64>, %n: tensor<i64>, %p: tensor<i1>) -> (tensor<40x3xf64>, tensor<f64>) {
  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i64>, tensor<40x3xf64>
   cond {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.compare GT, %i, %c : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.subtract %i, %one : tensor<i64>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %2 = stablehlo.multiply %y, %y : tensor<40x3xf64>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x3xf64>, tensor<f64>) -> tensor<40xf64>
    %4 = stablehlo.sqrt %3 : tensor<40xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<40xf64>) -> tensor<40x3xf64>
    %6 = stablehlo.divide %y, %5 : tensor<40x3xf64>
    %7 = stablehlo.sine %6 : tensor<40x3xf64>
    stablehlo.return %1, %7 : tensor<i64>, tensor<40x3xf64>
  }
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %8 = stablehlo.reduce(%0#1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<40x3xf64>, tensor<f64>) -> tensor<f64>
  %9 = "stablehlo.if"(%p) ({
    %a = stablehlo.tanh %8 : tensor<f64>
    stablehlo.return %a : tensor<f64>
  }, {
    %a = stablehlo.negate %8 : tensor<f64>
    stablehlo.return %a : tensor<f64>
  }) : (tensor<i1>) -> tensor<f64>
  return %0#1, %9 : tensor<40x3xf64>, tensor<f64>
}
"""

SORT = """
func.func public @main(%x: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<6x5xf64>) -> tensor<6x5xf64>
  %2 = stablehlo.exponential %0 : tensor<6x5xf64>
  return %2 : tensor<6x5xf64>
}
"""


def programs() -> dict[str, Program]:
    loop = parse(LOOP)
    return {
        "scalar": load(EXAMPLES / "scalar.mlir"),
        "mlp": load(EXAMPLES / "mlp.mlir").vjp(),
        "loop": loop,
        "derivative of a loop": loop.vjp(),
        "sort": parse(SORT).vjp(),
    }


PROGRAMS = programs()


@pytest.fixture(scope="module", params=PROGRAMS)
def stages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Program, list[Path]]:
    program, folder = PROGRAMS[request.param], tmp_path_factory.mktemp("stages")
    program.compile(dump_dir=folder)
    return program, sorted(path for path in folder.iterdir() if path.name != "index.md")


def command(path: Path) -> list[str]:
    header = re.search(r"^\S+ go on with: (wengert-opt .*)$", path.read_text(), re.MULTILINE)
    return shlex.split(header[1]) if header else []


def below_header(text: str) -> str:
    return re.sub(r"\A(?://|;|#) stage.*\n.*\n.*\n\n", "", text)


def test_every_arrow_is_there(stages: tuple[Program, list[Path]]) -> None:
    index = (stages[1][0].parent / "index.md").read_text()
    rows = [match[1] for match in re.finditer(r"^\| \d\d \| `(.*?)` \|", index, re.MULTILINE)]
    way = f"{LOWER},{SCHEDULE},{EPILOGUES},{BUFFERIZE},{EMIT}"
    assert ",".join(rows).endswith(f",{way}") or ",".join(rows[1:]) == way
    assert [path.suffix for path in stages[1]][-3:] == [".ll", ".ll", ".s"]


def test_headers_go_on_to_the_same_text(stages: tuple[Program, list[Path]], capsys: pytest.CaptureFixture[str]) -> None:
    *paths, last = stages[1]
    assert command(last) == []
    for path in paths:
        name, *arguments = command(path)
        assert (name, main(arguments)) == ("wengert-opt", 0)
        assert capsys.readouterr().out == below_header(last.read_text()), path.name


def test_every_stage_runs(stages: tuple[Program, list[Path]]) -> None:
    program, paths = stages
    inputs = random_inputs(program.signature, 0)
    expected = program.compile("interpreter")(*inputs)
    for path in paths:
        if path.suffix == ".mlir":
            stage = load(path)
            assert [(p.type, p.name) for p in stage.signature.results] == [(p.type, p.name) for p in program.signature.results]
            for backend in ("interpreter", "cpu"):
                for mine, theirs in zip(stage.compile(backend)(*inputs), expected, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12, err_msg=f"{path.name} {backend}")


def test_a_header_as_a_command_of_the_shell(tmp_path: Path) -> None:
    load(EXAMPLES / "scalar.mlir").compile(dump_dir=tmp_path)
    tool = Path(sys.executable).with_name("wengert-opt")
    if not tool.exists():
        pytest.skip("the package is not installed")
    header = next(line for line in (tmp_path / "00-input.mlir").read_text().splitlines() if "go on with" in line)
    done = subprocess.run(
        ["sh", "-c", header.partition("go on with: ")[2].replace("wengert-opt", shlex.quote(str(tool)), 1)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    (last,) = tmp_path.glob("*.s")
    assert done.stdout == below_header(last.read_text())


@pytest.mark.parametrize(
    ("options", "names"), [({"strict": True}, "emit-llvm{strict=true},optimize-llvm,emit-asm"), ({"opt": "fast"}, "emit-llvm,emit-asm{opt=fast}")]
)
def test_options_of_the_compiler_are_in_the_pipeline(options: dict[str, object], names: str, tmp_path: Path) -> None:
    compiled = load(EXAMPLES / "mlp.mlir").compile(dump_dir=tmp_path, **options)
    (text,) = tmp_path.glob("*-emit-llvm.ll")
    assert re.sub(r"(?m)^;(   | kernel\d+:).*\n", "", below_header(text.read_text())).rstrip() == compiled.executable.llvm_text.rstrip()  # pyright: ignore
    assert names in (tmp_path / "00-input.mlir").read_text()
    assert ("split-reductions" in (tmp_path / "00-input.mlir").read_text()) == ("strict" not in options)


def test_dumps_show_what_is_compiled_without_them(tmp_path: Path) -> None:
    for number, program in enumerate(PROGRAMS.values()):
        with_dumps, without = program.compile(dump_dir=tmp_path / str(number)), program.__class__(program.module).compile()
        assert with_dumps.executable.llvm_text == without.executable.llvm_text  # pyright: ignore


def test_code_is_emitted_for_kernels_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLES / "scalar.mlir"), "-p", "to-core,emit-llvm"]) == 1
    error = capsys.readouterr().err
    assert re.search(r"scalar\.mlir:\d+:\d+: error: 'stablehlo\.\w+' is not at kernel level", error)
    assert "in pass 'emit-llvm' (2 of 2)" in error


def test_text_that_llvm_rejects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.ll"
    path.write_text("define void @f() { ret i32 }")
    assert main([str(path), "-p", "optimize-llvm"]) == 1
    assert "LLVM rejected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("emit-llvm,cse", "'cse' works on MLIR, and 'emit-llvm' before it leaves LLVM text"),
        ("fuse,emit-asm", "'emit-asm' works on LLVM text, and 'fuse' before it leaves MLIR"),
        ("emit-asm,emit-asm", "'emit-asm' works on LLVM text, and 'emit-asm' before it leaves assembly"),
    ],
)
def test_what_cannot_follow(pipeline: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLES / "scalar.mlir"), "-p", pipeline]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith(f"<pipeline>:1:{pipeline.index(',') + 2}: error: ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_optimised_text_is_what_the_compiler_goes_on_from(name: str) -> None:
    text: str = PROGRAMS[name].compile().executable.llvm_text  # pyright: ignore
    assert emit_object(optimized(text)) == emit_object(text)


def test_kernels_are_beyond_derivatives_and_stablehlo(tmp_path: Path) -> None:
    PROGRAMS["loop"].compile(dump_dir=tmp_path)
    (path,) = tmp_path.glob("*-fuse.mlir")
    kernels = load(path)
    assert str(kernels).strip() == below_header(path.read_text()).strip()
    with pytest.raises(DiagnosticError, match=r"kernel\.\w+ has no derivative rule"):
        kernels.vjp()


def test_what_the_docs_type(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    text = (EXAMPLES.parent / "docs" / "reading_dumps.md").read_text()
    commands = re.findall(r"^    wengert-opt (.*)$", text, re.MULTILINE)
    assert len(commands) > 3
    for line in commands:
        assert main(shlex.split(line)) == 0, f"{line}\n{capsys.readouterr().err}"
    load(EXAMPLES / "mlp.mlir").compile(dump_dir="dumps")
    listed = set(re.findall(r"^    dumps/(\d\d-\S+)  ", text, re.MULTILINE))
    assert len(listed) > 4
    assert listed <= {path.name for path in Path("dumps").iterdir()}
