"""``core.lu_solve``: systems of equations by LU factors, which programs write as rows in another order and two triangular systems.

What is recognised follows a ``core.lu`` in its block: the signs of what it returns (``info`` is never negative here, nor is a
position in a permutation), loops that make a permutation of its pivots, and pairs of triangular systems with its factors. The
op keeps the matrix beside the factors, so that the derivative is that of the system (:mod:`wengert.transforms.ad.rules.systems`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, Transpose, TransposeAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr, int_of, ints
from wengert.ir.construction import erase
from wengert.ir.location.locations import rewritten
from wengert.ir.pipeline import changes
from wengert.ir.tensor_types import DYNAMIC, element, i32, is_complex, rank, shape, tensor, type_of
from wengert.ir.traversal import ops_of
from wengert.transforms.core.kinds import constant_scalar
from wengert.transforms.core.recognisers.arrangements import arrangement, even, is_in_place, source_of
from wengert.transforms.core.recognisers.permutations import permutation_loops
from wengert.transforms.core.recognisers.scatters import expand_scatter
from wengert.transforms.rewriter import Rewriter


@dataclass(frozen=True)
class DropMatricesPass(ModulePass):
    """Systems forget the matrix that they hold beside its factors, so that a loop need not keep it; for programs that are only to be run.

    Before and after::

        %x = "core.lu_solve"(%a, %lu, %p, %b)                         %x = "core.lu_solve"(%lu, %lu, %p, %b)
    """

    name = "drop-matrices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for solve in ops_of(op, core.CholeskySolveOp, core.LuSolveOp, core.LuDiagonalOp):
            solve.operands[0] = solve.operands[1]


_VIEWS = (hlo.BroadcastInDimOp, hlo.ReshapeOp)


def recognise_systems(module: ModuleOp) -> None:
    """Replaces what follows LU factorisations and stands for an op of core, in place."""
    for op in ops_of(module, core.LuOp):
        if DYNAMIC not in shape(op.a):
            _Factors(op).recognise()


class _Factors:
    """One factorisation, and its permutation once that is made."""

    def __init__(self, op: core.LuOp):
        self.op = op
        self._permutation: SSAValue | None = None

    def recognise(self) -> None:
        _decide_signs(self.op.info)
        for loop in permutation_loops(self.op.pivots):
            Rewriter("to-core").replace(loop, [self.permutation])
        if self._permutation is not None:
            _decide_signs(self._permutation)
        if shape(self.op.a)[-2] == shape(self.op.a)[-1]:
            for use in list(self.op.lu.uses):
                if isinstance(use.operation, hlo.TriangularSolveOp) and use.index == 0 and DYNAMIC not in shape(use.operation.b):
                    self._recognise_solve(use.operation)

    @property
    def permutation(self) -> SSAValue:
        """The permutation of the rows, computed right behind the factors."""
        if self._permutation is None:
            rewriter = _behind(self.op)
            extents = [*shape(self.op.pivots)[:-1], shape(self.op.a)[-2]]
            self._permutation = rewriter.one(core.PivotsToPermutationOp, (self.op.pivots,), tensor(extents, i32))
        return self._permutation

    def _recognise_solve(self, second: hlo.TriangularSolveOp) -> None:
        """The second system of a pair: with u, or with the transpose of l."""
        solved, moves = source_of(second.b)
        first = solved.owner
        if not isinstance(first, hlo.TriangularSolveOp) or first.a is not self.op.lu or not is_in_place(shape(solved), moves):
            return
        how, flags = second.transpose_a.data, (_flags(first), _flags(second))
        if first.transpose_a.data is not how:
            return
        if how is not Transpose.NO_TRANSPOSE:
            if flags == (_HIGH, _LOW):
                self._replace(second, first.b, how)
        elif flags == (_LOW, _HIGH) and (b := _before_rows_were_taken(first.b, self.permutation)) is not None:
            self._replace(second, b, how)

    def _replace(self, op: hlo.TriangularSolveOp, b: SSAValue, how: Transpose) -> None:
        rewriter = Rewriter("to-core")
        rewriter.move_to(op)
        factors, turned = (self.op.a, self.op.lu, self.permutation), how is not Transpose.NO_TRANSPOSE
        conjugated = how is Transpose.ADJOINT and is_complex(element(b))
        b = rewriter.conj(b) if conjugated else b
        x = rewriter.one(core.LuSolveOp, (*factors, b), b.type, transpose=bool_attr(turned))
        x = rewriter.conj(x) if conjugated else x
        # The program itself puts the rows of p x in order.
        rewriter.replace(op, [take_rows(rewriter, x, self.permutation) if turned else x])


def _behind(op: Operation) -> Rewriter:
    """A rewriter that builds behind an op. A new one each time: it shares what it made, which must stand before."""
    assert op.next_op is not None
    rewriter = Rewriter("to-core")
    rewriter.move_to(op.next_op)
    rewriter.location = rewritten(op.location, op.name, "to-core")
    return rewriter


_LOW, _HIGH = (True, True, True), (True, False, False)
"""From the left, with the lower triangle, with ones on the diagonal."""


def _flags(op: hlo.TriangularSolveOp) -> tuple[bool, bool, bool]:
    return bool(int_of(op.left_side)), bool(int_of(op.lower)), bool(int_of(op.unit_diagonal))


# -- signs that are known


def _decide_signs(value: SSAValue) -> None:
    """Decides the selections that ask whether a value that is never negative is."""
    for use in list(value.uses):
        op = use.operation
        if isinstance(op, _VIEWS):
            _decide_signs(op.result)
        elif isinstance(op, hlo.CompareOp) and use.index == 0 and constant_scalar(op.rhs) == 0:
            truth = {"GE": True, "LT": False}.get(str(op.comparison_direction.data))
            if truth is not None:
                _decide(op.result, truth)


def _decide(predicate: SSAValue, truth: bool) -> None:
    for use in list(predicate.uses):
        op = use.operation
        if isinstance(op, _VIEWS):
            _decide(op.result, truth)
        elif isinstance(op, hlo.SelectOp) and use.index == 0:
            if changes.RECORDER is not None:
                changes.RECORDER.removed(op, "its condition is known: pivots and permutations are never negative")
            op.result.replace_all_uses_with(op.on_true if truth else op.on_false)
            erase(op)


# -- rows in another order


def _before_rows_were_taken(value: SSAValue, order: SSAValue) -> SSAValue | None:
    """The matrices whose rows in this order are ``value``: a gather along one dimension, the result of which may be transposed and
    reshaped. The same is done to the gather's operand, in front of the op that made the value. None for anything else."""
    taken, moves = source_of(value)
    gather = taken.owner
    if not isinstance(gather, hlo.GatherOp) or not _follows(gather.start_indices, order):
        return None
    dims, rows = _taken_dims(gather, rank(order) - 1), arrangement(shape(taken), moves)
    if dims is None or rows is None or rows[:-1] != [even(shape(taken))[d] for d in dims]:
        return None
    made = value.owner
    assert isinstance(made, Operation)
    rewriter = _behind(made)
    before: SSAValue = gather.operand
    for op in moves:
        before = rewriter.transpose(before, ints(op.permutation)) if isinstance(op, hlo.TransposeOp) else rewriter.reshape(before, shape(op.result))
    return before


