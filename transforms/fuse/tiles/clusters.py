"""Finds products whose results are much larger than their operands, and all that is computed from these row by row.

A *cluster* begins with a product ``[batch, rows, k] x [batch, columns, k]`` whose result, ``[batch, rows, columns]``, is several times as large as what it is
computed from: the scores of attention. Its *wide* values are as large as that result, and each of their rows depends on the same row of the others. What leaves
the cluster is small: largest elements and sums of rows, products with other operands. Where all ops that read or write wide values go row by row, but
for products and sums across rows, which can be added up, no wide value has to be in memory as a whole.

An op runs in a *pass* over the tiles; one that needs the result of a pass for all rows, by way of ops that are in no cluster, runs in a later one. Wide values
that a later pass needs again are computed again there, from operands of the product and what was kept of each row. (Rabe and Staats, "Self-attention does
not need O(n^2) memory", 2021; Dao et al., "FlashAttention: fast and memory-efficient exact attention with IO-awareness", NeurIPS 2022. There the columns
are cut too, and the maximum is corrected as it grows; here a row is short enough for a cache, so that every row is computed as the program says.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from msgspec import Struct, field
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.tensor_types import dtype_of, element, is_float, shape, size
from wengert.ir.traversal import operands_of, ops_in, result_of
from wengert.transforms.fuse.tiles.relations import ROW, WHOLE, Labels, Relation, labels_of, labels_of_axes, relate

LEAST_BYTES = 1 << 20
"""A wide value that is smaller stays in the caches."""
LEAST_RATIO = 4
"""A wide value is so many times as large as one operand of its product, and more than half as many times as both."""
MOST_CONTRACTED = 256
"""A product that adds up more terms takes longer to compute again than its result takes to read."""
MOST_ADDED = 2 << 20
"""A sum across rows of more bytes is out of the caches when the next tile is added to it,"""
WORTH_ADDING = 64
"""which is put up with where wide values have so many times as many elements."""
LEAST_SUMMED = 4
"""Floats of fewer bytes are not added up."""
MOST_FOLLOWERS = 64
"""So many ops between the reductions of rows and what reads them."""


class Cluster(Struct):
    """Ops that go row by row, and the labels of what they compute.

    Attributes:
        root: the product that the cluster begins with.
        extents: the extents of the batch axes.
        rows: the number of rows.
        members: the ops that read or write wide values, and those between the results of rows.
        labels: of every result of a member.
        wide: the wide values.
        passes: the pass in which each member runs first.
    """

    root: stablehlo.DotGeneralOp
    extents: tuple[int, ...]
    rows: int
    members: dict[Operation, Relation]
    labels: dict[SSAValue, Labels]
    wide: set[SSAValue]
    followers: set[Operation] = field(default_factory=set[Operation])
    passes: dict[Operation, int] = field(default_factory=dict[Operation, int])
    outside: dict[Operation, int] = field(default_factory=dict[Operation, int])

    @property
    def groups(self) -> int:
        """The number of elements of the batch."""
        return prod(self.extents)

    @property
    def batch(self) -> set[int]:
        """The labels of the batch axes."""
        return {*range(len(self.extents))}

    @property
    def stored(self) -> list[SSAValue]:
        """The wide values that would be in memory without tiles: what products and reductions read and write."""
        whole = (stablehlo.DotGeneralOp, core.ReduceOp)
        return [value for value in self.wide if isinstance(value.owner, whole) or any(isinstance(use.operation, whole) for use in value.uses)]

    @property
    def adds_across_rows(self) -> bool:
        """Whether a member adds up rows."""
        return any(ROW not in self.labels[result_of(op)] for op in self.members)

    def runs_in_tiles(self, value: SSAValue, number: int) -> bool:
        """Whether a pass computes a value in tiles: it is wide, or a result of this very pass."""
        op = value.owner
        return isinstance(op, Operation) and op in self.members and (value in self.wide or self.passes[op] == number)

    def leaves(self, op: Operation) -> bool:
        """Whether something outside of all tiles needs the result of a member."""
        users = [use.operation for use in result_of(op).uses]
        return any(user not in self.members or (user in self.followers and self.leaves(user)) for user in users)

    def kept_for(self, value: SSAValue) -> list[SSAValue]:
        """The results of passes that a value outside of all tiles is made of, itself if it is one."""
        op = value.owner
        if not isinstance(op, Operation) or op not in self.members:
            return []
        return [value] if op not in self.followers else [kept for operand in operands_of(op) for kept in self.kept_for(operand)]


def is_candidate(op: stablehlo.DotGeneralOp, least_bytes: int = LEAST_BYTES) -> bool:
    """Whether a cluster may begin with a product."""
    if not is_float(element(op.result)) or op.result.first_use is None:
        return False
    count, operands = size(op.result), (size(op.lhs), size(op.rhs))
    contracted = prod(shape(op.lhs)[d] for d in op.dot_dimension_numbers.dims("lhs_contracting_dimensions"))
    large = count * dtype_of(element(op.result)).itemsize >= least_bytes
    return large and count >= LEAST_RATIO * max(operands) and 2 * count >= LEAST_RATIO * sum(operands) and 0 < contracted <= MOST_CONTRACTED


def cluster_of(root: stablehlo.DotGeneralOp) -> Cluster | None:
    """The cluster that begins with a product; None if there is none that is worth it."""
    extents = shape(root.result)
    batch = len(root.dot_dimension_numbers.dims("lhs_batching_dimensions"))
    labelled = [d for d in range(batch) if extents[d] > 1]
    candidates = sorted(range(batch, len(extents)), key=lambda d: (-extents[d], d))
    for row in candidates:
        if extents[row] > 1:
            labels = tuple(ROW if d == row else labelled.index(d) if d in labelled else WHOLE for d in range(len(extents)))
            cluster = Cluster(root, tuple(extents[d] for d in labelled), extents[row], {}, {root.result: labels}, {root.result})
            if _grow(cluster) and _is_worth_it(cluster):
                _follow(cluster)
                if _agrees(cluster):
                    _number_passes(cluster)
                    return cluster
    return None


def _grow(cluster: Cluster) -> bool:
    """Adds all ops that read or write wide values row by row; False if some reduction of rows is in the way.

    What no member computes comes from outside, and says nothing about the ops that read it: then the search begins again without it.
    """
    labels, root = dict(cluster.labels), cluster.root.result
    outside: set[SSAValue] = set()
    while _search(cluster, outside):
        fresh = cluster.wide - {result_of(op) for op in cluster.members}
        if not fresh:
            return True
        outside |= fresh
        cluster.members, cluster.labels, cluster.wide = {}, dict(labels), {root}
    return False


def _search(cluster: Cluster, outside: set[SSAValue]) -> bool:
    """One search from the root by way of wide values other than those from outside."""
    pending: list[SSAValue] = [cluster.root.result]
    refused: set[Operation] = set()
    while pending:
        value = pending.pop()
        for op in _around(value, cluster.root):
            if op in cluster.members or op in refused:
                continue
            relation = relate(op)
            labels = None if relation is None else _labels_in(cluster, op, relation)
            if relation is None or labels is None or not _may_join(cluster, op, labels_of(relation.result, labels)):
                if isinstance(op, core.ReduceOp) and _reduces_rows(op, relation, cluster):
                    return False
                refused.add(op)
                continue
            cluster.members[op] = relation
            for other, axes in zip((*operands_of(op), result_of(op)), (*relation.operands, relation.result)):
                given = labels_of(axes, labels)
                is_wide = other not in outside and _is_wide(cluster, other) and cluster.batch | {ROW} <= {*given}
                if is_wide and other not in cluster.wide:
                    cluster.wide.add(other)
                    pending.append(other)
                if is_wide or other is result_of(op):
                    cluster.labels.setdefault(other, given)
    return True


def _may_join(cluster: Cluster, op: Operation, given: Labels) -> bool:
    """Whether tiles can compute the result of an op: it has all of the batch, and rows, or sums over them that are not rounded to 16 bits from tile to tile."""
    narrow = is_float(element(result_of(op))) and dtype_of(element(result_of(op))).itemsize < LEAST_SUMMED
    return cluster.batch <= {*given} and (ROW in given or not narrow)


def _reduces_rows(op: core.ReduceOp, relation: Relation | None, cluster: Cluster) -> bool:
    """Whether a reduction takes the largest, say, of all rows."""
    if relation is None or op.operand not in cluster.labels:
        return False
    return any(label == ROW and axis in relation.folded for axis, label in zip(relation.operands[0], cluster.labels[op.operand], strict=True))


def _agrees(cluster: Cluster) -> bool:
    """Whether every op takes and gives its values in the same tiles as the others."""
    return all(_labels_in(cluster, op, relation) is not None for op, relation in cluster.members.items())


def _around(value: SSAValue, root: Operation) -> Iterable[Operation]:
    """The op that makes a value and those that read it, in the root's block."""
    ops = [value.owner, *[use.operation for use in value.uses]]
    return [op for op in dict.fromkeys(ops) if isinstance(op, Operation) and op.parent is root.parent]


