"""The kernel dialect: kernels on values (:mod:`wengert.dialects.kernel.ops`; what stands in nests: :mod:`wengert.dialects.kernel.body_ops`), and on
buffers (:mod:`wengert.dialects.kernel.buffers`)."""

from xdsl.ir import Dialect

from wengert.dialects.kernel.affine import Guard
from wengert.dialects.kernel.attributes import KINDS, STORE, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.body_ops import ApplyOp, ConstantOp, IndexOp, LoadOp, WithinOp, Write, YieldOp, yielded
from wengert.dialects.kernel.buffers import BUFFER_OPS
from wengert.dialects.kernel.memory import SpaceAttr
from wengert.dialects.kernel.ops import EmptyOp, InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp, nest
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
