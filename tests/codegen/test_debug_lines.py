"""Debug lines: what machine code says of the user's program, to debuggers and profilers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.ir.location.locations import at
from wengert.runtime.cpu.object_file import functions_of
from wengert.runtime.cpu.perf_map import write_map
from wengert.transforms.codegen.cpu.machine_code import emit_object
from wengert.transforms.codegen.llvm.debug_lines import described, mark, marked, with_debug_lines
from wengert.transforms.pipelines import parse_pipeline

TEXT = """\
func.func public @main(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = stablehlo.tanh %0 : tensor<64x64xf64>
  %2 = stablehlo.multiply %1, %x : tensor<64x64xf64>
  return %2 : tensor<64x64xf64>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    return path


@pytest.fixture(autouse=True)
def no_maps_left() -> Generator[None]:
    """Programs that are compiled here leave perf nothing to look at."""
    yield
    Path(f"/tmp/perf-{os.getpid()}.map").unlink(missing_ok=True)


def emitted(file: Path, options: str) -> str:
    pipeline = parse_pipeline(f"to-core,fuse,schedule,bufferize,emit-llvm{options}")
    return pipeline.translate(pipeline.run(wg.load(file).module.clone()))


def test_results_are_the_same(file: Path) -> None:
    x = np.random.default_rng(0).normal(size=(64, 64))
    program = wg.load(file)
    for opt in ("best", "fast"):
        np.testing.assert_array_equal(program.compile(opt=opt, debug_lines=True)(x, x), program.compile(opt=opt)(x, x))


def test_instructions_name_the_lines_of_their_ops(file: Path) -> None:
    text = emitted(file, "{debug-lines=true}")
    lines = {int(line) for line in re.findall(r"!DILocation\(line: (\d+)", text)}
    assert lines >= {2, 3, 4}
    assert 'filename: "p.mlir"' in text
    assert ";@" not in text
    assert all("!dbg" in line for line in text.splitlines() if re.match(r"(define .*@(kernel|entry)|%(slot)?\d+ = )", line) and "@wg." not in line)


def test_text_without_them_has_no_metadata_but_says_its_ops(file: Path) -> None:
    text = emitted(file, "")
    assert "!dbg" not in text
    assert "; kernel0: stablehlo.dot_general at" in text
    assert re.search(r"; kernel1: stablehlo.multiply at .*p.mlir:4:3\n;   stablehlo.tanh at .*p.mlir:3:3", text)


def test_assembly_has_line_tables(file: Path) -> None:
    pipeline = parse_pipeline("to-core,fuse,schedule,bufferize,emit-llvm{debug-lines=true},optimize-llvm,emit-asm")
    text = pipeline.translate(pipeline.run(wg.load(file).module.clone()))
    assert re.search(r"\.loc\s+\d+ 3 3", text)


def test_marks_become_metadata() -> None:
    text = "define i64 @f(i64 %x) {\n%y = add i64 %x, 1\n;@ 9 2 other.mlir\n%z = mul i64 %y, 2\nret i64 %z\n}\n"
    assert with_debug_lines(text.replace(";@ 9 2 other.mlir\n", "")) == text.replace(";@ 9 2 other.mlir\n", "")
    annotated = with_debug_lines(marked(text, at('strange "name".mlir', 3, 5)))
    assert "!DILexicalBlockFile" in annotated
    assert 'filename: "strange \\22name\\22.mlir"' in annotated
    assert emit_object(annotated)  # LLVM accepts it


def test_what_has_no_place_has_no_mark() -> None:
    from xdsl.dialects.builtin import UNKNOWN_LOC

    assert mark(UNKNOWN_LOC) is None
    assert described(UNKNOWN_LOC) == ""
    assert described(at("a b.mlir", 3, 5)) == ".a_b.mlir.3"


def test_functions_are_told_to_perf(file: Path, tmp_path: Path) -> None:
    image = emit_object(emitted(file, "{debug-lines=true}"))
    functions = functions_of(image)
    assert "entry" in functions
    assert all(size > 0 for _, size in functions.values())
    write_map(image, "entry", 0x1000, str(tmp_path))
    (path,) = tmp_path.glob("perf-*.map")
    rows = [line.split(" ", 2) for line in path.read_text().splitlines()]
    assert {name for _, _, name in rows} == set(functions)
    assert [int(start, 16) for start, _, name in rows if name == "entry"] == [0x1000]
    assert functions_of(b"something else") == {}


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_a_debugger_stops_at_a_line_of_the_program(file: Path, tmp_path: Path) -> None:
    script = tmp_path / "call.py"
    script.write_text(f"import numpy as np, wengert as wg\nx = np.ones((64, 64))\nwg.load({str(file)!r}).compile(debug_lines=True)(x, x)\n")
    commands = ["set breakpoint pending on", "set debuginfod enabled off", "break p.mlir:3", "run", "bt 1"]
    arguments = ["gdb", "-batch", "-nx", *(word for command in commands for word in ("-ex", command)), "--args", sys.executable, str(script)]
    output = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False).stdout
    if "ptrace" in output or "Breakpoint 1" not in output:
        pytest.skip("gdb cannot run a program here")
    assert "stablehlo.tanh %0" in output
