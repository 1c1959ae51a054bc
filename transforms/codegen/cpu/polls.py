"""Decides where compiled code polls for interrupts: after kernels that take long, and in loops.

A poll is a call of a function of the runtime (:mod:`wengert.runtime.cpu.interrupts`) that takes some nanoseconds, so a loop of short iterations polls
once in many. Programs of a few short kernels, whose calls take fractions of a microsecond, do not poll.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from wengert.dialects.kernel import InterpretOp
from wengert.dialects.kernel.buffers import LaunchOp, StripLoopOp
from wengert.dialects.kernel.memory import byte_size, value_type
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.cpu.symbols import POLL

DECLARATION = f"declare i32 @{POLL}()"
LONG_BYTES = 4 << 20
"""A kernel that touches so much, or more, takes long enough to poll after it."""
_HEAVY_BYTES = 16 << 10
"""An iteration that touches so much, or more, takes longer than a poll."""
_EVERY = 1024
"""Of shorter iterations, so many take a fraction of the time within which an interrupt should be noticed."""
UNLIKELY = '!prof !{!"branch_weights", i32 1, i32 4000}'
"""The mark of a branch that is hardly ever taken: registers are not spilled for it."""


def touched(op: LaunchOp | StripLoopOp) -> int:
    """The bytes of a kernel's operands and results, tapes left out."""
    buffers = (*op.read, *op.written) if isinstance(op, LaunchOp) else (*op.ins, *op.outs)
    return sum([byte_size(buffer) for buffer in buffers if isinstance(value_type(buffer.type), TensorType)])


def is_long(op: Operation) -> bool:
    """Whether a kernel may take long."""
    return isinstance(op, LaunchOp | StripLoopOp) and touched(op) >= LONG_BYTES


def iterations_between(body: Block) -> int:
    """The number of iterations of a loop between polls, a power of two."""
    return 1 if _is_heavy(body) else _EVERY


def _is_heavy(body: Block) -> bool:
    for op in ops_in(body):
        if isinstance(op, LaunchOp):
            if isinstance(op.kernel, InterpretOp) or touched(op) >= _HEAVY_BYTES:
                return True
        elif (isinstance(op, StripLoopOp) and touched(op) >= _HEAVY_BYTES) or any(_is_heavy(region.block) for region in op.regions):
            return True
    return False
