"""Emits matrix products as LLVM text: `emit_function` writes the function of a plan (:mod:`wengert.transforms.schedule.products`), `emit_task` one in parts.

Small and medium products get a register-blocked kernel with all sizes baked in, large ones one with panels in the caches.
A schedule may ask for the gemm of SciPy's BLAS.
"""

from wengert.transforms.codegen.cpu.matmul.emission import emit_function, helpers
from wengert.transforms.codegen.cpu.matmul.task import emit_task, task_helpers

__all__ = ["emit_function", "emit_task", "helpers", "task_helpers"]
