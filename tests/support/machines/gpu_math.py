"""The compiler's scalar functions at one lane, as a kernel in PTX and as a function of this processor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from ptx_programs import compiled, image_of

from wengert.runtime import ptx
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.module import AddressSpaces, ModuleBuilder
from wengert.transforms.schedule.host import host

Write = Callable[[FunctionBuilder, list[str]], str]
"""Appends the instructions of a scalar function; the name of the result."""

_engines: list[Any] = []
_SPECIAL_ID = "call i32 @llvm.nvvm.read.ptx.sreg.{}.x()"
_THREADS = 64


def on_device(write: Write, types: list[str], result: str, arrays: list[Any], dtype: Any, *, checks: ptx.Checks | None = None) -> Any:
    """The function of each element by PTX, in blocks of 64 threads; the arrays have a multiple of 64 elements."""
    builder = FunctionBuilder(ModuleBuilder(AddressSpaces(constants=4)))
    names = [f"%x{k}" for k in range(len(types))]
    builder.address_spaces.update(dict.fromkeys([*names, "%out"], 1))
    block, thread = (builder.cast("zext", builder.op(_SPECIAL_ID.format(name)), "i32", "i64") for name in ("ctaid", "tid"))
    at = builder.add(builder.multiply(block, _THREADS), thread)
    values = [builder.load(type, builder.offset(name, type, at)) for name, type in zip(names, types)]
    builder.store(result, write(builder, values), builder.offset("%out", result, at))
    parameters = [f"ptr addrspace(1) noalias {name}" for name in [*names, "%out"]]
    text = compiled(builder.module.text() + builder.definition("kernel", parameters, head="ptx_kernel"))
    image, memory = image_of(text)
    count = len(arrays[0])
    out = memory.allocate(count * np.dtype(dtype).itemsize)
    image.launch("kernel", grid=count // _THREADS, block=_THREADS, arguments=[*[memory.put(a) for a in arrays], out], checks=checks)
    return memory.read(out, count, dtype)


def on_processor(write: Write, types: list[str], result: str, arrays: list[Any], dtype: Any) -> Any:
    """The function of each element by machine code for this processor, as the CPU backend makes it: ``fmuladd`` is fused where there is an instruction."""
    builder = FunctionBuilder()
    names = [f"%x{k}" for k in range(len(types))]
    with builder.loop(0, "%n") as loop:
        values = [builder.load(type, builder.offset(name, type, loop.index)) for name, type in zip(names, types)]
        builder.store(result, write(builder, values), builder.offset("%out", result, loop.index))
    text = builder.module.text() + builder.definition("f", [*[f"ptr {name}" for name in [*names, "%out"]], "i64 %n"], head="")
    processor = host()
    machine = llvm.Target.from_triple(processor.triple).create_target_machine(cpu=processor.cpu, features=processor.features, opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    _engines.append(engine)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(types) + 1), ctypes.c_int64)(engine.get_function_address("f"))
    output = np.zeros(len(arrays[0]), dtype)
    function(*[a.ctypes.data for a in arrays], output.ctypes.data, len(output))
    return output
