"""Buffers: the ops of a kernel-level program whose values have got their memory (``bufferize``).

A function takes the caller's memory, its inputs and then its results, allocates one *arena*, and names the parts of it that hold
temporary values::

    func.func public @main(%x: memref<8x128xf32>, %y: memref<8x128xf32> {kernel.result}) {
      %arena = kernel.alloc {alignment = 64 : i64} : memref<64xi8, #kernel.space<arena>>
      %0 = kernel.view %arena[0] : memref<64xi8, #kernel.space<arena>> to memref<8xf32, #kernel.space<arena>>
      kernel.launch ins(%a = %x: memref<8x128xf32>) outs(%0: memref<8xf32, #kernel.space<arena>>) {
        %r = "kernel.nest"(%a) ...
      }
      ...

A ``kernel.launch`` binds a kernel to buffers: its region holds one op on values (a nest, a product, a native or an interpreted
op), which is applied to what the ``ins`` hold; its results are written to the ``outs``. So a kernel is one thing with one meaning at both
levels, and where its operands lie is said around it. That a kernel overwrites an operand is visible: the same buffer is among both.
IREE's stream dialect (``stream.cmd.dispatch``, ``stream.resource.subview``) separates the two in the same way; views, copies and
memory spaces are those of upstream's memref dialect.

Loops and branches are closed, as those on values are: a region sees the buffers that are bound to its arguments, and its temporary
values lie in a range of the arena around it.
"""

from wengert.dialects.kernel.buffers.control import CaseOp, EndOp, ForOp, StripLoopOp, WhileOp
from wengert.dialects.kernel.buffers.launch import LaunchOp, runs_in_place, scratch_room
from wengert.dialects.kernel.buffers.storage import RESULT, AllocOp, CopyOp, GlobalOp, ViewOp, element_size, is_bufferized, is_result, location, overlap

BUFFER_OPS = (AllocOp, CaseOp, CopyOp, EndOp, ForOp, GlobalOp, LaunchOp, StripLoopOp, ViewOp, WhileOp)

__all__ = [
    "BUFFER_OPS",
    "RESULT",
    "AllocOp",
    "CaseOp",
    "CopyOp",
    "EndOp",
    "ForOp",
    "GlobalOp",
    "LaunchOp",
    "StripLoopOp",
    "ViewOp",
    "WhileOp",
    "element_size",
    "is_bufferized",
    "is_result",
    "location",
    "overlap",
    "runs_in_place",
    "scratch_room",
]
