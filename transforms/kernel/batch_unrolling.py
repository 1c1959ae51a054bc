"""Unrolls short loops inside a loop over a large batch, and merges the nests over it: one loop remains, with lanes across the batch elements.

A residual of points and cameras under ``vmap``, states of three numbers, quaternions: the values have shapes like [10000, 3], sums
over the three stand between other ops, and each such sum ends a nest. Lanes along three elements are hardly filled, and every
nest takes its operands from memory that the one before it has just written. Here the short loops are unrolled, a sum over them
becomes as many additions, and what one nest writes for a batch element and the next one reads for the same batch element stays in registers::

    s = nest [10000, 3]: add x[3 d0 + d1] * x[3 d0 + d1] at d0        r = nest [10000]: y0 = x[3 d0], y1 = ..., y2 = ...
    r = nest [10000, 3]: store x[3 d0 + d1] / s[d0] at 3 d0 + d1  ->      s = 0 + y0 * y0 + y1 * y1 + y2 * y2
                                                                          store y0 / s at 3 d0, y1 / s at 3 d0 + 1, ...

A sum over a row keeps its order. A sum over rows as well adds up the elements of a row first, a reassociation, which strict programs do not allow. What the
nests have in common is computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import (
    STORE,
    ApplyOp,
    EmptyOp,
    LoadOp,
    NestOp,
    Write,
    nest,
    string,
    yielded,
)
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import Position, constant, index, substitute
from wengert.ir.construction import append, destroy, erase, insert_before, replace_uses
from wengert.ir.location.fused import merged_all
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import operands_of, ops_in, result_of
from wengert.transforms.analysis.batches import MOST_POINTS, is_short
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.remap import undecided, unrolled, zero_or_true

LONE_SUM = 7
"""Rows that are only summed are unrolled up to so many elements: lanes of a register are added up more quickly than picked from rows."""
MOST_OPS = 640
"""A merged body becomes no longer: code generation is superlinear in the size of a function."""
SMALL = 1 << 10
"""A nest of at most so many iterations, such as the one that divides a loss, does not keep its neighbours apart: it runs after them."""

_FUNCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}


@dataclass(frozen=True)
class UnrollBatchPass(ModulePass):
    """Unrolls short loops inside a loop over many batch elements, and merges nests over the same ones; sums over the batch only if they may be reassociated."""

    name = "unroll-batch"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            unroll_batch(block, reassociate=self.reassociate)


def unroll_batch(block: Block, *, reassociate: bool) -> None:
    """Merges runs of nests of a block over the same batch elements where that keeps values in registers, in place."""
    ops = ops_in(block)
    loops_of = {op: _batch_loops(op) for op in ops if isinstance(op, NestOp)}
    if all(prod(op.extents[loops:]) == 1 for op, loops in loops_of.items() if loops):
        return  # a run pays only if it has a loop that is unrolled
    runs: list[_MergedNest] = []
    for op in ops:
        loops = loops_of[op] if isinstance(op, NestOp) else 0
        feeding = [run for run in runs if run.feeds(op)]
        if isinstance(op, NestOp) and len(feeding) == 1:
            if loops and feeding[0].add(op, loops):
                continue
            if not loops and prod(op.extents) <= SMALL:
                feeding[0].later.append(op)
                continue
        for run in feeding:  # it is complete: the op, in whichever run, uses its results
            run.finish()
            runs.remove(run)
        if isinstance(op, NestOp) and loops and not any(run.add(op, loops) for run in reversed(runs)):
            started = _MergedNest(_batch_of(op, loops), reassociate)
            runs += [started] if started.add(op, loops) else []
    for run in runs:
        run.finish()


def _batch_loops(op: NestOp) -> int:
    """The number of loops that run over the batch, if the others together are short; 0 if there are none, or the nest cannot be merged."""
    extents = op.extents
    leading = len(extents)
    while leading and prod(extents[leading - 1 :]) <= MOST_POINTS:
        leading -= 1
    points = prod(extents[leading:])
    if not is_short(extents[:leading], points):
        return 0
    if len(ops_in(op.body.block)) * points > MOST_OPS or (points > 1 and any(_is_computed(write) for write in op.writes)):
        return 0
    return leading


def _is_computed(write: Write) -> bool:
    return write.base is not None or write.condition is not None


def _batch_of(op: NestOp, loops: int) -> tuple[int, ...]:
    return tuple([n for n in op.extents[:loops] if n != 1])


def are_apart(places: Collection[Position], extents: Sequence[int]) -> bool:
    """Whether these positions are different elements, for all of them and for all batch elements."""
    first, *others = places
    steps = sorted((abs(c), extents[atom]) for atom, c in first.terms if isinstance(atom, int))
    if len(steps) < len(extents) or not first.is_affine() or any(at.terms != first.terms for at in others):
        return False
    offsets = sorted(at.offset for at in places)
    between = offsets[-1] - offsets[0] < steps[0][0]
    reach = sum(step * (n - 1) for step, n in steps)
    return all(step * n <= above for (step, n), (above, _) in pairwise(steps)) and (between or all(high - low > reach for low, high in pairwise(offsets)))


class _MergedNest:
    """Nests that are merged into one, taken in one by one.

    Attributes:
        extents: the batch loops, which all members have.
        members: the nests taken in so far.
        later: small nests between them that run after them; ``passed``: how many of these stand before the last member.
        body, inputs: the merged body, and its arguments by the values that they read.
        into, ties: values that the merged nest updates in place, and which result updates which.
        written: by result of a member, the elements that it stores for a batch element.
        writes: what the merged nest writes, by result of a member.
        numbered: values of the body by what computes them, so that each is computed once.
        waiting: the first member and its only point, as long as there is no second one: nothing of it is in the body yet.
        forwarded, unrolled, summed: what merging gains: loads that became values, loops that were unrolled, sums that were taken apart.
    """

    def __init__(self, extents: tuple[int, ...], reassociate: bool):
        self.extents, self.reassociate = extents, reassociate
        self.members: list[NestOp] = []
        self.later: list[Operation] = []
        self.passed = 0
        self.body = Block()
        self.inputs: dict[SSAValue, SSAValue] = {}
        self.into: list[SSAValue] = []
        self.ties: dict[SSAValue, int] = {}
        self.written: dict[SSAValue, dict[Position, SSAValue]] = {}
        self.writes: dict[SSAValue, list[Write]] = {}
        self.numbered: dict[tuple[Any, ...], SSAValue] = {}
        self.forwarded = 0
        self.unrolled = self.summed = False
        self.waiting: tuple[NestOp, list[_Point]] | None = None

    def feeds(self, op: Operation) -> bool:
        """Whether an op, or one in its regions, uses what the members compute, or what runs after them."""
        mine = {value for member in (*self.members, *self.later) for value in member.results}
        return any(operand in mine for inner in op.walk() for operand in inner.operands)

    # -- taking a nest in

    def add(self, op: NestOp, loops: int) -> bool:
        """Takes a nest in if that can be done; else nothing changes."""
        if _batch_of(op, loops) != self.extents or any(value.owner in self.later for value in operands_of(op)):
            return False
        self._take_in_first()
        if not self._may_write(op):
            return False
        points = [_Point(self, op, loops, rest) for rest in product(*map(range, op.extents[loops:]))]
        size = len(self.numbered) + len(points) * len(ops_in(op.body.block))
        if size > MOST_OPS or not all(point.reads_what_is_there() for point in points) or not self._writes_apart(op, points):
            return False
        if self.members or len(points) > 1:
            self._take_in(op, points)
        else:
            self.waiting = op, points
        self.members.append(op)
        self.passed = len(self.later)
        self.unrolled |= len(points) > 1
        return True

    def _take_in_first(self) -> None:
        """Computes the first member, if that was left until a second one comes: alone it has nothing to merge, and most stay alone."""
        if self.waiting is not None:
            (op, points), self.waiting = self.waiting, None
            self._take_in(op, points)

    def _take_in(self, op: NestOp, points: Sequence[_Point]) -> None:
        for point in points:
            point.compute()
        self._collect(op, points)

    def _may_write(self, op: NestOp) -> bool:
        """Whether each value that the nest updates in place is written by this loop alone, or not used in it."""
        for tie in op.tied:
            if tie < 0:
                continue
            value = op.into[tie]
            if value in self.inputs or value in op.inputs or value in self.into:
                return False
            if value in self.written and any(use.operation is not op and use.operation not in self.members for use in value.uses):
                return False
            so_far = self.writes.get(value, ())
            if any(write.kind != STORE or _is_computed(write) for write in so_far) or (so_far and any(map(_is_computed, op.writes))):
                return False
        return not any(value in self.into for value in op.inputs)

    def _writes_apart(self, op: NestOp, points: Sequence[_Point]) -> bool:
        """Whether no two batch elements write the same element, unless the write may be combined across them."""
        for number, write in enumerate(op.writes):
            places = {point.places[number] for point in points}
            if write.kind == STORE or _is_computed(write):
                continue
            element = element_format(write.value.type)
            if element.narrow or element.kind == "c" or op.tied[write.target] >= 0:
                return False
            if not all(at.is_affine() for at in places):
                return False
            rounds = element.kind == "f" and write.kind in ("add", "mul") and len(points) > len(places)
            if rounds and not self.reassociate and not are_apart(places, self.extents):
                return False
        return True

    def _collect(self, op: NestOp, points: Sequence[_Point]) -> None:
        """Adds the writes of a nest at all points to those of the merged one."""
        self._collect_results(op)
        for number, write in enumerate(op.writes):
            if _is_computed(write):
                base, condition = (None if part is None else points[0].values[part] for part in (write.base, write.condition))
                self.writes[op.outputs[write.target]].append(Write(points[0].values[write.value], points[0].places[number], write.kind, 0, base, condition))
            else:
                self._collect_write(op.outputs[write.target], write, points, number)

    def _collect_results(self, op: NestOp) -> None:
        """Adds the results of a nest, which begin with the writes of what they update in place."""
        for value, tie in zip(op.outputs, op.tied, strict=True):
            self.written[value], self.writes[value] = {}, []
            if tie < 0:
                continue
            before = op.into[tie]
            if before not in self.written:
                self.ties[value] = len(self.into)
                self.into.append(before)
                continue
            self.written[value] |= self.written[before]
            self.writes[value] += self.writes.pop(before)
            if before in self.ties:
                self.ties[value] = self.ties.pop(before)

    def _collect_write(self, target: SSAValue, write: Write, points: Sequence[_Point], number: int) -> None:
        """Adds a write (by its number) at all points: those at one position are combined, and stored where no other batch element writes there."""
        parts_at: dict[Position, list[SSAValue]] = {}
        for point in points:
            parts_at.setdefault(point.places[number], []).append(point.values[write.value])
        whole = write.kind == STORE or are_apart(parts_at, self.extents)
        self.summed |= not whole and len(parts_at) > 1
        for at, parts in parts_at.items():
            total = self._combined(write.kind, parts, whole)
            if at in self.written[target]:
                self.writes[target] = [earlier for earlier in self.writes[target] if earlier.at != at]
            self.writes[target].append(Write(total, at, STORE if whole else write.kind, 0))
            if whole:
                self.written[target][at] = total

    def _combined(self, kind: str, parts: Sequence[SSAValue], whole: bool) -> SSAValue:
        """Combines the parts one after the other; a whole sum begins with zero, which makes a difference to -0."""
        total, *rest = parts
        if kind == STORE:
            return total
        if whole and kind == "add" and element_format(total.type).kind == "f":
            total, rest = self.put(zero_or_true(total.type)), parts
        self.summed |= bool(rest) and (kind in ("max", "min") or len(parts) <= LONE_SUM)
        for part in rest:
            total = self.put(ApplyOp.create(operands=[total, part], result_types=[part.type], properties={"function": string(_FUNCTIONS[kind])}))
        return total

    # -- the body

    def put(self, op: Operation) -> SSAValue:
        """Appends an op to the body unless an equal one is there; its value."""
        key = (type(op), *operands_of(op), *op.properties.items(), result_of(op).type)
        value = self.numbered.get(key)
        if value is None:
            append(self.body, op)
            value = self.numbered[key] = result_of(op)
        else:
            destroy(op)
        return value

    def argument(self, value: SSAValue) -> SSAValue:
        """The body's argument for a value from outside."""
        argument = self.inputs.get(value)
        if argument is None:
            argument = self.inputs[value] = self.body.insert_arg(value.type, len(self.body.args))
        return argument

    # -- the merged nest

    def finish(self) -> None:
        """Replaces the members by one nest, if that pays."""
        if not self.unrolled or not (self.forwarded or self.summed) or not may_rewrite("unroll-batch", self.members[0]):
            return
        used = [value for value in self.writes if any(use.operation not in self.members for use in value.uses)]
        append(self.body, yielded([write._replace(target=number) for number, value in enumerate(used) for write in self.writes[value]]))
        _erase_unused(self.body)
        continued = {value: into for value, number in self.ties.items() if not isinstance((into := self.into[number]).owner, EmptyOp)}
        into = [continued[value] for value in used if value in continued]
        numbers = iter(range(len(into)))  # results that begin as one value continue it each on its own
        ties = [next(numbers) if value in continued else -1 for value in used]
        merged = nest(list(self.inputs), into, [value.type for value in used], self.extents, ties, self.body)
        last = self.members[-1]
        merged.location = merged_all((member.location for member in reversed(self.members)), "unroll-batch")
        insert_before(last, merged)
        for op in self.later[: self.passed]:
            op.detach()
            insert_before(last, op)
        for old, new in zip(used, merged.outputs, strict=True):
            replace_uses(old, new)
        for member in reversed(self.members):
            erase(member)
        for value in self.into:
            if isinstance(value.owner, EmptyOp) and value.first_use is None:
                erase(value.owner)


