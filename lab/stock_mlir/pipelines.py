"""Upstream's passes, in the order in which stock MLIR makes code of what is written here."""

from __future__ import annotations

TO_LLVM = ",".join(
    (
        # tensors to buffers to loops
        "convert-elementwise-to-linalg",
        "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops}",
        "linalg-generalize-named-ops",
        "convert-linalg-to-loops",
        "lower-affine",
        # ops that LLVM has not, by ones that it has
        "convert-complex-to-standard",
        "math-expand-ops{ops=clampf,fpowi,ipowi}",
        "func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32})",
        "convert-math-to-llvm",
        "convert-math-to-libm",
        "convert-scf-to-cf",
        "expand-strided-metadata",
        "lower-affine",
        "arith-expand{include-bf16=true}",
        # each dialect to LLVM's
        "convert-complex-to-llvm",
        "convert-math-to-llvm",
        "convert-math-to-libm",
        "convert-index-to-llvm",
        "convert-arith-to-llvm",
        "finalize-memref-to-llvm",
        "convert-func-to-llvm",
        "convert-cf-to-llvm",
        "reconcile-unrealized-casts",
    )
)
"""From what ``wengert-opt --to-upstream`` writes to the LLVM dialect."""

TO_NVVM = ",".join(
    (
        "gpu.module(convert-complex-to-standard)",
        "convert-scf-to-cf",
        "convert-nvgpu-to-nvvm",
        "gpu.module(convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},convert-math-to-llvm,reconcile-unrealized-casts)",
    )
)
"""From the gpu level to the NVVM and LLVM dialects. Ops on complex numbers that LLVM's dialect has no pattern for (``complex.neg``) are arithmetic first:
``convert-gpu-to-nvvm`` would leave them as they are, without an error."""

TO_PTX = f"{TO_NVVM},gpu-module-to-binary{{format=isa}}"
"""From the gpu level with a target of NVIDIA's to PTX, inside of ``gpu.binary``."""

TO_SPIRV = ",".join(
    (
        "gpu.module(convert-complex-to-standard)",
        "convert-scf-to-cf",
        "convert-cf-to-llvm{index-bitwidth=64}",
        "gpu.module(convert-gpu-to-llvm-spv{use-64bit-index=true})",
        "finalize-memref-to-llvm{index-bitwidth=64}",
        "gpu.module(convert-complex-to-llvm,convert-math-to-llvm,convert-arith-to-llvm{index-bitwidth=64})",
        "convert-func-to-llvm{index-bitwidth=64}",
        "gpu.module(reconcile-unrealized-casts)",
    )
)
"""From the gpu level to the LLVM dialect as LLVM's back end for SPIR-V takes it. What jumps carry is converted first: ``convert-gpu-to-llvm-spv`` does
not do it, and would leave jumps that carry indices to blocks that take numbers."""
