"""What nobody can run is refused: ops that nobody knows, sizes that no machine holds, files that are none, arrays that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.main import main
from wengert.lab.inputs import read_inputs
from wengert.runtime.errors import ExecutionError
from wengert.runtime.interpreter import run
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

UNKNOWN = """func.func @main(%a: tensor<f64>) -> tensor<f64> {
  %0 = "foo.cosine"(%a) : (tensor<f64>) -> tensor<f64>
  %1 = "foo.log"() : () -> tensor<f64>
  return %0 : tensor<f64>
}"""

USES: dict[str, Callable[[Program], object]] = {
    "call": lambda p: p(1.0),
    "compile": lambda p: p.compile(),
    "interpret": lambda p: p.compile("interpreter")(1.0),
    "jvp": lambda p: p.jvp(),
    "vjp": lambda p: p.vjp(),
    "direct": lambda p: p.vjp(strategy="direct"),
    "linearize": lambda p: p.linearize().linear,
    "jacobian": lambda p: p.jacrev(),
    "vmap": lambda p: p.vmap(size=3),
    "costs": lambda p: p.costs(),
    "check": lambda p: p.check(1.0),
    "text": lambda p: p.text(),
}


@pytest.mark.parametrize("use", USES)
def test_unknown_ops_are_refused_on_every_path(use: str) -> None:
    program = Program(parse_module(UNKNOWN, "t.mlir"))
    with pytest.raises(wg.DiagnosticError, match=r"t\.mlir:2:3: error: unknown operation 'foo.cosine'"):
        USES[use](program)


def test_unknown_ops_are_refused_when_they_are_read_and_all_are_named() -> None:
    with pytest.raises(wg.DiagnosticError, match=r"t\.mlir:3:3: error: unknown operation 'foo.log'") as caught:
        wg.parse(UNKNOWN, "t.mlir")
    assert [(d.line, d.hint) for d in caught.value.diagnostics] == [(2, "did you mean 'stablehlo.cosine'?"), (3, "did you mean 'stablehlo.log'?")]


def test_the_interpreter_refuses_unknown_ops_by_their_names() -> None:
    with pytest.raises(ExecutionError, match=r"t\.mlir:2:3: error: 'foo.cosine' is not implemented by the interpreter"):
        run(parse_module(UNKNOWN, "t.mlir"), [np.float64(1)])


@pytest.mark.parametrize("pipeline", ["", "dce,cse,simplify", "to-core,from-core"])
def test_passes_carry_unknown_ops_along(pipeline: str) -> None:
    module = parse_module(UNKNOWN, "t.mlir")
    before = print_module(module)
    assert print_module(parse_pipeline(pipeline).run(module)) == before


@pytest.mark.parametrize("pipeline", ["jvp{wrt=0}", "vjp{wrt=0}", "vjp{wrt=0 strategy=direct}"])
def test_derivatives_of_unknown_ops_are_refused_by_their_names(pipeline: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=r"t\.mlir:2:3: error: foo.cosine has no"):
        parse_pipeline(pipeline).run(parse_module(UNKNOWN, "t.mlir"))


def filled(extents: str, *, result: bool = True) -> str:
    """A program that fills a tensor, and returns it or one element of it after an op that no kernel computes in parts."""
    rank = extents.count("x") + 1
    head = f"func.func @main(%x: tensor<f64>) -> {f'tensor<{extents}xf64>' if result else 'tensor<f64>'} {{\n"
    fill = f"  %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f64>) -> tensor<{extents}xf64>\n"
    if result:
        return f"{head}{fill}  return %b : tensor<{extents}xf64>\n}}"
    one, ranges = "x".join("1" * rank), ", ".join(["0:1"] * rank)
    cut = f"  %c = stablehlo.slice %b [{ranges}] : (tensor<{extents}xf64>) -> tensor<{one}xf64>\n"
    return f"{head}{fill}{cut}  %r = stablehlo.reshape %c : (tensor<{one}xf64>) -> tensor<f64>\n  return %r : tensor<f64>\n}}"


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize(
    ("extents", "message"),
    [
        ("1099511627776", "8.0 TiB of memory, of which this machine has"),
        ("4611686018427387904", "t.mlir:2:3: error: stablehlo.broadcast_in_dim holds .* 32.0 EiB: more than any machine can address"),
        ("4294967296x4294967297", "more than any machine can address"),
        ("1099511627776x1099511627776x1099511627776", "more than any machine can address"),
    ],
)
def test_what_no_machine_holds_is_refused_before_it_is_allocated(backend: str, extents: str, message: str) -> None:
    with pytest.raises((wg.InputError, wg.DiagnosticError), match=message):
        wg.parse(filled(extents), "t.mlir").compile(backend)(1.0)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_what_is_never_held_is_no_matter(backend: str) -> None:
    assert wg.parse(filled("4294967297", result=False)).compile(backend)(2.0) == (2.0,)


def test_a_batch_that_no_machine_holds_is_refused() -> None:
    with pytest.raises(wg.InputError, match="more than any machine can address"):
        wg.parse(filled("1099511627776"), "t.mlir").vmap(size=1 << 40).compile()


def test_dimensions_that_do_not_fit_are_refused_where_they_are_written() -> None:
    with pytest.raises(wg.DiagnosticError, match=r"t\.mlir:1:28: error: the dimension 9223372036854775808 does not fit i64"):
        wg.parse("func.func @main(%x: tensor<9223372036854775808xf64>) { return }", "t.mlir")


def test_elements_without_numbers_are_refused() -> None:
    program = wg.parse("func.func @main(%x: tensor<f80>) -> tensor<f80> {\n  return %x : tensor<f80>\n}", "t.mlir")
    with pytest.raises(wg.DiagnosticError, match="elements of type f80, which are not supported"):
        program.compile()


def command(*arguments: str) -> int:
    return main(list(arguments))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("kind", ["zero", "pipe", "folder", "bytes", "huge", "none"])
def test_files_that_are_no_programs(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    if kind == "zero":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "bytes":
        path.write_bytes(b"\xff\xfe")
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    for name in ("run", "opt"):
        assert command(name, str(path)) == Exit.DIAGNOSTIC
        assert str(path) in capsys.readouterr().err


def test_a_program_may_come_from_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    path.write_text("func.func @main() -> tensor<f64> {\n  %0 = stablehlo.constant dense<2.0> : tensor<f64>\n  return %0 : tensor<f64>\n}")
    with path.open() as file:
        arguments = [sys.executable, "-m", "wengert.lab.opt", "/dev/stdin"]
        process = subprocess.run(arguments, input=file.read(), capture_output=True, text=True, check=False)
    assert "dense<2.000000e+00>" in process.stdout


PROGRAM = wg.parse("func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  return %x : tensor<4xf64>\n}")


def test_arrays_that_are_not_asked_for_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("in_0.npy", "w") as member:
            np.lib.format.write_array(member, np.ones(4))
        file.writestr("in_7.npy", b"no array at all")
        file.writestr("other.txt", b"text")
    assert np.array_equal(read_inputs(path, PROGRAM.signature)[0], np.ones(4))


@pytest.mark.parametrize(
    ("descr", "shape", "message"),
    [
        ("<f8", "(1000000000000,)", r"must be float64\[4\], found float64\[1000000000000\]"),
        ("<f8", "(4,)", "says that it holds 32 bytes of elements, and holds 0"),
        ("8f8", "(3, 4)", r"says that its elements are arrays of shape \(8,\)"),
    ],
)
def test_arrays_that_claim_what_they_do_not_hold(descr: str, shape: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(wg.InputError, match=message):
        read_inputs(path, PROGRAM.signature)


def test_archives_that_are_encrypted_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    np.savez(path, in_0=np.ones(4))
    data = bytearray(path.read_bytes())
    central = data.find(b"PK\x01\x02")
    data[central + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(wg.InputError, match="is encrypted"):
        read_inputs(path, PROGRAM.signature)
    np.savez(path, in_0=np.ones(4))
    data = bytearray(path.read_bytes())
    data[data.find(b"\x00\x00\x00\x00\x00\x00\xf0\x3f")] ^= 1
    path.write_bytes(data)
    with pytest.raises(wg.InputError, match=r"'in_0' is not an array \(Bad CRC"):
        read_inputs(path, PROGRAM.signature)
