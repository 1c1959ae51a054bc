"""wengert: a laboratory for automatic differentiation on MLIR.

    >>> import wengert as wg
    >>> p = wg.load("examples/mlp.mlir")          # doctest: +SKIP
    >>> outputs = p(*inputs)                      # doctest: +SKIP
    >>> gradient = p.vjp(wrt=(0, 1)).compile()    # doctest: +SKIP

This is the whole public API. Names are imported when first used, so ``import wengert`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.frontends.torch_programs.module import TorchModule, from_torch
    from wengert.ir.diagnostics import Diagnostic, DiagnosticError
    from wengert.lab.draw.drawing import Drawing, draw
    from wengert.runtime.errors import ExecutionError, InputError
    from wengert.runtime.program import CompiledProgram, Program, load, parse
    from wengert.runtime.signature import Parameter, Signature

__version__ = "0.1.0"

__all__ = [
    "CompiledProgram",
    "Diagnostic",
    "DiagnosticError",
    "Drawing",
    "ExecutionError",
    "InputError",
    "Parameter",
    "Program",
    "Signature",
    "TorchModule",
    "__version__",
    "draw",
    "from_torch",
    "load",
    "parse",
]

_HOMES = {
    "CompiledProgram": "wengert.runtime.program",
    "Diagnostic": "wengert.ir.diagnostics",
    "DiagnosticError": "wengert.ir.diagnostics",
    "Drawing": "wengert.lab.draw.drawing",
    "ExecutionError": "wengert.runtime.errors",
    "InputError": "wengert.runtime.errors",
    "Parameter": "wengert.runtime.signature",
    "Program": "wengert.runtime.program",
    "Signature": "wengert.runtime.signature",
    "TorchModule": "wengert.frontends.torch_programs.module",
    "draw": "wengert.lab.draw.drawing",
    "from_torch": "wengert.frontends.torch_programs.module",
    "load": "wengert.runtime.program",
    "parse": "wengert.runtime.program",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wengert' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
