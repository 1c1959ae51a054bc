"""The memory of a program at one stage of its compilation, for the index of dumps: at the peak, and kept for the reverse part.

Where values are tensors, the peak is that of live bytes (:mod:`wengert.transforms.analysis.liveness`) and kept is what the reverse part reads of the forward
part. On buffers the peak is what a call needs besides constants, and kept is what waits in the arena where it is fullest.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.dumps import StageMemory
from wengert.transforms.analysis.kept import kept_by, reverse_part
from wengert.transforms.analysis.liveness import peak_bytes
from wengert.transforms.analysis.memory import memory_of
from wengert.transforms.shapes.dynamism import is_dynamic


def stage_memory(module: ModuleOp) -> StageMemory:
    """The bytes of a module at any level; None where they are not known: of open extents, of several halves of a derivative, behind ``kernels-to-gpu``."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    entry = next((f for f in functions if f.sym_name.data == "main"), functions[0] if functions else None)
    if entry is None or is_dynamic(module):
        return StageMemory()
    try:
        if is_bufferized(entry):
            memory = memory_of(entry)
            on_cpu = all(op.name != "gpu.module" for op in module.ops)
            return StageMemory(memory.inputs + memory.results + memory.arena, memory.kept if on_cpu else None)
        kept = sum(kept_by(entry).values()) if reverse_part(entry) else None
        return StageMemory(peak_bytes(module, entry.sym_name.data), kept)
    except (DiagnosticError, KeyError, TypeError, AttributeError, ValueError, AssertionError):  # ops that nobody has declared: the dump is what counts
        return StageMemory()
