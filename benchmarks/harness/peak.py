"""What a core can do at most: a loop of nothing but multiply-adds in registers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.machine_code import emit_object
from wengert.transforms.schedule.host import host

TYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
_libraries: list[Library] = []


def aligned(count: int, dtype: Any) -> Any:
    """Zeros that begin at a cache line."""
    size = count * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype)


def address_of(text: str, name: str) -> int:
    """The address of a function of a module in LLVM's text, compiled as programs are; it stays loaded."""
    library = Library(emit_object(text))
    _libraries.append(library)
    return library.address(name)


def peak(element: str) -> tuple[Callable[[], object], float]:
    """A call that does nothing but multiply and add in registers, and its flops: what a core can do at most; of bf16 by the instruction for pairs."""
    target, sums = host().target, "f64" if element == "f64" else "f32"
    lanes, kind = target.vector_bytes // np.dtype(TYPES[sums]).itemsize, {"f32": "float", "f64": "double"}[sums]
    vector, chains, rounds = f"<{lanes} x {kind}>", 24 if target.vector_registers > 16 else 12, 4000
    phis = [f"%a{n} = phi {vector} [%x, %entry], [%b{n}, %loop]" for n in range(chains)]
    if element == "bf16":
        pairs, fma = f"<{2 * lanes} x bfloat>", f"@llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
        steps = [f"%b{n} = call {vector} {fma}({vector} %a{n}, {pairs} %pair, {pairs} %pair)" for n in range(chains)]
        steps.insert(0, f"%pair = bitcast {vector} %x to {pairs}")
        declaration = f"declare {vector} {fma}({vector}, {pairs}, {pairs})"
    else:
        fma = f"@llvm.fma.v{lanes}{element}"
        steps = [f"%b{n} = call {vector} {fma}({vector} %x, {vector} %x, {vector} %a{n})" for n in range(chains)]
        declaration = f"declare {vector} {fma}({vector}, {vector}, {vector})"
    added = [f"%s{n} = fadd {vector} {f'%s{n - 1}' if n > 1 else '%b0'}, %b{n}" for n in range(1, chains)]
    lines = [
        "define void @peak(ptr %p) {", "entry:", f"%x = load {vector}, ptr %p, align 64", "br label %loop", "loop:",
        "%i = phi i64 [0, %entry], [%next, %loop]", *phis, *steps, "%next = add i64 %i, 1", f"%more = icmp ult i64 %next, {rounds}",
        "br i1 %more, label %loop, label %done", "done:", *added, f"store {vector} %s{chains - 1}, ptr %p, align 64", "ret void", "}",
        declaration,
    ]  # fmt: skip
    call, memory = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of("\n".join(lines), "peak")), aligned(lanes, TYPES[sums])
    return lambda: call(memory.ctypes.data), (4.0 if element == "bf16" else 2.0) * lanes * chains * rounds
