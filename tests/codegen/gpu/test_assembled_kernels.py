"""NVIDIA's assembler takes the PTX of all kernels, keeps nothing in memory for want of registers, and uses no more of these than is said here: of the
reference programs, and of layers of networks in shapes that fill a GPU. No device is needed for that."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from assembled_kernels import CHIPS, AssembledKernel, assembled_kernels, needs_assembler
from core_programs import core_of
from large_programs import PROGRAMS, large_program
from reference_programs import in_all_precisions, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.gpu import BinaryOp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.codegen.gpu.device import nvjitlink
from wengert.transforms.codegen.gpu.device.objects import DeviceCompileError
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import PTX, gpu_lowering, parse_pipeline

CEILINGS = {
    "elementwise f32": 64,
    "elementwise f64": 128,
    "loops f32": 96,
    "loops f64": 160,
    "together f32": 96,
    "together f64": 192,
    "tiles f32": 240,
    "tiles f64": 255,
    "one group f32": 240,
    "one group f64": 255,
}
"""The most registers of a thread, by what a kernel does; among loops convolutions take most, for their guards. With 64 of them, half of all threads that a
multiprocessor has room for run at once. One group of 256 threads alone has 256 for each."""


def core_program(name: str, kind: str, dtype: str = "float32") -> ModuleOp:
    """A large program at core level."""
    return alone(core_form(runnable(large_program(name, kind, dtype).optimized_module)), "main")


def expect_clean(kernels: Sequence[AssembledKernel]) -> None:
    """No kernel has a stack or spills, or takes more registers than its kind may."""
    assert not [kernel for kernel in kernels if kernel.usage.stack_bytes or kernel.usage.spill_bytes]
    assert not [kernel for kernel in kernels if kernel.usage.registers > CEILINGS[kernel.kind]]


@needs_assembler
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kind", ["primal", "vjp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_shapes(name: str, kind: str, chip: str) -> None:
    kernels = assembled_kernels(core_program(name, kind), chip)
    assert kernels
    expect_clean(kernels)


@needs_assembler
@pytest.mark.parametrize(("name", "kind", "chip"), share([(name, kind, chip) for name in PROGRAMS for kind in ("primal", "vjp") for chip in CHIPS], 3))
def test_large_shapes_of_sixteen_bits(name: str, kind: str, chip: str) -> None:
    kernels = assembled_kernels(core_program(name, kind, "bfloat16"), chip)
    assert kernels
    expect_clean(kernels)


@needs_assembler
@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("kind", ["primal", "jvp", "vjp"])
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 40))
def test_reference_programs(program: CorpusProgram, precision: str, kind: str) -> None:
    for chip in CHIPS:
        expect_clean(assembled_kernels(core_of(program, precision, kind)[0], chip))


WHOLE_OPS = {
    "a sort": """func.func @main(%x: tensor<2000x64xf64>, %y: tensor<2000x64xi32>) -> (tensor<2000x64xf64>, tensor<2000x64xi32>) {
      %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<2000x64xf64>, tensor<2000x64xi32>) -> (tensor<2000x64xf64>, tensor<2000x64xi32>)
      return %0#0, %0#1 : tensor<2000x64xf64>, tensor<2000x64xi32> }""",
    "stages of radix 8": """func.func @main(%x: tensor<1000x512xcomplex<f64>>) -> tensor<1000x512xcomplex<f64>> {
      %0 = stablehlo.fft %x, type = FFT, length = [512] : (tensor<1000x512xcomplex<f64>>) -> tensor<1000x512xcomplex<f64>>
      return %0 : tensor<1000x512xcomplex<f64>> }""",
    "stages of radix 7": """func.func @main(%x: tensor<1000x343xcomplex<f32>>) -> tensor<1000x343xcomplex<f32>> {
      %0 = stablehlo.fft %x, type = FFT, length = [343] : (tensor<1000x343xcomplex<f32>>) -> tensor<1000x343xcomplex<f32>>
      return %0 : tensor<1000x343xcomplex<f32>> }""",
    "a transform by a chirp": """func.func @main(%x: tensor<1000x67xf64>) -> tensor<1000x34xcomplex<f64>> {
      %0 = stablehlo.fft %x, type = RFFT, length = [67] : (tensor<1000x67xf64>) -> tensor<1000x34xcomplex<f64>>
      return %0 : tensor<1000x34xcomplex<f64>> }""",
    "random bits": """func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<100000xui32>) {
      %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<100000xui32>)
      return %0#0, %0#1 : tensor<2xui64>, tensor<100000xui32> }""",
}
"""Ops that are several kernels, on many lines."""


