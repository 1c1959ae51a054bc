"""The pass ``tile-products``: runs products whose results are much larger than their operands, and what is computed from these, in tiles of rows.

Before and after, for attention over 8 heads, 2048 positions and 64 features::

    %s = dot_general %q, %k : 8x2048x2048                %o = kernel.strip_mine (d0) = (0) to (8) ins(%q1 = %q[d0 * 131072] ...) outs(...) {
    ...                                                    %r = core.for %i, 32 iterations {
    %p = divide %e, %sum                                     the same on 64 rows: 64x2048
    %o = dot_general %p, %v : 8x2048x64                      dynamic_update_slice of 64x64
                                                           }
                                                           kernel.yield %r
                                                         }

Nothing of the size of ``%s`` is in memory as a whole. Reverse mode has a second loop, which computes the tiles of ``%s`` again, and adds up the gradients of
``%k`` and ``%v`` from block to block: a reassociation, which strict programs do not allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import StripMineOp
from wengert.dialects.stablehlo import DotGeneralOp
from wengert.ir.construction import append, detach, erase, replace_uses
from wengert.ir.location.locations import rewritten
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import shape, size
from wengert.ir.traversal import ops_in, ops_of, result_of
from wengert.transforms.fuse.tiles.batches import split_batches
from wengert.transforms.fuse.tiles.bodies import Pass, Shape, tiles_of
from wengert.transforms.fuse.tiles.clusters import LEAST_BYTES, Cluster, cluster_of, is_candidate
from wengert.transforms.optimize.dce import dce
from wengert.transforms.rewriter import Rewriter

MOST_REPEATED = 4
"""Products that are computed again take at most so large a part of all products of a cluster (those of attention are a sixth), or"""
FEW_REPEATED = 16
"""so few multiplications for each element that is not in memory for it, which costs less than to write and read that."""


@dataclass(frozen=True)
class TileProductsPass(ModulePass):
    """Computes products that are much larger than their operands, with what is made of them row by row, a tile of rows at a time."""

    name = "tile-products"

    reassociate: bool = False
    """Sums across rows may be added up tile by tile."""
    least_bytes: int = LEAST_BYTES
    """Products with smaller results are left as they are."""
    rows: int = 0
    """The rows of a tile; 0: as many as make a tile that stays in the second cache."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.changes(op):
            return
        if split_batches(op, self.name):
            dce(op)
        for root in ops_of(op, DotGeneralOp):
            if root.parent is not None and self._may_begin(root):
                cluster = cluster_of(root)
                if cluster is None or (cluster.adds_across_rows and not self.reassociate):
                    continue
                order = ops_in(root.parent)
                outputs = _outputs(cluster, order)
                if not _repeats_much(cluster, outputs) and may_rewrite(self.name, root):
                    _tile(cluster, Shape.of(cluster, self.rows), order, outputs)

    def changes(self, module: ModuleOp) -> bool:
        return any(self._may_begin(op) for op in ops_of(module, DotGeneralOp))

    def _may_begin(self, op: DotGeneralOp) -> bool:
        return is_candidate(op, self.least_bytes) and not _is_tiled(op)


def _is_tiled(op: Operation) -> bool:
    """Whether an op is in a strip-mined loop already."""
    around = op.parent_op()
    return around is not None and (isinstance(around, StripMineOp) or _is_tiled(around))


def _repeats_much(cluster: Cluster, outputs: dict[int, list[SSAValue]]) -> bool:
    """Whether products that later passes compute again take longer than memory would: chains of products, such as the layers of a perceptron."""
    again = once = 0
    for number, results in outputs.items():
        for _, _, op in tiles_of(cluster, number, results):
            if isinstance(op, DotGeneralOp) and op in cluster.members:
                again += _multiplications(op) * (cluster.passes[op] < number)
    for op in cluster.members:
        once += _multiplications(op) if isinstance(op, DotGeneralOp) else 0
    return MOST_REPEATED * again > once and again > FEW_REPEATED * sum(size(value) for value in cluster.stored)


def _multiplications(op: DotGeneralOp) -> int:
    return size(op.result) * prod(shape(op.lhs)[d] for d in op.dot_dimension_numbers.dims("lhs_contracting_dimensions"))


def _tile(cluster: Cluster, form: Shape, order: list[Operation], outputs: dict[int, list[SSAValue]]) -> None:
    """Replaces a cluster by its passes, in place; ``order``: the ops of its block, ``outputs``: what each pass gives."""
    block = cluster.root.parent
    assert block is not None
    _sort(cluster, block, order)
    known: dict[SSAValue, SSAValue] = {}
    for number, results in sorted(outputs.items()):
        b = Rewriter.before(_first_after(cluster, block, number), TileProductsPass.name)
        b.location = rewritten(cluster.root.location, cluster.root.name, TileProductsPass.name)
        known.update(zip(results, Pass(cluster, number, form, b, results, known).run(), strict=True))
    for old, new in known.items():
        replace_uses(old, new)
    for op in reversed(order):
        if op in cluster.members and op.results[0].first_use is None:
            erase(op)


def _outputs(cluster: Cluster, order: list[Operation]) -> dict[int, list[SSAValue]]:
    """The results of each pass, in program order: what is needed outside of tiles, and what later passes read."""
    members = [op for op in order if op in cluster.members and op not in cluster.followers]
    wanted = {result_of(op) for op in members if cluster.leaves(op)}
    outputs: dict[int, list[SSAValue]] = {}
    for number in sorted(set(cluster.passes.values()), reverse=True):
        results = [result_of(op) for op in members if cluster.passes[op] == number and result_of(op) in wanted]
        if results:
            outputs[number] = results
            for value, _, op in tiles_of(cluster, number, results):
                if op is None:
                    wanted.update(cluster.kept_for(value))
    return outputs


def _sort(cluster: Cluster, block: Block, order: list[Operation]) -> None:
    """Puts what needs the results of a pass after what does not."""
    *ops, last = order
    ranks = [cluster.passes[op] if op in cluster.members and op not in cluster.followers else cluster.outside[op] for op in ops]
    if any(before > after for before, after in pairwise(ranks)):
        for op in order:
            detach(op)
        for _, op in sorted(zip(ranks, ops, strict=True), key=lambda ranked: ranked[0]):
            append(block, op)
        append(block, last)


def _first_after(cluster: Cluster, block: Block, number: int) -> Operation:
    """The op in front of which a pass stands: the first one that may need its results."""
    *ops, last = ops_in(block)
    return next((op for op in ops if cluster.outside.get(op, 0) > number and (op not in cluster.members or op in cluster.followers)), last)