def _follows(indices: SSAValue, order: SSAValue) -> bool:
    """Whether indices are the order, as index vectors of one element."""
    if shape(indices) != (*shape(order), 1):
        return False
    while isinstance(indices.owner, _VIEWS):
        op = indices.owner
        if isinstance(op, hlo.BroadcastInDimOp) and (shape(op.operand) != shape(order) or ints(op.broadcast_dimensions) != tuple(range(rank(order)))):
            return False
        indices = op.operand
    return indices is order


def _taken_dims(op: hlo.GatherOp, lead: int) -> list[int] | None:
    """The batch dimensions and the dimension along which a gather takes single elements, if it leaves all dimensions in place."""
    numbers, extents = op.dimension_numbers, shape(op.operand)
    batch = numbers.dims("operand_batching_dims")
    if shape(op.result) != extents or int_of(numbers.index_vector_dim) != lead + 1 or tuple(numbers.dims("start_indices_batching_dims")) != tuple(range(lead)):
        return None
    taken = numbers.dims("start_index_map")
    if len(batch) != lead or len(taken) != 1 or tuple(numbers.dims("collapsed_slice_dims")) != tuple(taken):
        return None
    dims = [*batch, *taken]
    kept = [d for d in range(len(extents)) if d not in numbers.dims("offset_dims")]
    whole = [1 if d in dims else n for d, n in enumerate(extents)]
    return dims if kept == dims and list(ints(op.slice_sizes)) == whole else None


