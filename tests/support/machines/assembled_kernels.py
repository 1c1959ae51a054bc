"""Kernels of PTX as NVIDIA's assembler sees them: what they take, by what they do."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec import Struct
from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType, ModuleOp

from wengert.dialects import gpu
from wengert.dialects.gpu.matrices import MmaSyncOp
from wengert.transforms.codegen.gpu.device import nvjitlink
from wengert.transforms.codegen.gpu.device.compilation import targets_of
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline

CHIPS = ("sm_80", "sm_90")
needs_assembler = pytest.mark.skipif(not nvjitlink.available(), reason=f"NVIDIA's assembler is not installed: {nvjitlink.INSTALL}")
_TOGETHER = (gpu.BarrierOp, gpu.ShuffleOp, gpu.SubgroupReduceOp)
_SUMS_OF_TILES = 16
_NARROW = ("f32", "f16", "bf16", "i1", "i8", "i16", "i32")


class AssembledKernel(Struct, frozen=True):
    """A kernel of a program for a chip.

    Attributes:
        chip: what it is assembled for.
        kind: ``elementwise`` (no loops), ``loops`` (of threads alone), ``together`` (threads that wait for one another), ``tiles`` (these with many
            sums at once, as products have), or ``one group`` for any of these that is launched as one group alone, each with ``f32`` if no element has more
            than 32 bits, else ``f64``.
        usage: what a thread takes.
    """

    chip: str
    kind: str
    usage: nvjitlink.Usage


def assembled_kernels(core: ModuleOp, chip: str) -> list[AssembledKernel]:
    """The kernels of a program at core level, assembled for a chip from the PTX that is made for it."""
    module = parse_pipeline(f"{gpu_lowering(chip)},nvvm-attach-target{{chip={chip} features=+ptx80}}").run(core)
    made: list[AssembledKernel] = []
    for device in [op for op in module.walk() if isinstance(op, gpu.ModuleOp)]:
        several = {op.kernel_name for op in module.walk() if isinstance(op, gpu.LaunchFuncOp) and gpu.grid_size(op) != (1, 1, 1)}
        kinds = {op.sym_name.data: kind_of(op, one_group=op.sym_name.data not in several) for op in device.walk() if isinstance(op, gpu.FuncOp)}
        _, processor = targets_of(device)[0]
        used = nvjitlink.assembled(processor.assembly(processor.text(device)), chip).usage
        assert {usage.kernel for usage in used} == set(kinds), "the assembler names all kernels"
        made += [AssembledKernel(chip, kinds[usage.kernel], usage) for usage in used]
    return made


def kind_of(kernel: gpu.FuncOp, *, one_group: bool) -> str:
    """What a kernel does, as :class:`AssembledKernel` has it."""
    ops = list(kernel.walk())
    loops = [len(op.results) for op in ops if isinstance(op, scf.ForOp | scf.WhileOp)]
    if one_group:
        work = "one group"
    elif any(isinstance(op, _TOGETHER) for op in ops):
        work = "tiles" if max(loops, default=0) >= _SUMS_OF_TILES or any(isinstance(op, MmaSyncOp) for op in ops) else "together"
    else:
        work = "loops" if loops else "elementwise"
    elements = {str(cast("MemRefType[Any]", value.type).element_type) for value in kernel.body.block.args if isinstance(value.type, MemRefType)}
    return f"{work} {'f32' if elements <= set(_NARROW) else 'f64'}"