def _labels_in(cluster: Cluster, op: Operation, relation: Relation) -> dict[int, int] | None:
    """The labels of an op's axes, as its wide values say."""
    pairs = zip((*operands_of(op), result_of(op)), (*relation.operands, relation.result))
    return labels_of_axes(relation, [(axes, cluster.labels[value]) for value, axes in pairs if value in cluster.labels])


def _is_wide(cluster: Cluster, value: SSAValue) -> bool:
    return 2 * size(value) >= size(cluster.root.result)


def _is_worth_it(cluster: Cluster) -> bool:
    """Whether rows are reduced, and wide values read by products."""
    reduces = any(isinstance(op, core.ReduceOp) and ROW in cluster.labels[result_of(op)] for op in cluster.members)
    reads = any(isinstance(op, stablehlo.DotGeneralOp) and not cluster.wide.isdisjoint(operands_of(op)) for op in cluster.members)
    return reduces and reads and not any(_is_too_long(cluster, op) for op in cluster.members)


def _is_too_long(cluster: Cluster, op: Operation) -> bool:
    """Whether adding to a sum across rows, for every tile, takes longer than a tile is worth."""
    value = result_of(op)
    if ROW in cluster.labels[value]:
        return False
    bytes_added = size(value) // cluster.groups * dtype_of(element(value)).itemsize
    return bytes_added > MOST_ADDED and size(cluster.root.result) < WORTH_ADDING * size(value)


