"""What compiling a gpu.module refuses, and that objects are read again as they were written."""

from __future__ import annotations

import pytest

from wengert.dialects.gpu import BinaryOp, ObjectAttr
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.transforms.pipelines import AMDGPU, EMIT_GPU, PTX, SPIRV, parse_pipeline

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


@pytest.mark.parametrize(("target", "format"), [(t, f) for t in (PTX, AMDGPU, SPIRV) for f in ("llvm", "isa", "bin") if (t, f) != (PTX, "bin")])
def test_objects_survive_printing(target: str, format: str) -> None:
    module = parse_pipeline(f"{target},gpu-module-to-binary{{format={format}}}").run(parse_module(TEXT), verify_each=True)
    (made,) = [op for op in module.walk() if isinstance(op, BinaryOp)]
    (again,) = [op for op in parse_module(print_module(module)).walk() if isinstance(op, BinaryOp)]
    assert again.objects == made.objects
    assert all(isinstance(object, ObjectAttr) and len(object.data) > 100 for object in made.objects)


def _compiled(text: str, pipeline: str) -> str:
    parsed = parse_pipeline(pipeline)
    return parsed.translate(parsed.run(parse_module(text, "k.mlir")))


@pytest.mark.parametrize(("text", "pipeline", "message"), [
    (TEXT, "gpu-module-to-binary", "k.mlir:1:1: error: the module @kernels does not say what it is compiled for"),
    (TEXT, "emit-gpu-llvm", "k.mlir:1:1: error: the module @kernels does not say what it is compiled for"),
    (TEXT, f"{PTX},gpu-module-to-binary{{format=fatbin}}", "fatbin"),
    (TEXT, f"{PTX},emit-gpu-llvm{{module=kernel}}", "there is no gpu.module @kernel"),
    (TEXT + TEXT.replace("@kernels", "@others"), f"{PTX},{EMIT_GPU}", "there are 2 gpu.modules: @kernels, @others"),
    ("func.func @main() { return }", EMIT_GPU, "there is no gpu.module"),
    (TEXT.replace("attributes {known_block_size = array<i32: 256, 1, 1>} ", ""), f"{PTX},{EMIT_GPU}", "k.mlir:2:3: error: @twice does not say how many threads"),
])  # fmt: skip
def test_what_is_refused(text: str, pipeline: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        _compiled(text, pipeline)
    assert message in refused.value.render()


@pytest.mark.parametrize("pipeline", ["optimize-gpu-llvm", "emit-gpu-asm"])
def test_text_that_is_for_no_device(pipeline: str) -> None:
    with pytest.raises(DiagnosticError, match="the text is for 'x86_64-linux-gnu', which is no device"):
        parse_pipeline(pipeline).translate('target triple = "x86_64-linux-gnu"\n')
    with pytest.raises(DiagnosticError, match="LLVM rejected"):
        parse_pipeline(pipeline).translate('target triple = "nvptx64-nvidia-cuda"\n define nonsense')
