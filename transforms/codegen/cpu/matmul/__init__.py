"""Matrix products for dot_general: `plan` maps one on a nest of plain products and chooses a kernel, `emit_function` writes it as LLVM IR.

Small and medium products get a register-blocked kernel with all sizes baked in; large ones call the gemm of SciPy's BLAS.
"""

from wengert.transforms.codegen.cpu.matmul.blas import register_symbols
from wengert.transforms.codegen.cpu.matmul.emission import declarations, emit_function
from wengert.transforms.codegen.cpu.matmul.parts import Parts, emit_task, nanoseconds, parts
from wengert.transforms.codegen.cpu.matmul.planner import MatmulPlan, UnsupportedMatmul, plan
from wengert.transforms.codegen.cpu.matmul.target import AVX2, AVX512, NEON, SSE2, Target, target_of

__all__ = [
    "AVX2", "AVX512", "NEON", "SSE2", "MatmulPlan", "Parts", "Target", "UnsupportedMatmul",
    "declarations", "emit_function", "emit_task", "nanoseconds", "parts", "plan", "register_symbols", "target_of",
]  # fmt: skip
