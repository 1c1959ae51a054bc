"""Kernels of the gpu level by stock MLIR: PTX by its own back end, SPIR-V by LLVM's from the LLVM text that it gives."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.printing.printer import print_module
from wengert.lab.stock_mlir.pipelines import TO_PTX, TO_SPIRV
from wengert.lab.stock_mlir.tools import StockError, StockMLIR
from wengert.transforms.codegen.gpu.device import objects
from wengert.transforms.codegen.gpu.device.targets import SPIRV

_ASSEMBLY = re.compile(r'#gpu\.object<#nvvm\.target<[^>]*>,.*?assembly = "((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_MODULE = re.compile(r"^  gpu\.module @[^\n]* \{\n(.*?)^  \}$", re.MULTILINE | re.DOTALL)


def ptx(mlir: StockMLIR, module: ModuleOp) -> str:
    """The PTX of the kernels of a module, which has a target of NVIDIA's.

    Raises:
        StockError: stock MLIR does not take the text, or has no back end for NVIDIA's devices.
    """
    printed = mlir.after(print_module(module), TO_PTX)
    assembly = _ASSEMBLY.search(printed)
    if assembly is None:
        raise StockError("no PTX came")
    return _ESCAPE.sub(lambda part: bytes.fromhex(part[1].decode()) if len(part[1]) == 2 else part[1], assembly[1].encode()).decode().rstrip("\0")


def spirv_llvm(mlir: StockMLIR, module: ModuleOp) -> str:
    """The kernels of a module as LLVM text for the SPIR-V back end. An argument of a kernel becomes five for each memref: two pointers, an offset, sizes and
    strides; memory of a work-group is a pointer behind them.

    Raises:
        StockError: stock MLIR does not take the text.
    """
    body = _MODULE.search(mlir.after(print_module(module), TO_SPIRV))
    if body is None:
        raise StockError("there is no gpu.module")
    return mlir.llvm(f"module {{\n{body[1]}}}\n")


def spirv(mlir: StockMLIR, module: ModuleOp) -> bytes:
    """The kernels of a module as SPIR-V.

    Raises:
        StockError: stock MLIR does not take the text.
        DeviceCompileError: LLVM has no SPIR-V for it.
    """
    return objects.binary(spirv_llvm(mlir, module), SPIRV)
