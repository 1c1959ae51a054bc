"""What a core can do at most: a loop of nothing but multiply-adds in registers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from wengert.transforms.schedule.host import host

TYPES = {"f32": np.float32, "f64": np.float64}
_engines: list[Any] = []


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin at a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype)


def address_of(text: str, name: str) -> int:
    """The address of a function of a module in LLVM's text, compiled for this processor; it stays loaded."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address(name)


def peak(element: str) -> tuple[Callable[[], object], float]:
    """A call that multiplies and adds in registers, and its flops; ``element`` is ``f32`` or ``f64``."""
    target = host().target
    lanes, kind = target.vector_bytes // np.dtype(TYPES[element]).itemsize, {"f32": "float", "f64": "double"}[element]
    vector, chains, rounds = f"<{lanes} x {kind}>", 24 if target.vector_registers > 16 else 12, 4000
    fma = f"@llvm.fma.v{lanes}{element}"
    phis = [f"%a{n} = phi {vector} [%x, %entry], [%b{n}, %loop]" for n in range(chains)]
    steps = [f"%b{n} = call {vector} {fma}({vector} %x, {vector} %x, {vector} %a{n})" for n in range(chains)]
    sums = [f"%s{n} = fadd {vector} {f'%s{n - 1}' if n > 1 else '%b0'}, %b{n}" for n in range(1, chains)]
    lines = [
        "define void @peak(ptr %p) {", "entry:", f"%x = load {vector}, ptr %p, align 64", "br label %loop", "loop:",
        "%i = phi i64 [0, %entry], [%next, %loop]", *phis, *steps, "%next = add i64 %i, 1", f"%more = icmp ult i64 %next, {rounds}",
        "br i1 %more, label %loop, label %done", "done:", *sums, f"store {vector} %s{chains - 1}, ptr %p, align 64", "ret void", "}",
        f"declare {vector} {fma}({vector}, {vector}, {vector})",
    ]  # fmt: skip
    call, memory = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of("\n".join(lines), "peak")), aligned(lanes, TYPES[element])
    return lambda: call(memory.ctypes.data), 2.0 * lanes * chains * rounds
