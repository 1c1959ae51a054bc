"""The kernel dialect: see :mod:`wengert.dialects.kernel.ops`."""

from wengert.dialects.kernel.affine import Guard
from wengert.dialects.kernel.attributes import KINDS, STORE, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.ops import (
    ApplyOp,
    ConstantOp,
    EmptyOp,
    IndexOp,
    InterpretOp,
    Kernel,
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
