"""Strip-mines neighbouring nests over the same rows: they run together, a few rows at a time.

A softmax is three nests: the largest element of every row, the exponentials and their sum, the quotients. Each of them
walks through all rows before the next one starts, so on a large matrix the exponentials go to main memory and come back.
Where all that connects the nests is row by row, the nests become the body of a ``kernel.strip_mine`` that runs them on a strip
of rows at a time; what only they use is then as small as a strip and stays in the cache (strip mining and loop fusion,
Wolfe, "More iteration space tiling", 1989, with the contraction of arrays). So do arrays that several of them read: a layer norm, whose mean, variance and
result are three nests over the same rows, goes through memory once each way.

Row r of a value is its elements [r * step, (r + 1) * step). A nest takes part if it reads and writes row r of whatever it
does not read whole, and nothing else depends on r. Rows are the first k loops taken as one, for the k that saves most.

What a nest combines across rows (a loss, the gradient of a bias) is combined within each strip, and a nest that follows combines the results of
the strips: a reassociation, which strict programs do not allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.kernel import STORE, EmptyOp, IndexOp, LoadOp, NestOp, StripMineOp, WithinOp, YieldOp, nest
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import ZERO, Position, dimensions, index, span, substitute
from wengert.ir.attributes import int_array, int_attr
from wengert.ir.location.fused import merged_all
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import dtype_of, element, shape, size, tensor
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.remap import remapped_body
from wengert.transforms.kernel.split_reductions import total

WORTH_BYTES = 64 << 10
"""Strips pay if what passes between the nests is more than the first cache holds."""
REREAD_BYTES = 512 << 10
"""Where nothing large passes between them, nests that read the same arrays pay if they go through so much: less stays in the second cache anyway."""
STRIP_BYTES = 32 << 10
"""What the nests go through per strip, so that it stays in the first cache."""
FEWEST_ROWS = 2
"""Rows per strip, where they stay in the second cache: the sum of one row is ready while the next one is read."""
LEAST_BYTES = 2 << 10
"""Strips smaller than this (because the number of rows has no better divisor) cost more than they save."""
LINE_BYTES = 64
"""Strips pay if the parts of the arrays in them are whole cache lines, on average: hundreds of short arrays have none that are."""
MOST_BYTES = 1 << 20
"""Rows longer than this do not stay in the second cache either."""

CROSSING_SHARE = 64
"""What is combined across rows takes one of so many bytes that a strip moves, or less."""
FEWEST_STRIPS = 8
"""Strips do not grow for it beyond what leaves about so many, since threads share them."""
MOST_NESTS = 32
"""Nests of one strip."""
SMALL = 1 << 10
"""A nest of at most so many iterations does not keep its neighbours apart."""


class _Rows(Struct, frozen=True, dict=True):
    """A nest as a loop over ``count`` rows, its first ``leading`` loops; ``steps`` are the elements per row of each operand and result.

    The step of an operand that is read whole, and of a result that is combined across rows, is 0.
    """

    op: NestOp
    leading: int
    count: int
    steps: dict[SSAValue, int]

    @cached_property
    def crossing(self) -> dict[SSAValue, None]:
        """What is combined across rows."""
        return {value: None for value in self.op.outputs if not self.steps[value]}


@dataclass(frozen=True)
class StripMinePass(ModulePass):
    """Runs neighbouring nests together on one strip of rows after another, so that what passes between them stays in the cache."""

    name = "strip-mine"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            strip_mine(block, reassociate=self.reassociate)


def strip_mine(block: Block, *, reassociate: bool) -> None:
    """Replaces runs of nests by strips where that pays, in place."""
    run: list[NestOp] = []
    for op in ops_in(block):
        if isinstance(op, NestOp):
            run.append(op)
        elif not isinstance(op, stablehlo.ConstantOp | EmptyOp):
            _strip_mine_run(run, reassociate)
            run = []


def _strip_mine_run(run: list[NestOp], reassociate: bool) -> None:
    rows: dict[tuple[NestOp, int, bool], _Rows | None] = {}
    while len(run) > 1 and _bytes(value for op in run for value in (*op.inputs, *op.outputs)) >= WORTH_BYTES:
        if not _may_pay(run[:MOST_NESTS]):
            run = run[1:]
            continue
        ways = [(leading, crossing) for leading in range(1, len(run[0].extents) + 1) for crossing in (False, True)[: 1 + reassociate]]
        groups = [_longest_group(run, leading, rows, crossing) for leading, crossing in ways]
        best = max(groups, key=lambda group: (group.pays, group.shared_bytes, group.leading), default=None)
        if best is None or not best.pays or not may_rewrite("strip-mine", run[0]):
            run = run[1:]
            continue
        best.replace()
        rows.clear()  # what later nests read has changed
        run = run[run.index(best.members[-1].op) + 1 :]


def _may_pay(run: Sequence[NestOp]) -> bool:
    """Whether the first of these nests can begin a group that pays, if they all ran row by row: :attr:`_Group.pays`, with every value taken for one that
    advances from row to row. Most runs of small programs end here, before anybody looks at rows."""
    touched = Counter(value for op in run for value in {*op.inputs, *op.outputs})
    sizes = {value: _bytes((value,)) for value in touched}
    if sum((times - 1) * sizes[value] for value, times in touched.items()) < WORTH_BYTES:
        return False
    read = {value for op in run for value in op.inputs}
    shared = sum(sizes[value] for op in run for value in op.outputs if value in read)
    return shared >= WORTH_BYTES or sum(sizes.values()) >= REREAD_BYTES


def _bytes(values: Iterable[SSAValue]) -> int:
    return sum(size(value) * dtype_of(element(value)).itemsize for value in values)


def _longest_group(run: Sequence[NestOp], leading: int, known: dict[tuple[NestOp, int, bool], _Rows | None], crossing: bool) -> _Group:
    """The longest group of nests at the beginning of a run that goes row by row.

    Args:
        run: the nests.
        leading: the number of loops that are the rows.
        known: the nests row by row, as far as they have been looked at.
        crossing: reductions across rows are allowed.
    """
    group, later = _Group([], []), list[NestOp]()
    for op in run[:MOST_NESTS]:
        if (op, leading, crossing) not in known:
            known[op, leading, crossing] = _rows(op, leading, crossing)
        rows = known[op, leading, crossing]
        if any(value.owner in later for value in op.inputs):
            rows = None
        if rows is not None and group.accepts(rows):
            group = _Group([*group.members, rows], list(later))
        elif group.members and prod(op.extents) <= SMALL:
            later.append(op)
        else:
            break
    return group


# -- one nest


def _rows(op: NestOp, leading: int, crossing: bool) -> _Rows | None:
    """The nest as a loop over rows; None if its rows depend on each other."""
    extents = op.extents
    if len(extents) < leading or 0 in extents or any(tie >= 0 for tie in op.tied):
        return None
    count = prod(extents[:leading])
    sources = dict(zip(op.body.block.args, op.inputs, strict=False))
    accesses: list[tuple[SSAValue, Position, bool]] = []
    for inner in op.body.block.ops:
        if isinstance(inner, LoadOp):
            accesses.append((sources[cast("BlockArgument", inner.source)], inner.at.data, inner.base is None and inner.where is None))
        elif isinstance(inner, IndexOp) and _row_step(inner.at.data, extents, leading) != 0:
            return None
        guards = inner.where.data if isinstance(inner, LoadOp | WithinOp) and inner.where is not None else ()
        if any(_row_step(at, extents, leading) != 0 for at, _, _ in guards):
            return None
    accesses += [(op.outputs[write.target], write.at, write.base is None and write.condition is None) for write in op.writes]
    steps: dict[SSAValue, int] = {}
    for value, at, plain in accesses:
        step = _row_step(at, extents, leading)
        if step is None or steps.setdefault(value, step) != step or (step and not (plain and _within_row(value, at, step, count, extents, leading))):
            return None
    across = [write for write in op.writes if not steps[op.outputs[write.target]]]
    combined = crossing and all(w.kind != STORE and w.base is None and w.condition is None and not element_format(w.value.type).narrow for w in across)
    return _Rows(op, leading, count, steps) if count > 1 and (combined or not across) else None


def _row_step(at: Position, extents: Sequence[int], leading: int) -> int | None:
    """The step of a position from row to row; None if it is not the same for all rows."""
    if any(not isinstance(atom, int) and min(dimensions(atom.expression), default=leading) < leading for atom, _ in at.terms):
        return None
    step = at.coefficient(leading - 1)
    grown = step
    for d in range(leading - 2, -1, -1):
        grown *= extents[d + 1]
        if at.coefficient(d) != grown:
            return None
    return step


def _within_row(value: SSAValue, at: Position, step: int, count: int, extents: Sequence[int], leading: int) -> bool:
    if step <= 0 or size(value) != count * step:
        return False
    low, high = span(_in_strip(at, [1, *extents[leading:]], leading), [1, *extents[leading:]])
    return low >= 0 and high < step


def _in_strip(at: Position, extents: Sequence[int], leading: int) -> Position:
    """The position in terms of the loops of a strip: its row, and the inner loops."""
    values = dict.fromkeys(range(leading - 1), ZERO)
    values[leading - 1] = index(0)
    values |= {leading + d: index(d + 1) for d in range(len(extents) - 1)}
    return substitute(at, values, extents)


# -- several nests


class _Group(Struct, dict=True):
    """Nests that may run strip by strip, and small ones between them that may run after them."""

    members: list[_Rows]
    later: list[NestOp]

    def accepts(self, rows: _Rows) -> bool:
        """Whether the nest has as many rows, and agrees about every row that it shares."""
        if self.members and rows.count != self.members[0].count:
            return False
        if any(member.crossing and not member.crossing.keys().isdisjoint(rows.op.inputs) for member in self.members):
            return False
        return all(member.steps.get(value, step) == step for member in self.members for value, step in rows.steps.items())

    @property
    def leading(self) -> int:
        """The number of loops that are the rows."""
        return self.members[0].leading if self.members else 0

    @cached_property
    def shared(self) -> list[SSAValue]:
        """The values that one nest writes and another reads."""
        read = {value for member in self.members for value in member.op.inputs}
        return [value for member in self.members for value in member.op.outputs if value in read]

    @cached_property
    def shared_bytes(self) -> int:
        """The bytes that a nest reads which one before has read or written, or writes which one before has read."""
        touched = Counter(value for member in self.members for value, step in member.steps.items() if step)
        return sum((times - 1) * _bytes((value,)) for value, times in touched.items() if times > 1)

    @property
    def pays(self) -> bool:
        if len(self.members) < 2 or self.shared_bytes < WORTH_BYTES or (_bytes(self.shared) < WORTH_BYTES and self.moved_bytes < REREAD_BYTES):
            return False
        rows = self.strip_rows
        strip = self.moved_bytes * rows // self.members[0].count
        least = max(LEAST_BYTES, LINE_BYTES * len(self.moved))
        return least <= strip <= MOST_BYTES and rows < self.members[0].count

    @property
    def strip_rows(self) -> int:
        """Rows per strip: a divisor of their number."""
        count = self.members[0].count
        most = max(STRIP_BYTES * count // self.moved_bytes, min(FEWEST_ROWS, MOST_BYTES * count // self.moved_bytes), 1)
        largest = next(rows for rows in range(min(most, count), 0, -1) if count % rows == 0)
        least = min(CROSSING_SHARE * self.crossing_bytes * count // self.moved_bytes, count // FEWEST_STRIPS)
        return largest if largest >= least else next((rows for rows in range(least, count) if count % rows == 0), count)

    @property
    def crossing_bytes(self) -> int:
        """The bytes of what is combined across rows."""
        return _bytes(self.crossing)

    @cached_property
    def moved(self) -> set[SSAValue]:
        """The values that the nests read and write row by row."""
        return {value for member in self.members for value, step in member.steps.items() if step}

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of these."""
        return _bytes(self.moved)

    def replace(self) -> None:
        """Replaces the nests by a ``kernel.strip_mine``, and nests that combine what the strips have combined across rows."""
        mine, crossing = {member.op for member in self.members}, self.crossing
        kept = [value for member in self.members for value in member.op.outputs if any(use.operation not in mine for use in value.uses)]
        last = self.members[-1].op
        outer = last.parent
        assert outer is not None
        strips = self._strip_mined(kept)
        strips.location = merged_all((member.op.location for member in reversed(self.members)), "strip-mine")
        outer.insert_op_before(strips, last)
        kinds = {member.op.outputs[write.target]: write.kind for member in self.members for write in member.op.writes}
        for old, new in zip(kept, strips.results, strict=True):
            if old in crossing:
                combined = total(new, old, kinds[old], strips.iterations.value.data)
                combined.location = last.location
                outer.insert_op_before(combined, last)
                new = combined.outputs[0]
            old.replace_all_uses_with(new)
        for op in self.later:
            op.detach()
            outer.insert_op_before(op, last)
        for member in reversed(self.members):
            member.op.detach()
            member.op.erase()

    @property
    def crossing(self) -> list[SSAValue]:
        """The results that are combined across rows."""
        return [value for member in self.members for value in member.crossing]

    def _strip_mined(self, kept: Sequence[SSAValue]) -> StripMineOp:
        """The loop over strips, with these of the nests' results; for those that are combined across rows, one of each strip."""
        rows, crossing = self.strip_rows, self.crossing
        steps = {value: step for member in self.members for value, step in member.steps.items()}
        outputs = {value for member in self.members for value in member.op.outputs}
        inputs = list(dict.fromkeys(value for member in self.members for value in member.op.inputs if value not in outputs))
        strip_count = self.members[0].count // rows
        block = Block(arg_types=[self._part(value, steps, rows) for value in inputs])
        values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for member in self.members:
            part = _on_strip(member, [values[value] for value in member.op.inputs], [self._part(value, steps, rows) for value in member.op.outputs], rows)
            block.add_op(part)
            values.update(zip(member.op.outputs, part.outputs, strict=True))
        block.add_op(YieldOp.create(operands=[values[value] for value in kept]))
        return StripMineOp.create(
            operands=inputs,
            result_types=[tensor((strip_count, *shape(value)), element(value)) if value in crossing else value.type for value in kept],
            properties={
                "iterations": int_attr(strip_count),
                "input_steps": int_array([steps.get(value, 0) * rows for value in inputs]),
                "output_steps": int_array([size(value) if value in crossing else steps[value] * rows for value in kept]),
            },
            regions=[Region([block])],
        )

    def _part(self, value: SSAValue, steps: dict[SSAValue, int], rows: int) -> Attribute:
        """The type of a value's part in a strip."""
        step = steps.get(value, 0)
        return tensor((step * rows,), element(value)) if step else value.type


def _on_strip(member: _Rows, inputs: Sequence[SSAValue], outputs: Sequence[Attribute], rows: int) -> NestOp:
    """The nest, on a strip of rows."""
    op, leading = member.op, member.leading
    extents = [rows, *op.extents[leading:]]
    body = remapped_body(op, lambda at: _in_strip(at, extents, leading), inputs=[value.type for value in inputs])
    return nest(inputs, [], outputs, extents, [-1] * len(outputs), body)
