"""Object files for AMD's devices, and code objects where LLVM's linker is found."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from reference_programs import PROGRAMS, needs_corpus, share

from wengert.dialects.gpu import BinaryOp, ObjectAttr
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.derived.derivation import finishing
from wengert.runtime.loading import load
from wengert.transforms.codegen.gpu.device import lld
from wengert.transforms.pipelines import gpu_lowering, joined, parse_pipeline

CHIPS = ("gfx90a", "gfx942")
TEXT = """gpu.module @kernels {
  gpu.func @twice(%x: memref<256xf32, 1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<256xf32, 1>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%t] : memref<256xf32, 1>
    gpu.return
  }
}
"""
needs_linker = pytest.mark.skipif(not lld.available(), reason="ld.lld is not in the path")


def made(text: str, chip: str, before: str = "") -> list[bytes]:
    """The binaries of a program for a chip."""
    module = parse_pipeline(joined(before, f"rocdl-attach-target{{chip={chip}}}", "gpu-module-to-binary{format=bin}")).run(parse_module(text, "k.mlir"))
    binaries = [op for op in module.walk() if isinstance(op, BinaryOp)]
    return [object.data for op in binaries for object in op.objects if isinstance(object, ObjectAttr)]


@pytest.mark.parametrize("chip", CHIPS)
def test_an_object_file_without_a_linker(chip: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (object,) = made(TEXT, chip)
    assert object[:4] == b"\x7fELF"
    assert not lld.is_linked(object)
    with pytest.raises(lld.DeviceCompileError, match=r"ld\.lld is not in the path"):
        lld.linked(object)


@needs_linker
@pytest.mark.parametrize("chip", CHIPS)
def test_a_code_object(chip: str) -> None:
    (object,) = made(TEXT, chip)
    assert lld.is_linked(object)
    assert b"twice.kd" in object, "the descriptor by which a kernel is found"


@pytest.mark.corpus
@needs_corpus
@needs_linker
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", share(PROGRAMS, 30), ids=lambda program: program.name)
def test_code_objects_of_derivatives(program: CorpusProgram, chip: str) -> None:
    core = load(program.path("f64")).vjp().optimized_module
    for object in made(str(core), chip, joined(finishing(core), gpu_lowering("gfx942"))):
        assert lld.is_linked(object)


@pytest.mark.skipif(sys.platform == "win32", reason="a script in the linker's place")
def test_a_linker_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "ld.lld"
    script.write_text("#!/bin/sh\necho 'ld.lld: error: no such thing' >&2\nexit 1\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiagnosticError, match=r"@kernels cannot be compiled for amdgpu: ld\.lld failed: ld\.lld: error: no such thing"):
        made(TEXT, "gfx942")
