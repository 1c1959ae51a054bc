"""Columns that are known when a program runs: of arguments that are read at computed positions.

A residual that reads ``x[i]`` for an index i among its arguments may depend on any row of x, as far as one knows before the run, and then its Jacobian is full.
What it depends on is one row, of which only the number is not known. So the function is cut behind such reads: of what they read it has a Jacobian whose
pattern is known, and a column of it is a column of the whole Jacobian, whose number the same read finds in a table::

    func @main(%x: tensor<50x9xf64>, %i: tensor<8xi32>) {      func @main_of_gathered(%x, %i, %g: tensor<8x9xf64>) { ... %g ... }
      %g = gather %x, %i                                       %g       = gather %x, %i
      ... %g ...                                               %columns = gather (iota 50x9), %i           // 8x9: where in the Jacobian
    }

(J = J' S, where S has a single one in each row, so that no product is formed. Independent variables that are gathered first are the partial separability of
A. Griewank, Ph. Toint, "On the unconstrained optimization of partially separable functions", 1982.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import add_argument, append, copy_op, replace_uses
from wengert.ir.tensor_types import dtype_of, i32, i64, is_differentiable, shape, size, tensor
from wengert.transforms.ad.direct.activity import inputs_of
from wengert.transforms.ad.function import detach_body, finish_function, pop_return
from wengert.transforms.ad.jacobians.places import numbers
from wengert.transforms.ad.requests.request import Request, fresh_name
from wengert.transforms.analysis.sparsity.index_sets import IndexSets
from wengert.transforms.analysis.sparsity.known import gather_places
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern
from wengert.transforms.analysis.sparsity.positions import slice_positions
from wengert.transforms.analysis.sparsity.propagation import Propagation
from wengert.transforms.optimize.folding import MOVEMENT

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Read = hlo.GatherOp | hlo.DynamicSliceOp
MOST_INDEXED = 1 << 31


class ComputedRead(Struct, frozen=True):
    """An op that reads elements of arguments at computed positions.

    Attributes:
        op: a gather or a dynamic slice.
        table: the column of the Jacobian that each element of its operand is; of the operand's shape.
        groups: for each element of the result, a number that elements read by the same index have in common.
        reach: for each element of the result, a number for the elements of the operand that it may be.
        moving: the dimensions of the operand along which it is not known which elements are read.
    """

    op: Read
    table: Numbers
    groups: Numbers
    reach: Numbers
    moving: tuple[int, ...]

    @property
    def choices(self) -> int:
        """How many elements of the operand one of the result may be."""
        return int(np.prod([self.table.shape[d] for d in self.moving], dtype=np.int64))

    def common(self, of_columns: Numbers) -> Numbers | None:
        """Of a number for each column of the Jacobian that for each element of the result; None where it depends on what is read."""
        numbers = of_columns[self.table]
        return numbers.reshape(-1)[self.reach] if all((numbers == numbers.take([0], d)).all() for d in self.moving) else None


class Source(Struct, frozen=True):
    """What the columns of an argument of the cut function are: from ``first`` on those of the argument ``owner`` (a number in wrt), or what is read of it."""

    argument: BlockArgument
    owner: int
    first: int
    read: ComputedRead | None


class Cut(Struct, frozen=True):
    """A function as one of what it reads at computed positions.

    Attributes:
        original: the function as it was.
        request: that of what is read too, as further arguments behind its own.
        sources: what its columns are, argument by argument.
        pattern: of its Jacobian.
        width: the columns of the whole Jacobian.
        is_canonical: whether the columns of a row come in ascending order, and none twice, wherever the positions are.
    """

    original: Request
    request: Request
    sources: Sequence[Source]
    pattern: Pattern
    width: int
    is_canonical: bool

    @property
    def index_type(self) -> Attribute:
        """The type of the numbers of columns."""
        return i32 if self.width < MOST_INDEXED else i64

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """The same in NumPy."""
        return dtype_of(self.index_type)

    def common(self, of_columns: Numbers) -> Numbers | None:
        """Of a number for each column of the whole Jacobian that for each column of the pattern; None where it depends on positions that only a run tells."""
        parts: list[Numbers] = [np.zeros(0, np.int64)]
        for source in self.sources:
            part = of_columns[source.first : source.first + size(source.argument)] if source.read is None else source.read.common(of_columns)
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts)

    def drop(self) -> None:
        """Takes the function that is cut out of its module again."""
        self.request.function.detach()
        self.request.function.erase()

    def read(self, b: OpBuilder, block: Block) -> tuple[list[Value], list[Value]]:
        """Writes the reads into a block with the function's arguments: what is read, and for each source the numbers of its columns, as vectors."""
        values: dict[SSAValue, SSAValue] = dict(zip(self.original.block.args, block.args, strict=True))
        for op in self.original.ops:
            append(block, copy_op(op, values))
        read = [values[_nth_read(source).op.results[0]] for source in sorted(self.sources, key=lambda s: s.argument.index) if source.read is not None]
        return read, [self._columns(b, source, values) for source in self.sources]

    def _columns(self, b: OpBuilder, source: Source, values: dict[SSAValue, SSAValue]) -> Value:
        if source.read is None:
            return numbers(b, np.arange(source.first, source.first + size(source.argument)), self.index_type)
        op, table = source.read.op, source.read.table
        operands = [b.reshape(numbers(b, table.reshape(-1), self.index_type), table.shape), *(values.get(start, start) for start in op.operands[1:])]
        return b.reshape(b.one(type(op), operands, tensor(shape(op.results[0]), self.index_type), **op.properties), [size(op.results[0])])


