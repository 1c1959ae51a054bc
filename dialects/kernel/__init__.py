"""The kernel dialect: kernels on values (:mod:`wengert.dialects.kernel.ops`), and on buffers (:mod:`wengert.dialects.kernel.buffers`)."""

from xdsl.ir import Dialect

from wengert.dialects.kernel.affine import Guard
from wengert.dialects.kernel.attributes import KINDS, STORE, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.buffers import BUFFER_OPS
from wengert.dialects.kernel.memory import SpaceAttr
from wengert.dialects.kernel.ops import (
    ApplyOp,
    ConstantOp,
    EmptyOp,
    IndexOp,
    InterpretOp,
    LoadOp,
    MatmulOp,
    NativeOp,
    NestOp,
    StripMineOp,
    WithinOp,
    Write,
    YieldOp,
    nest,
    yielded,
)
from wengert.dialects.kernel.ops import Kernel as _Values

Kernel = Dialect("kernel", [*_Values.operations, *BUFFER_OPS], [*_Values.attributes, SpaceAttr])

__all__ = [
    "KINDS",
    "STORE",
    "ApplyOp",
    "AtAttr",
    "ConstantOp",
    "EmptyOp",
    "Guard",
    "IndexOp",
    "InterpretOp",
    "Kernel",
    "LoadOp",
    "MatmulOp",
    "NativeOp",
    "NestOp",
    "StripMineOp",
    "WhereAttr",
    "WithinOp",
    "Write",
    "YieldOp",
    "at_attr",
    "nest",
    "string",
    "yielded",
]