def _follow(cluster: Cluster) -> None:
    """Adds the ops that go on with the results of rows: what a maximum becomes before it is subtracted."""
    block = cluster.root.parent
    assert block is not None
    for op in ops_in(block):
        known = [value for value in operands_of(op) if value in cluster.labels]
        if not known or op in cluster.members or len(cluster.followers) >= MOST_FOLLOWERS:
            continue
        relation = relate(op)
        if relation is None or isinstance(op, stablehlo.DotGeneralOp) or any(ROW not in cluster.labels[value] for value in known):
            continue
        labels = _labels_in(cluster, op, relation)
        given = () if labels is None else labels_of(relation.result, labels)
        if labels is None or not cluster.batch | {ROW} <= {*given} or _is_wide(cluster, result_of(op)):
            continue
        cluster.members[op] = relation
        cluster.followers.add(op)
        cluster.labels[result_of(op)] = given


def _number_passes(cluster: Cluster) -> None:
    """Numbers the pass of every member, and for all ops of the block the first pass that they come before."""
    block = cluster.root.parent
    assert block is not None
    for op in ops_in(block):
        inside = op in cluster.members
        for own in (True, False) if inside else (False,):
            number = 0
            for value in _read_by(op):
                maker = value.owner
                if isinstance(maker, Block) or maker.parent is not block:
                    continue
                if own and maker in cluster.members and ROW in cluster.labels[value]:
                    number = max(number, cluster.passes[maker])
                elif maker in cluster.members and maker not in cluster.followers:
                    number = max(number, cluster.passes[maker] + 1)
                else:
                    number = max(number, cluster.outside[maker])
            if own:
                cluster.passes[op] = number
            else:
                cluster.outside[op] = number


def _read_by(op: Operation) -> Sequence[SSAValue]:
    """What an op and the ops in its regions read."""
    if not op.regions:
        return operands_of(op)
    return [value for inner in op.walk() for value in operands_of(inner)]
