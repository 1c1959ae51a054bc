"""Where compiled code looks whether somebody has interrupted it: after kernels that take long, and in loops.

What is asked is a function of the runtime (:mod:`wengert.runtime.cpu.interrupts`). It takes some nanoseconds, so a loop of short trips asks it once
in so many that it is not noticed. Programs of a few short kernels, whose calls take fractions of a microsecond, ask nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from wengert.dialects.kernel import InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp
from wengert.ir.traversal import all_ops, operands_of
from wengert.transforms.bufferize.buffers import byte_size

POLL = "wg.interrupts.poll"
DECLARATION = f"declare i32 @{POLL}()"
LONG_BYTES = 4 << 20
"""A kernel that touches so much, or more, takes long enough that the program may be asked after it."""
_HEAVY_BYTES = 16 << 10
"""A trip that touches so much, or more, takes longer than asking."""
_EVERY = 1024
"""Of shorter trips, so many take a fraction of the time within which an interrupt should be noticed."""
_KERNELS = (NestOp, MatmulOp, NativeOp, StripMineOp, InterpretOp)
UNLIKELY = '!prof !{!"branch_weights", i32 1, i32 4000}'
"""The mark of a branch that is hardly ever taken: registers are not spilled for it."""


def touched(op: Operation) -> int:
    """The bytes of a kernel's operands and results."""
    return sum(byte_size(value) for value in (*operands_of(op), *op.results) if isinstance(value.type, TensorType))


def is_long(op: Operation) -> bool:
    """Whether a kernel may take long."""
    return isinstance(op, _KERNELS) and touched(op) >= LONG_BYTES


def trips_between(body: Block) -> int:
    """After how many trips of a loop, a power of two, to ask."""
    heavy = any(isinstance(op, InterpretOp) or (isinstance(op, _KERNELS) and touched(op) >= _HEAVY_BYTES) for outer in body.ops for op in all_ops(outer))
    return 1 if heavy else _EVERY
