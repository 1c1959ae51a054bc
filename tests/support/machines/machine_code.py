"""LLVM text as a function that a test can call, and as assembly of another target."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm

from wengert.transforms.codegen.llvm.builder import FunctionBuilder

_engines: list[Any] = []
"""Code lives as long as the tests: functions are called after their engine has gone out of scope."""


def callable_of(text: str, symbol: str, result: Any, *parameters: Any) -> Any:
    """The function of the module with these types of ctypes."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    return ctypes.CFUNCTYPE(result, *parameters)(engine.get_function_address(symbol))


def integer_function(parameters: Sequence[str], write: Callable[[FunctionBuilder], str]) -> Any:
    """A function of i64 parameters with the i64 that ``write`` returns."""
    builder = FunctionBuilder()
    result = write(builder)
    text = builder.module.text() + builder.definition("f", [f"i64 {p}" for p in parameters], result="i64", returns=result, head="")
    return callable_of(text, "f", ctypes.c_int64, *[ctypes.c_int64] * len(parameters))


def assembly(text: str, triple: str, cpu: str, features: str = "") -> str:
    """What a target makes of the module, which has been verified."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
    module = llvm.parse_assembly(f'target triple = "{triple}"\ntarget datalayout = "{machine.target_data}"\n{text}')
    module.verify()
    return str(machine.emit_assembly(module))
