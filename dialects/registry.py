"""The context that programs are parsed in: our dialects and those of xDSL, each imported when a program first names it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

_MODULES = {
    "stablehlo": ("wengert.dialects.stablehlo", "StableHLO"),
    "chlo": ("wengert.dialects.chlo", "Chlo"),
    "core": ("wengert.dialects.core", "Core"),
    "ad": ("wengert.dialects.ad", "AD"),
    "kernel": ("wengert.dialects.kernel", "Kernel"),
    "func": ("xdsl.dialects.func", "Func"),
    "arith": ("xdsl.dialects.arith", "Arith"),
    "math": ("xdsl.dialects.math", "Math"),
    "complex": ("xdsl.dialects.complex", "Complex"),
    "scf": ("xdsl.dialects.scf", "Scf"),
    "cf": ("xdsl.dialects.cf", "Cf"),
    "affine": ("xdsl.dialects.affine", "Affine"),
    "tensor": ("xdsl.dialects.tensor", "Tensor"),
    "linalg": ("xdsl.dialects.linalg", "Linalg"),
    "memref": ("xdsl.dialects.memref", "MemRef"),
    "vector": ("xdsl.dialects.vector", "Vector"),
    "gpu": ("xdsl.dialects.gpu", "GPU"),
    "llvm": ("xdsl.dialects.llvm", "LLVM"),
}

CLOSED = ("builtin", "func", "stablehlo", "chlo", "core", "ad", "kernel")
"""Dialects of which every op is known: an unknown op in one of them is an error, elsewhere it is carried along."""


def _loader(module: str, name: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(module), name)


def make_context() -> Context:
    """A context with every dialect registered and none but ``builtin`` imported; ops of other dialects stay as they are."""
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    for dialect, (module, name) in _MODULES.items():
        context.register_dialect(dialect, _loader(module, name))
    return context