@needs_assembler
@pytest.mark.parametrize("name", WHOLE_OPS)
def test_whole_ops(name: str) -> None:
    kernels = assembled_kernels(core_form(parse_module(WHOLE_OPS[name])), "sm_90")
    assert kernels
    expect_clean(kernels)


def ptx_of(core: ModuleOp) -> str:
    """The PTX of a program."""
    module = parse_pipeline(f"{gpu_lowering('sm_90')},{PTX},gpu-module-to-binary{{format=isa}}").run(core)
    (binary,) = [op for op in module.walk() if isinstance(op, BinaryOp)]
    return binary.objects.data[0].text


def accesses(text: str) -> set[str]:
    """The kinds of accesses to global memory that PTX has."""
    return set(re.findall(r"(?:ld|st)\.global[\w.]*", text))


@pytest.mark.parametrize("kind", ["primal", "vjp"])
def test_streams_move_sixteen_bytes_at_once(kind: str) -> None:
    """Neighbouring accesses of a thread are one; what is only read takes the way for data that does not change. Rows of all threads divide by 4 here."""
    assert accesses(ptx_of(core_program("gelu", kind))) == {"ld.global.nc.v4.b32", "st.global.v4.b32"}


@needs_assembler
def test_text_that_the_assembler_refuses() -> None:
    with pytest.raises(nvjitlink.AssemblerError, match="'nonsense'"):
        nvjitlink.assembled(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }\n", "sm_90")
    with pytest.raises(nvjitlink.AssemblerError, match="does not match type NVJITLINK_INPUT_PTX"):
        nvjitlink.assembled("no text of this kind", "sm_90")


@needs_assembler
@pytest.mark.parametrize("chip", ["sm_1", "sm_9x", "sm_999", "sm_50", "gfx942", ""])
def test_chips_that_the_assembler_does_not_know(chip: str) -> None:
    with pytest.raises(nvjitlink.AssemblerError, match=f"NVIDIA's assembler knows no {chip}"):
        nvjitlink.assembled(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n", chip)


def test_what_the_assembler_says() -> None:
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'main_k1' for 'sm_90'
ptxas info    : Function properties for main_k1
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size
ptxas info    : Compiling entry function 'main_k0' for 'sm_90'
ptxas info    : Function properties for main_k0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
"""
    assert nvjitlink.usages(log) == [nvjitlink.Usage("main_k1", 255, 16, 20), nvjitlink.Usage("main_k0", 24, 0, 0)]
    with pytest.raises(DeviceCompileError, match="does not say what main_k0 takes"):
        nvjitlink.usages("ptxas info    : Compiling entry function 'main_k0' for 'sm_90'\n")


@pytest.mark.parametrize("available", [pytest.param(True, marks=needs_assembler), False])
def test_machine_code(available: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(f"module {{ {KERNEL} }}", "k.mlir")
    pipeline = parse_pipeline(f"{PTX},gpu-module-to-binary{{format=bin}}")
    if available:
        (binary,) = [op for op in pipeline.run(module).walk() if isinstance(op, BinaryOp)]
        assert binary.objects.data[0].data.startswith(b"\x7fELF")
        return
    monkeypatch.setattr(nvjitlink, "available", lambda: False)
    with pytest.raises(DiagnosticError) as refused:
        pipeline.run(module)
    assert "NVIDIA's assembler, which is not installed" in refused.value.render()
    assert "pip install nvidia-nvjitlink" in refused.value.render()


KERNEL = """gpu.module @kernels {
  gpu.func @twice(%x: memref<256xf32, 1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<256xf32, 1>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%t] : memref<256xf32, 1>
    gpu.return
  }
}"""
