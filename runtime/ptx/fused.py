"""Fused multiply-add with one rounding, in f32 and f64: NumPy has none, so it is a loop of machine code.

LLVM's ``llvm.fma`` is the processor's instruction where there is one, else the C library's function; both round once.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from wengert.runtime.ptx.types import Array

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
def _functions() -> tuple[Any, dict[Any, Any]]:
    """The engine, which must live on, and the functions by dtype."""
    llvm: Any = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module: Any = llvm.parse_assembly("".join(_TEXT.format(name=name, type=type) for name, type in (("f32", "float"), ("f64", "double"))))
    features = llvm.get_host_cpu_features().flatten()
    machine: Any = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
    engine: Any = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    return engine, {np.dtype(f"f{bits // 8}"): signature(engine.get_function_address(f"fma_f{bits}")) for bits in (32, 64)}


def fma(x: Array, y: Array, z: Array) -> Array:
    """x y + z, rounded once to nearest, for arrays of f32 or f64 of one shape or of one element."""
    result = np.empty(max(len(x), len(y), len(z)), x.dtype)
    operands = [np.ascontiguousarray(np.broadcast_to(v, result.shape)) for v in (x, y, z)]
    _functions()[1][x.dtype](*[v.ctypes.data for v in operands], result.ctypes.data, len(result))
    return result
