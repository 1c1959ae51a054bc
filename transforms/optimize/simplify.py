"""Simplification: one forward walk that applies the table of rewrites to every op.

When the walk comes to an op, the ops that make its operands are simplified already; an op that a rewrite makes is simplified
as it is made. So one walk does nearly all that repeating it would, at a few microseconds for an op to which nothing applies.
Ops stay where they are unless something replaces them; what is then unused is removed at the end.

Before and after::

    %0 = stablehlo.transpose %x, dims = [1, 0]                    %0 = stablehlo.multiply %x, %cst_half
    %1 = stablehlo.transpose %0, dims = [1, 0]
    %2 = stablehlo.divide %1, %cst_two
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.ir.builder import Properties
from wengert.ir.construction import erase
from wengert.ir.pipeline import changes
from wengert.ir.pipeline.actions import counting, may_rewrite
from wengert.ir.tensor_types import DYNAMIC, shape
from wengert.ir.traversal import all_ops, operands_of
from wengert.transforms.optimize import algebra, booleans, complex_numbers, contractions, control, conversions, indexing, movement, reductions, shapes, systems
from wengert.transforms.optimize.dce import dce
from wengert.transforms.optimize.dead_updates import drop_dead_updates
from wengert.transforms.optimize.flows import CLOSED, Flow, flow_of
from wengert.transforms.optimize.folding import fold
from wengert.transforms.optimize.rewrites import REWRITES, Assumption, Rewrite, Rewritten, rewrites_by_op
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.needless import drop_all_needless

FAMILIES = (algebra, booleans, complex_numbers, conversions, shapes, movement, indexing, reductions, contractions, control, systems)
"""The modules whose rewrites make up the table (importing one registers them)."""

DEFAULT = (Assumption.UNORDERED,)
"""The default assumptions: what the ops themselves are documented to leave open."""

NO_PROPERTIES: Properties = {}
_CONSTANT = {stablehlo.ConstantOp}

Trace = Callable[[str, Operation], None]
"""Called with the name of a rewrite and the op that it is about to replace."""


@dataclass(frozen=True)
class SimplifyPass(ModulePass):
    """Folds constants and applies the laws of arithmetic, shapes, reductions and control flow; of a module that says how many devices it is for, drops
    collectives of what is the same on all of them (``needless-collectives``)."""

    name = "simplify"

    assume: tuple[Literal["unordered", "no-signed-zeros", "finite"], ...] = ("unordered",)
    """The assumptions that rewrites may make: reductions in any order, no signed zeros, no infinities and NaNs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drop_all_needless(op)
        simplify(op, assume=[Assumption(a) for a in self.assume])


def simplify(module: Operation, *, assume: Collection[Assumption] = DEFAULT, trace: Trace | None = None) -> bool:
    """Simplifies the ops under an op (a module or a function), in place; returns whether anything changed."""
    simplifier = Simplifier(_table(frozenset(assume)), trace, has_dynamic_shapes=_has_dynamic_shapes(module))
    for region in module.regions:
        simplifier.walk(region)
    if simplifier.changed:
        dce(module)
    return simplifier.changed


@lru_cache(maxsize=16)
def _table(assume: frozenset[Assumption]) -> dict[type[Operation], tuple[Rewrite, ...]]:
    return rewrites_by_op(assume)


def _has_dynamic_shapes(module: Operation) -> bool:
    """Whether an extent may be unknown: in a function's arguments, or because an op computes one."""
    for function in all_ops(module):
        if type(function) is FuncOp and function.body.blocks and any(_is_dynamic(argument) for argument in function.args):
            return True
        if type(function) in _DYNAMIC_OPS:
            return True
    return False


_DYNAMIC_OPS = (
    stablehlo.DynamicBroadcastInDimOp,
    stablehlo.DynamicGatherOp,
    stablehlo.DynamicIotaOp,
    stablehlo.DynamicPadOp,
    stablehlo.DynamicReshapeOp,
    stablehlo.RealDynamicSliceOp,
    stablehlo.SetDimensionSizeOp,
)


