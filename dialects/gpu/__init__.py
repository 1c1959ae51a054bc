"""The gpu dialect: kernels of a device, and their launches, as upstream MLIR writes them.

xDSL has classes for a part of the dialect and texts for none of it; so the ops are defined here. What a kernel computes with are xDSL's ``arith``, ``math``,
``complex``, ``scf`` and ``memref``, whose texts are upstream's. A kernel's buffers are flat memrefs in numeric spaces (:mod:`wengert.dialects.gpu.memory`).
"""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.ir import Dialect

from wengert.dialects.gpu.attributes import Dimension, DimensionAttr, ObjectFormat, Reduction, ReductionAttr, ShuffleMode, ShuffleModeAttr
from wengert.dialects.gpu.collectives import BarrierOp, ShuffleOp, SubgroupReduceOp
from wengert.dialects.gpu.functions import CONTAINER, BinaryOp, FuncOp, ModuleOp, ReturnOp
from wengert.dialects.gpu.ids import IDS, BlockDimOp, BlockIdOp, GlobalIdOp, GridDimOp, LaneIdOp, NumSubgroupsOp, SubgroupIdOp, SubgroupSizeOp, ThreadIdOp
from wengert.dialects.gpu.launch import LAUNCHES, LaunchFuncOp, LaunchOp, TerminatorOp, block_size, grid_size
from wengert.dialects.gpu.memory import DeviceSpace, device_memref, device_space, has_four_bits, signless
from wengert.dialects.gpu.objects import ObjectAttr

__all__ = [
    "CONTAINER",
    "IDS",
    "LAUNCHES",
    "BarrierOp",
    "BinaryOp",
    "BlockDimOp",
    "BlockIdOp",
    "DeviceSpace",
    "Dimension",
    "DimensionAttr",
    "FuncOp",
    "GlobalIdOp",
    "GridDimOp",
    "LaneIdOp",
    "LaunchFuncOp",
    "LaunchOp",
    "ModuleOp",
    "NumSubgroupsOp",
    "ObjectAttr",
    "ObjectFormat",
    "Reduction",
    "ReductionAttr",
    "ReturnOp",
    "ShuffleMode",
    "ShuffleModeAttr",
    "ShuffleOp",
    "SubgroupIdOp",
    "SubgroupReduceOp",
    "SubgroupSizeOp",
    "TerminatorOp",
    "ThreadIdOp",
    "block_size",
    "device_memref",
    "device_space",
    "grid_size",
    "has_four_bits",
    "signless",
]

GPU = Dialect(
    "gpu",
    [*IDS, BarrierOp, BinaryOp, FuncOp, LaunchFuncOp, LaunchOp, ModuleOp, ReturnOp, ShuffleOp, SubgroupReduceOp, TerminatorOp],
    [DimensionAttr, ObjectAttr, ReductionAttr, ShuffleModeAttr, gpu.AsyncTokenType],
)
