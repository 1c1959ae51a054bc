"""Whether the host has anything to decide while a program runs on a device, and what it asks for if it has not.

Where it reads no count, no condition and no index, and no op runs on the host, every call asks for the same launches and copies on the same memory: they
are recorded once, by going through the program, and asked for again as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from wengert.dialects.gpu import LaunchFuncOp
from wengert.dialects.kernel.buffers import CaseOp, CopyOp, ForOp, LaunchOp, StripLoopOp, WhileOp
from wengert.ir.attributes import int_of
from wengert.ir.traversal import ops_in
from wengert.runtime.devices.interface import Buffer, Command, Copy, Launch, Sizes

MOST = 20_000
"""A program of more launches and copies is not recorded: the record itself would take memory."""


def recorded_size(function: FuncOp) -> int | None:
    """About how many launches and copies one call of a function asks for; None if that is not known before, or more than a record holds."""
    size = _size(function.body.block)
    return size if size is not None and size <= MOST else None


def _size(block: Block) -> int | None:
    total = 0
    for op in ops_in(block):
        size = _size_of(op)
        if size is None:
            return None
        total += size
    return total


def _size_of(op: Operation) -> int | None:
    if isinstance(op, LaunchOp | WhileOp | CaseOp):
        return None
    if isinstance(op, ForOp | StripLoopOp):
        count = op.iterations if isinstance(op, ForOp) else int_of(op.iterations)
        inside = _size(op.body.block)
        return None if count is None or inside is None else max(count, 0) * (inside + 1) + (2 * len(op.outs) if isinstance(op, ForOp) else 0)
    return int(isinstance(op, LaunchFuncOp | CopyOp))


class Recorder:
    """Takes what a device is asked for, in its place."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def copy(self, source: Buffer, target: Buffer) -> None:
        """As of a device."""
        self.commands.append(Copy(source, target))

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        """As of a device."""
        self.commands.append(Launch(kernels, name, grid, block, tuple(arguments)))
