"""Fused multiply-add with one rounding, in f32 and f64: NumPy has none, so it is a loop of machine code.

LLVM's ``llvm.fma`` is the processor's instruction where there is one, else the C library's function; both round once.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

import numpy as np

from wengert.ir.pipeline.stages import locked
from wengert.runtime.ptx.types import Array
from wengert.transforms.schedule.host import host, llvm_binding

_TEXT = """
define void @fma_{name}(ptr %x, ptr %y, ptr %z, ptr %result, i64 %n) {{
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %px = getelementptr {type}, ptr %x, i64 %i
  %py = getelementptr {type}, ptr %y, i64 %i
  %pz = getelementptr {type}, ptr %z, i64 %i
  %pr = getelementptr {type}, ptr %result, i64 %i
  %vx = load {type}, ptr %px
  %vy = load {type}, ptr %py
  %vz = load {type}, ptr %pz
  %vr = call {type} @llvm.fma.{name}({type} %vx, {type} %vy, {type} %vz)
  store {type} %vr, ptr %pr
  %next = add i64 %i, 1
  br label %test
end:
  ret void
}}
declare {type} @llvm.fma.{name}({type}, {type}, {type})
"""


@cache
@locked
def _functions() -> tuple[Any, dict[Any, Any]]:
    """The engine, which must live on, and the functions by dtype."""
    llvm, processor = llvm_binding(), host()
    module = llvm.parse_assembly("".join(_TEXT.format(name=name, type=type) for name, type in (("f32", "float"), ("f64", "double"))))
    target = llvm.Target.from_triple(processor.triple)
    engine = llvm.create_mcjit_compiler(module, target.create_target_machine(cpu=processor.cpu, features=processor.features, opt=2, jit=True))
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    return engine, {np.dtype(f"f{bits // 8}"): signature(engine.get_function_address(f"fma_f{bits}")) for bits in (32, 64)}


_MOST = 1 << 14
"""So many numbers are multiplied and added in one call."""


class _Scratch(threading.local):
    """Operands and result of a call, at addresses that are known: to ask NumPy for an address takes longer than to copy a few hundred numbers."""

    def __init__(self) -> None:
        self.rows: dict[Any, Array] = {np.dtype(f"f{size}"): np.empty((4, _MOST), f"f{size}") for size in (4, 8)}
        self.addresses = {dtype: [row.ctypes.data for row in rows] for dtype, rows in self.rows.items()}


_SCRATCH = _Scratch()


def fma(x: Array, y: Array, z: Array) -> Array:
    """x y + z, rounded once to nearest, for arrays of f32 or f64 of one shape or of one element."""
    count = max(len(x), len(y), len(z))
    if count > _MOST:
        parts = [[v[start : start + _MOST] if len(v) == count else v for v in (x, y, z)] for start in range(0, count, _MOST)]
        return np.concatenate([fma(*part) for part in parts])
    rows = _SCRATCH.rows[x.dtype]
    for row, operand in zip(rows, (x, y, z)):
        row[:count] = operand
    _functions()[1][x.dtype](*_SCRATCH.addresses[x.dtype], count)
    return rows[3][:count].copy()