def _nth_read(source: Source) -> ComputedRead:
    assert source.read is not None, "asked of sources that are read"
    return source.read


def has_computed_reads(request: Request) -> bool:
    """Whether a function has ops that it may be cut behind, by a look at the ops alone."""
    return any(_may_be_cut(request, op) for op in request.ops)


def cut(request: Request) -> Cut | None:
    """A function at core level cut behind its computed reads: put beside it in its module. None where it has none, or where the pattern is smaller if nothing
    is cut, as that of a sum of what is read."""
    reads = [read for op in request.ops if _may_be_cut(request, op) and (read := _read_of(request, cast("Read", op))) is not None]
    if not reads:
        return None
    inner, sources, starts = _inner(request, reads)
    pattern = jacobian_pattern(inner)
    made = Cut(request, inner, sources, pattern, int(starts[-1]), _is_canonical(pattern, sources, starts))
    if pattern.nnz > _entries_uncut(pattern, sources):
        made.drop()
        return None
    return made


def behind_reads(request: Request) -> Cut | None:
    """The same wherever something is read at a computed position, whatever that does to the pattern, which is left empty."""
    reads = [read for op in request.ops if _may_be_cut(request, op) and (read := _read_of(request, cast("Read", op))) is not None]
    if not reads:
        return None
    inner, sources, starts = _inner(request, reads)
    return Cut(request, inner, sources, csr_array((1, 1), dtype=np.bool_), int(starts[-1]), is_canonical=False)


# -- what is read


def _may_be_cut(request: Request, op: Operation) -> bool:
    """Whether an op reads what was only moved since it was an argument, at positions that depend on arguments."""
    return (
        isinstance(op, hlo.GatherOp | hlo.DynamicSliceOp)
        and is_differentiable(op.results[0].type)
        and size(op.results[0]) > 0
        and _moves(request, op.operands[0]) is not None
        and any(_depends(start) for start in op.operands[1:])
    )


def _moves(request: Request, value: SSAValue) -> list[Operation] | None:
    """The ops that move elements of arguments to their places in a value, in order; None for a value that anything else is done to."""
    ops, waiting, known = set[Operation](), [value], {request.block.args[i] for i in request.wrt}
    while waiting:
        x = waiting.pop()
        if x in known:
            continue
        op = x.owner
        if not isinstance(op, Operation) or type(op) not in MOVEMENT:
            return None
        known.add(cast("BlockArgument", x))
        ops.add(op)
        waiting += op.operands
    return [op for op in request.ops if op in ops] if ops else []


def _depends(value: SSAValue) -> bool:
    """Whether a value is computed from arguments."""
    known, waiting = {value}, [value]
    while waiting:
        x = waiting.pop()
        if isinstance(x, BlockArgument):
            return True
        for y in inputs_of(cast("Operation", x.owner)):
            if y not in known:
                known.add(y)
                waiting.append(y)
    return False


def _read_of(request: Request, op: Read) -> ComputedRead | None:
    """None where the operand has elements that are none of an argument, such as padding."""
    propagation = Propagation([request.block.args[i] for i in request.wrt])
    for move in _moves(request, op.operands[0]) or []:
        propagation.op(move)
    sets = propagation.of(op.operands[0])
    if not (np.diff(sets.rows.indptr)[sets.numbers] == 1).all():
        return None
    groups, reach, moving = _places(op)
    return ComputedRead(op, _only(sets), groups, reach, moving)


def _only(sets: IndexSets) -> Numbers:
    """The member of each set of one."""
    return sets.rows.indices[sets.rows.indptr[sets.numbers]].astype(np.int64)


def _places(op: Read) -> tuple[Numbers, Numbers, tuple[int, ...]]:
    """The groups and the reach of the elements of the result, and the dimensions that are moved along."""
    extents, result = shape(op.operands[0]), shape(op.results[0])
    if isinstance(op, hlo.DynamicSliceOp):
        moving = [d for d, (extent, part) in enumerate(zip(extents, result, strict=True)) if part < extent]
        first, groups = slice_positions(extents, [0] * len(extents), result), np.zeros(result, np.int64)
    else:
        where = gather_places(op)
        moving = where.moving()
        first = where.positions(np.zeros(shape(op.operands[1]), np.int64), clamped=True)
        index = np.zeros((), np.int64)
        for d in where.batches:
            index = index * result[d] + where.along(d)
        groups = np.broadcast_to(index, result)
    coordinates = list(np.unravel_index(first, extents))
    for d in moving:
        coordinates[d] = np.zeros_like(coordinates[d])
    return groups.reshape(-1), np.ravel_multi_index(coordinates, extents).reshape(-1), tuple(moving)