def take_rows(b: OpBuilder, x: SSAValue, order: SSAValue) -> SSAValue:
    """Batched matrices with their rows in another order."""
    lead, last = dimensions(range(rank(x) - 2)), rank(x) - 1
    line = dimensions((last - 1,))
    numbers = GatherDimensionNumbersAttr(dimensions((last,)), line, lead, lead, line, int_attr(last))
    return b.gather(x, b.reshape(order, [*shape(order), 1]), numbers, [*[1] * last, shape(x)[-1]], shape(x))


def put_rows(b: OpBuilder, x: SSAValue, order: SSAValue) -> SSAValue:
    """The reverse: row i of x at row order[i]."""
    lead, last = dimensions(range(rank(x) - 2)), rank(x) - 1
    line = dimensions((last - 1,))
    numbers = ScatterDimensionNumbersAttr(dimensions((last,)), line, lead, lead, line, int_attr(last))
    return b.scatter(Kind.set, b.zeros(type_of(x)), b.reshape(order, [*shape(order), 1]), x, numbers, unique=True)


# -- back to StableHLO


def expand_cholesky_solve(b: OpBuilder, op: core.CholeskySolveOp) -> list[SSAValue]:
    """Two triangular systems."""
    lower, turned = bool(int_of(op.lower)), Transpose.ADJOINT if is_complex(element(op.b)) else Transpose.TRANSPOSE
    x: SSAValue = op.b
    for how in (Transpose.NO_TRANSPOSE, turned) if lower else (turned, Transpose.NO_TRANSPOSE):
        x = _triangular(b, op.factor, x, (True, lower, False), how)
    return [x]


def expand_lu_solve(b: OpBuilder, op: core.LuSolveOp) -> list[SSAValue]:
    """Rows in the order of the permutation, and two triangular systems."""
    if not int_of(op.transpose):
        x = _triangular(b, op.lu, take_rows(b, op.b, op.permutation), _LOW, Transpose.NO_TRANSPOSE)
        return [_triangular(b, op.lu, x, _HIGH, Transpose.NO_TRANSPOSE)]
    x = _triangular(b, op.lu, _triangular(b, op.lu, op.b, _HIGH, Transpose.TRANSPOSE), _LOW, Transpose.TRANSPOSE)
    scattered = put_rows(b, x, op.permutation).owner
    assert isinstance(scattered, core.ScatterOp)
    results = expand_scatter(b, scattered)
    erase(scattered)
    return results


def _triangular(b: OpBuilder, a: SSAValue, x: SSAValue, flags: tuple[bool, bool, bool], how: Transpose) -> SSAValue:
    left, lower, unit = (bool_attr(flag) for flag in flags)
    return b.one(hlo.TriangularSolveOp, (a, x), x.type, left_side=left, lower=lower, unit_diagonal=unit, transpose_a=TransposeAttr(how))


def expand_lu_diagonal(b: OpBuilder, op: core.LuDiagonalOp) -> list[SSAValue]:
    """A gather at positions (i, i)."""
    lead, n = rank(op.a) - 2, shape(op.a)[-1]
    places = b.reshape(b.iota(0, tensor([n], i32)), [n, 1])
    both, none = dimensions((lead, lead + 1)), dimensions(())
    numbers = GatherDimensionNumbersAttr(dimensions(range(lead)), both, none, none, both, int_attr(1))
    return [b.gather(op.lu, b.concatenate([places, places], 1), numbers, [*shape(op.a)[:-2], 1, 1], shape(op.diagonal))]
