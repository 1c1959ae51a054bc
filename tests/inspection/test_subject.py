"""What a command looks at: programs, derivatives, dumps at every level, traced functions."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main, parser_of
from wengert.lab.cli.subject import add_subject
from wengert.lab.cli.subject import read_subject as read_from_command_line
from wengert.lab.cli.usage import Parser, UsageError
from wengert.lab.inspection.dump_folders import header_of, stages_of
from wengert.lab.inspection.subject import Request, form_of, read_subject, subject_of
from wengert.lab.inspection.traced import ArgumentType, read_argument_type
from wengert.runtime.errors import InputError

TEXT = """func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
FUNCTIONS = """import wengert as wg
import wengert.numpy as wnp

def f(x, y):
    return wnp.sum(wnp.tanh(x @ y))

@wg.jit
def g(x):
    return wnp.sin(x)

class Models:
    @staticmethod
    def h(x):
        return x * x

made = wg.jit(f).program(wg.ArraySpec((2, 2), "float64"), wg.ArraySpec((2, 2), "float64"))
number = 3
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "p.mlir"
    file.write_text(TEXT)
    return str(file)


@pytest.fixture
def functions(tmp_path: Path) -> str:
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    return str(file)


def test_a_program_and_its_derivative(path: str) -> None:
    plain = read_subject(path)
    assert plain.program is plain.primal
    assert plain.title == path
    assert plain.text.startswith("module {")
    asked = read_subject(path, request=Request("vjp", wrt=(0,)))
    assert asked.program is asked.derivative
    assert asked.title == f"vjp{{wrt=0}} of {path}"
    assert [str(p.type) for p in asked.program.signature.results] == ["tensor<3xf64>"] * 2
    assert asked.text == asked.program.text()


def test_the_second_derivative_is_the_forward_one_of_the_reverse(path: str) -> None:
    program = read_subject(path, request=Request("hvp", wrt=0)).program
    x, y, c, v = (np.array([0.1, 0.2, 0.3]) * k for k in (1, 2, 3, 4))
    results = program(x, y, c, v)
    np.testing.assert_allclose(results[-1], -np.sin(x) * y * c * v, rtol=1e-12)


def test_passes_behind_a_derivative(path: str) -> None:
    subject = read_subject(path, request=Request("vjp"), pipeline="to-core,fuse")
    assert subject.program is subject.transformed
    assert "kernel.nest" in subject.text
    assert subject.title == f"vjp of {path}, after to-core,fuse"
    text = read_subject(path, pipeline="to-core,fuse,schedule,bufferize,emit-llvm")
    assert text.form == "ll"
    assert any(line.startswith("define ") for line in text.lines)
    with pytest.raises(InputError, match="LLVM text, not MLIR"):
        _ = text.program


def test_subjects_of_programs_of_python() -> None:
    program = wg.parse(TEXT, "p.mlir")
    assert subject_of(program).program is program
    assert subject_of(program, Request("jvp")).program is program.jvp()


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_every_stage_of_a_compilation_loads(path: str, tmp_path: Path, backend: str) -> None:
    try:
        wg.load(path).vjp().compile(backend, dump_dir=tmp_path / "dumps")
    except InputError as error:
        pytest.skip(str(error))
    stages = stages_of(tmp_path / "dumps")
    assert {stage.form for stage in stages} >= {"mlir", "ll", "s" if backend == "cpu" else "isa"}
    for stage in stages:
        subject = read_subject(str(stage.path))
        assert subject.form == stage.form
        assert subject.header is not None
        assert subject.header.stage == stage.path.name
        assert (subject.primal is not None) == (stage.form == "mlir")
        assert len(subject.lines) > 3
    last = read_subject(str(tmp_path / "dumps"))
    assert last.stages == stages
    assert last.name == str([stage for stage in stages if stage.form == "mlir"][-1].path)
    assert read_subject(str(tmp_path / "dumps" / "index.md")).name == last.name


def test_a_folder_without_dumps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder without dumps"):
        read_subject(str(tmp_path))


def test_headers() -> None:
    header = header_of('// stage 01-vjp.mlir\n// pipeline so far: vjp{wrt=0}\n// go on with: wengert-opt -p "cse" 01-vjp.mlir\n\nmodule {}')
    assert header is not None
    assert (header.stage, header.pipeline, header.following) == ("01-vjp.mlir", "vjp{wrt=0}", 'wengert-opt -p "cse" 01-vjp.mlir')
    assert header_of(TEXT) is None
    assert form_of("-", "; stage 19-emit-llvm.ll\n") == "ll"
    assert form_of("-", "# stage 21-emit-asm.s\n") == "s"
    assert form_of("-", TEXT) == "mlir"
    assert form_of("a.ptx", "") == "isa"


def test_text_has_no_derivative(tmp_path: Path) -> None:
    file = tmp_path / "a.ll"
    file.write_text("define void @f() {\n  ret void\n}\n")
    assert read_subject(str(file)).lines[0] == "define void @f() {"
    with pytest.raises(InputError, match="only a program in MLIR can be differentiated"):
        read_subject(str(file), request=Request("vjp"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    subject = read_subject("-")
    assert subject.name == "<stdin>"
    assert subject.sources == {"<stdin>": TEXT}


def test_traced_functions(functions: str, tmp_path: Path) -> None:
    types = [read_argument_type("2x3xf32"), read_argument_type("3xf32")]
    assert str(read_subject(f"{functions}:f", types=types).program.signature) == "(x: tensor<2x3xf32>, y: tensor<3xf32>) -> (result: tensor<f32>)"
    assert str(read_subject(f"{functions}:g", types=[ArgumentType((4,))]).program.signature.arguments[0].type) == "tensor<4xf64>"
    assert str(read_subject(f"{functions}:Models.h", types=[ArgumentType((), "float32")]).program.signature.arguments[0].type) == "tensor<f32>"
    assert len(read_subject(f"{functions}:made").program.signature.arguments) == 2
    np.savez(tmp_path / "x.npz", y=np.ones((3, 2)), x=np.ones((2, 3)))
    program = read_subject(f"{functions}:f", inputs=str(tmp_path / "x.npz")).program
    assert [p.shape for p in program.signature.arguments] == [(2, 3), (3, 2)]
    derivative = read_subject(f"{functions}:f", types=types, request=Request("vjp")).program
    assert len(derivative.signature.results) == 3


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("f", None, "give --shapes"),
        ("f", ["3"], "cannot be called with 1 arguments"),
        ("f", ["keep", "3"], "every shape is given"),
        ("ff", ["3"], "has no 'ff'"),
        ("mad", None, "did you mean 'made'"),
        ("number", None, "neither a function nor a wengert.Program"),
    ],
)
def test_functions_that_cannot_be_traced(functions: str, name: str, types: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_subject(f"{functions}:{name}", types=None if types is None else [read_argument_type(type) for type in types])


def test_modules_that_are_not_there() -> None:
    with pytest.raises(InputError, match="there is no module 'no_such_module'"):
        read_subject("no_such_module:f")
    with pytest.raises(FileNotFoundError):
        read_subject("no_such_file.mlir")


def test_types_of_arguments() -> None:
    assert read_argument_type("f32") == ArgumentType((), "float32")
    assert read_argument_type("2x3xi1") == ArgumentType((2, 3), "bool")
    assert read_argument_type("4xc64") == ArgumentType((4,), "complex64")
    assert read_argument_type("2x3") == ArgumentType((2, 3))
    assert read_argument_type("keep") == ArgumentType(None)
    with pytest.raises(wg.DiagnosticError, match="is no shape"):
        read_argument_type("2xq")


def test_a_text_says_its_element_types(path: str) -> None:
    with pytest.raises(InputError, match="the program's text says the element type"):
        read_subject(path, types=[read_argument_type("3xf64")])


def test_the_command_line(path: str) -> None:
    parser = Parser(prog="wengert look")
    add_subject(parser)

    def read(*words: str) -> str:
        options = parser.parse([path, *words])
        options.prog, options.words = parser.prog, [path, *words]
        return read_from_command_line(options).title

    assert read() == path
    assert read("--vjp", "--wrt", "0", "--residuals", "recompute-all") == f"vjp{{wrt=0 residuals=recompute-all}} of {path}"
    assert read("--jvp", "-p", "cse", "-p", "dce") == f"jvp of {path}, after cse,dce"
    with pytest.raises(UsageError, match="--wrt is about a derivative, and none is asked for"):
        read("--wrt", "0")
    with pytest.raises(UsageError, match="did you mean 'recompute-all'"):
        read("--vjp", "--residuals", "recompute-al")
    with pytest.raises(UsageError, match="not allowed with"):
        read("--vjp", "--jvp")


def test_commands_are_found() -> None:
    assert parser_of("draw").prog == "wengert draw"
    assert main(["draw", "--help"]) == 0
