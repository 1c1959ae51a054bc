"""Emits matrix products as LLVM text: `emit_function` writes the function of a plan (:mod:`wengert.transforms.schedule.products`), `emit_task` one in parts.

Small and medium products get a register-blocked kernel with all sizes baked in; large ones call the gemm of SciPy's BLAS.
"""

from wengert.transforms.codegen.cpu.matmul.emission import declarations, emit_function
from wengert.transforms.codegen.cpu.matmul.task import emit_task

__all__ = ["declarations", "emit_function", "emit_task"]
