"""Aliasing of the buffers that a launch captures: which of them a kernel only reads, and which nobody else's writes or its own writes can meet.

LLVM moves and joins accesses by it, and on NVIDIA's devices reads what is both by the cache for data that does not change (``ld.global.nc``).

``noalias`` says that nobody else accesses the buffer while the kernel runs, and other threads are somebody else: LLVM takes a value that it knows past a
barrier. So a kernel with barriers has it on the buffers alone that it only reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, UnitAttr
from xdsl.ir import BlockArgument, Region, SSAValue

from wengert.dialects.gpu import BarrierOp
from wengert.dialects.gpu.matrices import DeviceAsyncCopyOp
from wengert.dialects.kernel.buffers import AllocOp, GlobalOp, location, overlap
from wengert.ir.traversal import operands_of

NO_ALIAS, READ_ONLY = "llvm.noalias", "llvm.readonly"
"""Attributes of a kernel's arguments, as LLVM's dialect has them."""


def argument_attributes(captured: Sequence[SSAValue], body: Region) -> list[DictionaryAttr]:
    """The attributes of a kernel's arguments: the last ones of its body, for the values of the host that they are given."""
    arguments = body.block.args[len(body.block.args) - len(captured) :]
    written, waits = _written(body), any(isinstance(op, BarrierOp) for op in body.walk())
    changed = [value for value, argument in zip(captured, arguments, strict=True) if argument in written]
    buffers = [value for value in captured if isinstance(value.type, MemRefType)]
    made: list[DictionaryAttr] = []
    for value in captured:
        facts: list[str] = []
        if value in buffers:
            others = [other for other in (buffers if value in changed else changed) if other is not value]
            facts += [NO_ALIAS] * (not (waits and value in changed) and not any(_may_overlap(value, other) for other in others))
            facts += [READ_ONLY] * (value not in changed)
        made.append(DictionaryAttr({fact: UnitAttr() for fact in facts}))
    return made


def _written(body: Region) -> set[SSAValue]:
    """The buffers that ops other than loads take, and copies write."""
    ops = [op for op in body.walk() if not isinstance(op, memref.LoadOp)]
    taken = [(op.target,) if isinstance(op, DeviceAsyncCopyOp) else operands_of(op) for op in ops]
    return {value for values in taken for value in values if isinstance(value.type, MemRefType)}


def _may_overlap(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers may have bytes in common. Buffers that ops on kernel level allocate, or that are handed to a region or a function, are apart."""
    return overlap(one, other) or not (_is_known(one) and _is_known(other))


def _is_known(value: SSAValue) -> bool:
    base, _ = location(value)
    return isinstance(base, BlockArgument) or isinstance(base.owner, AllocOp | GlobalOp)