class _Point:
    """One point of the short loops of a nest."""

    def __init__(self, merged: _MergedNest, op: NestOp, loops: int, rest: Sequence[int]):
        self.merged, self.op = merged, op
        number = iter(range(loops))
        self.indices = {d: constant(0) if op.extents[d] == 1 else index(next(number)) for d in range(loops)}
        self.indices |= {loops + d: constant(at) for d, at in enumerate(rest)}
        self.places = [self._at(write.at) for write in op.writes]
        self.sources: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, op.inputs, strict=True))
        self.values: dict[SSAValue, SSAValue] = {}

    def _at(self, at: Position) -> Position:
        return substitute(at, self.indices, self.merged.extents)

    def reads_what_is_there(self) -> bool:
        """Whether what is read of other members' results is what they write for the same batch element."""
        for inner in ops_in(self.op.body.block):
            if isinstance(inner, LoadOp) and (written := self.merged.written.get(self.sources[inner.source])) is not None:
                where = inner.where.data if inner.where is not None else ()
                left = undecided(where, self._at, self.merged.extents)
                if inner.base is not None or (left is not None and self._at(inner.at.data) not in written):
                    return False
        return True

    def compute(self) -> None:
        """Puts the body of this point into the merged one."""
        unrolled(self.op, self._at, self.merged.extents, self.values, self.merged.put, self._written_before)

    def _written_before(self, op: LoadOp, at: Position) -> SSAValue | None:
        """The value that a member has written where the nest reads; None, and an argument to read from, if no member has."""
        source = self.sources[op.source]
        if source in self.merged.written:
            self.merged.forwarded += 1
            return self.merged.written[source][at]
        self.values[op.source] = self.merged.argument(source)
        return None


def _erase_unused(body: Block) -> None:
    for op in reversed(ops_in(body)[:-1]):
        if result_of(op).first_use is None:
            erase(op)
