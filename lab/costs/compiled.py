"""The costs of a program as it is compiled, before any code is made: the passes run down to buffers, where kernels and memory are read off."""

from __future__ import annotations

from wengert.runtime.derived.derivation import runnable
from wengert.runtime.program import Program
from wengert.transforms.analysis.compiled_cost import CompiledCost, compiled_cost
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.lowering import placed


def compiled(program: Program, unknowns: Unknowns | None = None) -> CompiledCost:
    """Kernels, launches and memory of a program for the CPU backend.

    Args:
        program: a program without open extents.
        unknowns: the symbols of programs to compare with.

    Raises:
        DiagnosticError: the program cannot be compiled.
    """
    core = runnable(program.optimized_module)
    names = unknowns if unknowns is not None else Unknowns()
    return compiled_cost(placed(core), executions(core, "main", STATIC, names), names)
