"""The kernel dialect: kernels on values (:mod:`wengert.dialects.kernel.ops`), the scalars in nests (:mod:`wengert.dialects.kernel.body_ops`), and
kernels on buffers (:mod:`wengert.dialects.kernel.buffers`)."""

from xdsl.ir import Dialect

from wengert.dialects.kernel.affine import Guard
from wengert.dialects.kernel.attributes import KINDS, STORE, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.body_ops import ApplyOp, ConstantOp, IndexOp, LoadOp, WithinOp, Write, YieldOp, yielded
from wengert.dialects.kernel.buffers import BUFFER_OPS
from wengert.dialects.kernel.fused import FusedOp
from wengert.dialects.kernel.gpu_schedule import GpuScheduleAttr
from wengert.dialects.kernel.memory import SpaceAttr
from wengert.dialects.kernel.ops import EmptyOp, InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp, nest
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import ScheduleAttr

_ON_VALUES = [ApplyOp, ConstantOp, EmptyOp, FusedOp, IndexOp, InterpretOp, LoadOp, MatmulOp, NativeOp, NestOp, StripMineOp, WithinOp, YieldOp]

Kernel = Dialect("kernel", [*_ON_VALUES, *BUFFER_OPS], [AtAttr, GpuScheduleAttr, ProductScheduleAttr, ScheduleAttr, SpaceAttr, WhereAttr])

__all__ = [
    "KINDS",
    "STORE",
    "ApplyOp",
    "AtAttr",
    "ConstantOp",
    "EmptyOp",
    "FusedOp",
    "GpuScheduleAttr",
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
