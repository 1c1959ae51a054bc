"""Ops that nobody here knows: of dialects of which not every op is known, read and written in the generic form.

They are carried from text to text, and nothing else is done with them, for nobody knows what they mean.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Operation

from wengert.ir.traversal import all_ops


def written_name(op: Operation) -> str:
    """The op's name as it is written."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def unregistered_ops(module: ModuleOp) -> list[UnregisteredOp]:
    """The ops of a module that nobody knows."""
    return [op for op in all_ops(module) if isinstance(op, UnregisteredOp)]
