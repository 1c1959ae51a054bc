"""Stock MLIR by the libraries of ``torch-mlir``: one request from the standard input, the answer on the standard output, errors on the other.

This file is run by itself: nothing of this package is imported.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import struct
import sys
from typing import Any


def library(name: str) -> Any:
    """A module of the package."""
    return importlib.import_module(f"torch_mlir.{name}")


def after(request: dict[str, str]) -> bytes:
    """Runs passes on a module; what they leave."""
    module = library("ir").Module.parse(request["text"])
    module.operation.verify()
    if request["pipeline"]:
        library("passmanager").PassManager.parse(f"builtin.module({request['pipeline']})").run(module.operation)
    return str(module).encode()


def llvm(request: dict[str, str]) -> bytes:
    """A module of the LLVM dialect as LLVM text."""
    module = library("ir").Module.parse(request["text"])
    return str(library("dialects.llvm").translate_module_to_llvmir(module.operation)).encode()


def narrowed(x: float, digits: int) -> int:
    """The bits of the nearest float of 16 bits, ties to even, that has so many binary digits with the leading one."""
    bias, half = (1 << (15 - digits)) - 1, 1 << (digits - 1)
    infinite = (2 * bias + 1) << (digits - 1)
    sign = 0x8000 if math.copysign(1.0, x) < 0 else 0
    if x != x:
        return infinite | half >> 1
    if math.isinf(x):
        return sign | infinite
    _, exponent = math.frexp(x)
    unit = max(exponent - digits, 2 - bias - digits)  # of the last place; that of subnormal numbers is the least
    units = round(math.ldexp(abs(x), -unit))
    if units < half:
        return sign | units
    if units == 2 * half:
        units, unit = half, unit + 1
    return sign | min(((unit + digits - 1 + bias) << (digits - 1)) + units - half, infinite)


def in_register(bits: int) -> float:
    """The float that has these bits in its lower half: that of the register which a float of 16 bits is returned in."""
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


@ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)
def double_to_bf16(x: float) -> float:
    """``__truncdfbf2``."""
    return in_register(narrowed(x, 8))


@ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
def float_to_bf16(x: float) -> float:
    """``__truncsfbf2``, which processors with instructions for it do not need."""
    return in_register(narrowed(x, 8))


@ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)
def double_to_f16(x: float) -> float:
    """``__truncdfhf2``."""
    return in_register(narrowed(x, 11))


RUNTIME = {"__truncdfbf2": double_to_bf16, "__truncsfbf2": float_to_bf16, "__truncdfhf2": double_to_f16}
"""Conversions that the engine does not have."""


def output(request: dict[str, str]) -> bytes:
    """Nothing: the function has written what there is."""
    engine = library("execution_engine").ExecutionEngine(library("ir").Module.parse(request["text"]), opt_level=2)
    for name, function in RUNTIME.items():
        engine.raw_register_runtime(name, ctypes.cast(function, ctypes.c_void_p))
    ctypes.CFUNCTYPE(None)(engine.raw_lookup(request["entry"]))()
    return b""


def main() -> int:
    """Answers the request."""
    request, ir = json.load(sys.stdin), library("ir")
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        try:
            answer = {"after": after, "llvm": llvm, "output": output}[request["what"]](request)
        except Exception as error:
            said = str(error)
            print(said if "error:" in said else f"error: {said}", file=sys.stderr)
            return 1
    sys.stdout.buffer.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
