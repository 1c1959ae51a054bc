"""The flow of values into, around and out of control flow, StableHLO's and core's alike, said once for all passes.

Operands and the arguments of regions run in parallel: first come those of the op alone (an index or a trip count; the iteration of a
counted loop), then *constants*, which keep their value, then what a loop *carries*, one for each result. StableHLO's ops have no
constants, and its branches no arguments at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of

LOOPS = (stablehlo.WhileOp, core.ForOp, core.WhileOp)
BRANCHES = (stablehlo.CaseOp, stablehlo.IfOp, core.CaseOp)
CLOSED = (core.ForOp, core.WhileOp, core.CaseOp)
"""Ops whose regions use nothing from outside but their arguments."""


class Flow(Struct, frozen=True):
    """The parts of a control flow op."""

    op: Operation
    is_loop: bool
    own_operands: int
    """Operands that belong to no argument: they are always used."""
    own_arguments: int
    """Arguments that belong to no operand."""
    constants: int

    @property
    def blocks(self) -> list[Block]:
        """The block of every region."""
        return [region.block for region in self.op.regions]

    @property
    def passed(self) -> Sequence[SSAValue]:
        """The operands that are passed to arguments: constants, then initial values."""
        return self.op.operands[self.own_operands :]

    def result_of(self, argument: int) -> int | None:
        """The result that a region's argument carries, or None if it carries none."""
        index = argument - self.own_arguments - self.constants
        return index if self.is_loop and index >= 0 else None

    def returning(self) -> list[Operation]:
        """The terminators that return the results: the body's, or those of all branches."""
        blocks = self.blocks[-1:] if self.is_loop else self.blocks
        return [cast(Operation, block.last_op) for block in blocks]

    def deciding(self) -> list[Operation]:
        """The terminators that return something else: the condition's."""
        return [cast(Operation, block.last_op) for block in self.blocks[:-1]] if self.is_loop else []


def flow_of(op: Operation) -> Flow | None:
    """The flow of a control flow op, None for any other op."""
    cls = type(op)
    if cls is stablehlo.WhileOp:
        return Flow(op, True, 0, 0, 0)
    if cls is core.ForOp:
        return Flow(op, True, 1, 1, int_of(op.properties["constants"]))
    if cls is core.WhileOp:
        return Flow(op, True, 0, 0, int_of(op.properties["constants"]))
    if cls in BRANCHES:
        return Flow(op, False, 1, 0, len(op.operands) - 1)
    return None