def _is_dynamic(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and DYNAMIC in shape(value)


def names() -> list[str]:
    """The names of all rewrites, in the order in which they are tried."""
    return [known.name for known in REWRITES]


class Simplifier(Rewriter):
    """Walks forward and rewrites; an op that it makes is looked at before anything uses it."""

    def __init__(self, table: dict[type[Operation], tuple[Rewrite, ...]], trace: Trace | None, *, has_dynamic_shapes: bool):
        super().__init__(pass_name="simplify")
        self._table = table
        self._trace = trace
        self._has_dynamic_shapes = has_dynamic_shapes
        self._placed: Operation | None = None

    def walk(self, region: Region) -> None:
        """Simplifies every block of a region, and the regions of its ops after their op."""
        for block in region.blocks:
            self._walk_block(block)

    def _walk_block(self, block: Block) -> None:
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.move_to(op)
            if type(op) is core.ForOp and drop_dead_updates(op):
                self.changed = True
            values = self._rewritten(op)
            if values is None:
                if type(op) in CLOSED:
                    self._bring_in_constants(op)
                for region in op.regions:
                    self.walk(region)
            else:
                self.replace(op, values)
                # What a rewrite builds is simplified already; regions and the ops of a branch that it moved here are not.
                following, self.following = self.following or following, None
            op = following

    def _bring_in_constants(self, op: Operation) -> None:
        """Makes constants that are passed to a closed region again inside, where rewrites see them; dce drops the inputs."""
        flow = cast(Flow, flow_of(op))
        for index in range(flow.constants):
            maker = flow.passed[index].owner
            if type(maker) is not stablehlo.ConstantOp:
                continue
            for block in flow.blocks:
                argument = block.args[flow.own_arguments + index]
                if argument.uses and may_rewrite("bring-in-constant", maker):
                    copy = maker.clone()
                    block.insert_op_before(copy, cast(Operation, block.first_op))
                    argument.replace_all_uses_with(copy.results[0])
                    self.changed = True

    def place(self, op: Operation) -> None:
        super().place(op)
        self._placed = op

    def create(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Properties = NO_PROPERTIES,
        regions: Sequence[Region] = (),
    ) -> Sequence[SSAValue]:
        self._placed = None
        made = super().create(cls, operands, results, properties, regions)
        op = self._placed
        if op is None or not made or cast("OpResult[Any]", made[0]).op is not op:
            return made
        values = self._rewritten(op)
        if values is None or any(value in op.results for value in values):
            return made
        erase(op)
        return values

    def _rewritten(self, op: Operation) -> Sequence[SSAValue] | None:
        if self._has_dynamic_shapes and any(_is_dynamic(value) for value in (*operands_of(op), *op.results)):
            return None  # laws of shapes compute with extents
        candidates, counted = self._table.get(type(op)), counting()
        makers = {type(operand.owner) for operand in operands_of(op)}
        values: Rewritten = fold(self, op) if makers == _CONSTANT else None
        if values is not None:
            return (values,) if self._may_make("fold-constants", op) else None
        for candidate in candidates or ():
            if candidate.given and makers.isdisjoint(candidate.given):
                continue
            if counted is not None and not counted.tries(candidate.name, op):
                return None
            values = candidate.function(self, op)
            if values is not None:
                if not self._may_make(candidate.name, op):
                    return None
                return (values,) if isinstance(values, SSAValue) else values
        return None

    def _may_make(self, name: str, op: Operation) -> bool:
        """Whether an op may be replaced by what a rewrite has built, which is traced; else that is dead code."""
        if not may_rewrite(name, op):
            return False
        if self._trace is not None:
            self._trace(name, op)
        if changes.RECORDER is not None:
            changes.RECORDER.why = name
        return True