# -- the function that is cut


def _inner(request: Request, reads: Sequence[ComputedRead]) -> tuple[Request, list[Source], Numbers]:
    """The function of what is read, the sources of its columns in the order of the arguments that they are of, and where the columns of each begin."""
    primal, module = request.function, request.module
    values: dict[SSAValue, SSAValue] = {}
    copied = copy_op(primal, values)
    block = detach_body(copied)
    results = pop_return(block)
    for read in reads:
        argument = add_argument(block, read.op.results[0].type)
        old = values[read.op.results[0]]
        results = [argument if value is old else value for value in results]
        replace_uses(old, argument)
    function = finish_function(block, results, fresh_name(module, f"{primal.sym_name.data}_of_read"), primal)
    module.body.block.insert_op_before(function, primal)
    starts = np.cumsum([0, *(size(request.block.args[i]) for i in request.wrt)])
    arguments = function.body.block.args
    sources = [Source(arguments[i], k, int(starts[k]), None) for k, i in enumerate(request.wrt) if arguments[i].first_use is not None]
    for argument, read in zip(arguments[len(request.block.args) :], reads, strict=True):
        owner = int(np.searchsorted(starts, read.table.flat[0], side="right")) - 1
        sources.append(Source(argument, owner, int(starts[owner]), read))
    sources.sort(key=lambda source: source.owner)
    return Request(function, tuple(source.argument.index for source in sources), request.of), sources, starts


def _of_columns(sources: Sequence[Source], each: Callable[[Source], Any]) -> Numbers:
    """A number for each column."""
    return np.concatenate([np.broadcast_to(np.asarray(each(source), np.int64), (size(source.argument),)) for source in sources])


def _entries_uncut(pattern: Pattern, sources: Sequence[Source]) -> int:
    """About how many elements the pattern has if each element that is read may be any that it may be."""
    choice, weights = _choices(sources)
    reached = pattern.astype(np.int64) @ choice
    return int(weights[reached.indices].sum())


def entries_uncut_twice(cut: Cut, pattern: Pattern) -> int:
    """The same of a symmetric pattern, of which rows are read too."""
    choice, weights = _choices(cut.sources)
    reached = (csr_array(choice.T) @ pattern.astype(np.int64) @ choice).tocoo()
    return int((weights[reached.row] * weights[reached.col]).sum())


def _choices(sources: Sequence[Source]) -> tuple[Any, Numbers]:
    """A matrix of which element may be what, where elements that may be the same ones are one kind, and how many elements each kind may be."""
    kinds: dict[tuple[bytes, int], int] = {}
    weights: list[int] = []
    columns: list[Numbers] = []
    for source in sources:
        first = len(weights)
        if source.read is None:
            columns.append(np.arange(first, first + size(source.argument)))
            weights += [1] * size(source.argument)
            continue
        distinct, inverse = np.unique(source.read.reach, return_inverse=True)
        table = source.read.table.tobytes()
        here = [kinds.setdefault((table, int(place)), first + n) for n, place in enumerate(distinct)]
        weights += [source.read.choices] * len(distinct)
        columns.append(np.asarray(here)[inverse])
    kind_of = np.concatenate(columns)
    choice = csr_array((np.ones(len(kind_of), np.int64), kind_of, np.arange(len(kind_of) + 1)), shape=(len(kind_of), len(weights)))
    return choice, np.asarray(weights)


def _is_canonical(pattern: Pattern, sources: Sequence[Source], starts: Numbers) -> bool:
    """Whether all elements of a row that are of one argument are read by one index, or not by computed positions, and are in the argument's order."""
    for source in sources:
        if source.read is not None:
            table = source.read.table.reshape(-1)
            if (np.diff(table) <= 0).any() or table[-1] >= starts[source.owner + 1]:
                return False
    owners = _of_columns(sources, lambda source: source.owner)
    keys = _of_columns(sources, lambda source: -1 if source.read is None else source.read.groups)
    number = _of_columns(sources, lambda source: source.argument.index if source.read is not None else -1)
    starts_of_rows, columns = cast(Numbers, pattern.indptr), cast(Numbers, pattern.indices)
    rows = np.repeat(np.arange(len(starts_of_rows) - 1), np.diff(starts_of_rows))
    together = (rows[1:] == rows[:-1]) & (owners[columns[1:]] == owners[columns[:-1]])
    same = (keys[columns[1:]] == keys[columns[:-1]]) & (number[columns[1:]] == number[columns[:-1]])
    return bool(same[together].all())
