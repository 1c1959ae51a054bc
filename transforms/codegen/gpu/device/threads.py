"""Writes where a thread is, and what the threads of a work-group or a warp do together: barriers, shuffles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation

from wengert.dialects import gpu
from wengert.ir.attributes import ints
from wengert.ir.location.places import error_at
from wengert.transforms.codegen.gpu.device.targets import NVPTX
from wengert.transforms.codegen.llvm.types import element_of

if TYPE_CHECKING:
    from wengert.transforms.codegen.gpu.device.functions import KernelEmitter

_IDS: dict[type[Operation], str] = {gpu.ThreadIdOp: "thread", gpu.BlockIdOp: "block", gpu.BlockDimOp: "block_size", gpu.GridDimOp: "grid_size"}


def position(emitter: KernelEmitter, op: Operation) -> None:
    """The place of a thread."""
    dimension = "xyz".index(cast("Any", op.properties["dimension"]).data.value)
    what = _IDS[type(op)]
    if what == "block_size":
        emitter.known[op.results[0]] = emitter.block_size()[dimension]
    elif what not in emitter.target.ids:
        if emitter.kernel.known_grid_size is None:
            raise error_at(op, f"'{op.name}' is not known on {emitter.target.name}", "add known_grid_size = array<i32: ...> to the kernel")
        emitter.known[op.results[0]] = ints(emitter.kernel.known_grid_size)[dimension]
    else:
        emitter.known[op.results[0]] = emitter.target.id(emitter.builder, what, dimension)


def barrier(emitter: KernelEmitter, op: gpu.BarrierOp) -> None:
    """All threads of a work-group wait for one another."""
    emitter.target.wait(emitter.builder)


def shuffle(emitter: KernelEmitter, op: gpu.ShuffleOp) -> None:
    """The register of another thread of the warp, which has to be there."""
    mode, width, element = op.mode.data, emitter.known[op.width], element_of(op.value.type)
    if emitter.target is not NVPTX or mode is not gpu.ShuffleMode.XOR or str(width) != "32" or element.register not in ("float", "i32"):
        raise error_at(op, f"'{op.name} {mode.value}' of {op.value.type} among {width} threads has no code for {emitter.target.name}")
    suffix = "f32" if element.register == "float" else "i32"
    name = f"llvm.nvvm.shfl.sync.bfly.{suffix}"
    emitter.module.externals[name] = f"declare {element.register} @{name}(i32, {element.register}, i32, i32)"
    emitter.known[op.shuffled] = emitter.builder.op(
        f"call {element.register} @{name}(i32 -1, {element.register} {emitter.stored(op.value)}, i32 {emitter.stored(op.offset)}, i32 31)"
    )
    emitter.known[op.valid] = "true"


WRITERS: Mapping[type[Operation], Callable[[Any, Any], None]] = {
    **dict.fromkeys(_IDS, position),
    gpu.BarrierOp: barrier,
    gpu.ShuffleOp: shuffle,
}
"""The writers of ops, for :class:`wengert.transforms.codegen.gpu.device.functions.KernelEmitter`."""
