"""The kernel dialect: see :mod:`wengert.dialects.kernel.ops`, and for what stands in nests :mod:`wengert.dialects.kernel.body_ops`."""

from wengert.dialects.kernel.affine import Guard
from wengert.dialects.kernel.attributes import KINDS, STORE, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.body_ops import ApplyOp, ConstantOp, IndexOp, LoadOp, WithinOp, Write, YieldOp, yielded
from wengert.dialects.kernel.ops import EmptyOp, InterpretOp, Kernel, MatmulOp, NativeOp, NestOp, StripMineOp, nest

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
