"""``distribute-products``: loop distribution for products that no iteration waits for.

A recurrent layer multiplies a few rows by a matrix in every step of a loop, and its reverse sweep adds a product of a few rows to a gradient that is as large
as the matrix. So every iteration goes through a matrix for a handful of multiplications with each of its elements. What does not take part in the recurrence
is one large product in front of the loop or behind it:

1. ``x_t W`` of a row ``x_t`` of a stack is a row of ``X W``, in front of the loop.
2. A stack of rows ``y_t W`` is ``Y W``, behind the loop, where ``Y`` is the stack of the ``y_t``.
3. A sum that grows by ``x_t^T y_t`` is ``X^T Y``, contracted over time too, behind the loop. Terms are added up in another order, so ``strict`` programs do
   without.

The third, before and after::

    core.for %i to %c5 constants(%xs = ...) carried(%g = %zero) {      %ys = core.for %i to %c5 constants(...) carried(%s = %zeros) {
      %x = row i of %xs : tensor<3x8xf32>                                ...
      ...                                                                %new = %s with row i replaced by %y
      %p = stablehlo.dot_general %x, %y, [0] x [0] : tensor<8x32xf32>    stablehlo.return %new
      %new = stablehlo.add %g, %p                                      }
      stablehlo.return %new                                            %g = stablehlo.dot_general %xs, %ys, [0, 1] x [0, 1]
    }

A product moves if the matrix that the loop goes through is larger than what is stored and read in its place, and if there is enough to compute.
The technique is known from libraries for recurrent networks (Appleyard, Kocisky and Blunsom, 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import erase, insert_before, replace_uses
from wengert.ir.location.locations import rewritten
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, rank, shape, size, tensor
from wengert.ir.traversal import ops_in, ops_of
from wengert.transforms.fuse.distribution.rows import CountedLoop, Row, row_of, with_row
from wengert.transforms.optimize.dce import dce
from wengert.transforms.optimize.matching import is_inexact, is_zero, made_by, splat, used_once
from wengert.transforms.rewriter import Rewriter

LEAST = 1 << 12
"""Multiplications in all iterations together for which a product is moved."""
SMALLEST = 256
"""Elements of the matrix that a product goes through for which it is moved: smaller ones stay in registers for all iterations."""


@dataclass(frozen=True)
class DistributeProductsPass(ModulePass):
    """Moves products that take no part in a recurrence out of counted loops, where they are one large product."""

    name = "distribute-products"

    least: int = LEAST
    """Multiplications in all iterations together for which a product is moved."""
    smallest: int = SMALLEST
    """Elements of the matrix, an operand or the result, for which a product is moved."""
    reassociate: bool = False
    """Sums over iterations too, whose terms are then added up in another order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = [_Distribution(loop, self).run() for loop in reversed(_loops(op))]
        if any(changed):
            dce(op)

    def changes(self, module: ModuleOp) -> bool:
        return any(isinstance(op, hlo.DotGeneralOp) for loop in _loops(module) for op in ops_in(loop.block))


def _loops(module: Operation) -> list[CountedLoop]:
    """The loops of a known number of iterations, outer ones before those inside of them."""
    counted = [(op, splat(op.trip_count)) for op in ops_of(module, core.ForOp)]
    return [CountedLoop(op, int(trips)) for op, trips in counted if trips is not None and trips > 1]


@dataclass(frozen=True)
class _Stack:
    """The values of all iterations: what a constant of the loop is in front of it, or the loop's result at a position."""

    outside: SSAValue | None
    position: int = -1

    def behind(self, loop: core.ForOp) -> SSAValue:
        return loop.results[self.position] if self.outside is None else self.outside


@dataclass(frozen=True)
class _Product:
    """A product behind the loop: its op in the loop, and the stacks of its operands."""

    op: hlo.DotGeneralOp
    lhs: _Stack
    rhs: _Stack


class _Distribution:
    """The products of one loop."""

    def __init__(self, loop: CountedLoop, options: DistributeProductsPass):
        self.loop, self.options, self.changed = loop, options, False
        self.front = Rewriter.before(loop.op, options.name)
        self.stacks: dict[tuple[SSAValue, bool], _Stack] = {}
        """The stacks that the loop writes, by value and whether it goes through them in reverse."""
        self.behind: dict[int, Callable[[OpBuilder, core.ForOp], Value]] = {}
        """What stands for results of the loop, by position."""

    def run(self) -> bool:
        """Whether anything moved."""
        for op in [op for op in ops_in(self.loop.block) if isinstance(op, hlo.DotGeneralOp)]:
            self._move_to_front(op)
        positions = range(len(self.loop.carried))
        for position in positions:
            if (written := self.loop.written(position)) is not None and not written.added:
                self.stacks.setdefault((written.value, written.row.reverse), _Stack(None, position))
        for position in positions:
            self._move_rows_behind(position)
            if self.options.reassociate:
                self._move_sum_behind(position)
        if self.behind:
            self._rebuild()
        return self.changed or bool(self.behind)

    # -- what moves

    def _is_large(self, op: hlo.DotGeneralOp) -> bool:
        """Whether there is enough to compute in all iterations, with a matrix that registers do not hold."""
        if op.algorithm is not None or max(size(op.lhs), size(op.rhs), size(op.result)) < self.options.smallest:
            return False
        summed = prod(shape(op.lhs)[d] for d in op.dot_dimension_numbers.dims("lhs_contracting_dimensions"))
        return self.loop.trips * size(op.result) * summed >= self.options.least

    def _matrix(self, op: hlo.DotGeneralOp) -> tuple[SSAValue, SSAValue, bool] | None:
        """What is multiplied by a constant that is larger than operand and result, the constant, and whether it is on the right."""
        if op.dot_dimension_numbers.dims("lhs_batching_dimensions") or not self._is_large(op):
            return None
        for rows, matrix, right in ((op.lhs, op.rhs, True), (op.rhs, op.lhs, False)):
            if self.loop.is_constant(matrix) and not self.loop.is_constant(rows) and size(rows) + size(op.result) < size(matrix):
                return rows, matrix, right
        return None

    def _move_to_front(self, op: hlo.DotGeneralOp) -> None:
        """A product of a row of a stack and a constant becomes a row of their product."""
        operands = self._matrix(op)
        read = None if operands is None else self.loop.read(operands[0])
        if operands is None or read is None or not may_rewrite(self.options.name, op):
            return
        _, matrix, right = operands
        self.front.location = rewritten(op.location, op.name, self.options.name)
        product = _rows_times(self.front, self.loop.outside(read[0]), self.loop.outside(matrix), op, right=right)
        inside = Rewriter.before(op, self.options.name)
        inside.replace(op, [row_of(inside, self.loop.add_constant(product), read[1])])
        self.changed = True

    def _move_rows_behind(self, position: int) -> None:
        """A stack of products by a constant becomes the product of a stack."""
        written = self.loop.written(position)
        op = None if written is None else made_by(written.value, hlo.DotGeneralOp)
        operands = None if op is None or not used_once(op.result) else self._matrix(op)
        if written is None or op is None or operands is None or (written.added and not self.options.reassociate) or not may_rewrite(self.options.name, op):
            return
        stack, matrix, right = self._stacked(operands[0], written.row), self.loop.outside(operands[1]), operands[2]
        initial = self.loop.op.initial[position]

        def rows(b: OpBuilder, loop: core.ForOp) -> Value:
            product = _rows_times(b, stack.behind(loop), matrix, op, right=right)
            return b.add(initial, product) if written.added and not is_zero(initial) else product

        self.behind[position] = rows
        self.loop.give_back(position, self.loop.carried[position])

    def _move_sum_behind(self, position: int) -> None:
        """A sum of products becomes a product contracted over the iterations too."""
        argument, value = self.loop.carried[position], self.loop.end.operands[position]
        terms = _terms(value)
        if argument not in terms or not argument.has_one_use() or not is_inexact(value):
            return
        moved = [op for term in terms if (op := made_by(term, hlo.DotGeneralOp)) is not None and used_once(term) and self._is_worth(op)]
        if not moved:
            return
        products = [_Product(op, self._stacked(op.lhs, row), self._stacked(op.rhs, row)) for op in moved for row in (self._row(op),)]
        inside = Rewriter.before(self.loop.end, self.options.name)
        staying = [term for term in terms if term is not argument and term.owner not in moved]
        self.loop.give_back(position, reduce(inside.add, staying, cast(SSAValue, argument)))
        initial = self.loop.op.initial[position]

        def total(b: OpBuilder, loop: core.ForOp) -> Value:
            base = loop.results[position] if staying else initial
            parts = [_over_iterations(b, product.lhs.behind(loop), product.rhs.behind(loop), product.op) for product in products]
            return reduce(b.add, parts if is_zero(base) else [base, *parts])

        self.behind[position] = total

    def _is_worth(self, op: hlo.DotGeneralOp) -> bool:
        """Whether a product that is added up goes: its result is larger than what is stored of its operands."""
        operands = (op.lhs, op.rhs)
        if any(self.loop.is_constant(operand) for operand in operands) or not self._is_large(op):
            return False
        row = self._row(op)
        stored = sum(size(operand) for operand in operands if not self._is_stacked(operand, row))
        return 2 * stored < size(op.result) and may_rewrite(self.options.name, op)

    def _row(self, op: hlo.DotGeneralOp) -> Row:
        """The order in which the stacks of a product's operands are gone through: that of the larger one which there is."""
        for operand in sorted((op.lhs, op.rhs), key=size, reverse=True):
            if (read := self.loop.read(operand)) is not None:
                return read[1]
        return Row(False, self.loop.iteration)

    # -- stacks and the loop

    def _is_stacked(self, value: SSAValue, row: Row) -> bool:
        read = self.loop.read(value)
        return (read is not None and read[1].same(row)) or (value, row.reverse) in self.stacks

    def _stacked(self, value: SSAValue, row: Row) -> _Stack:
        """The stack of a value of the body, which the loop reads, or writes already, or writes from now on."""
        read = self.loop.read(value)
        if read is not None and read[1].same(row):
            return _Stack(self.loop.outside(read[0]))
        if (value, row.reverse) not in self.stacks:
            argument = self.loop.add_carried(self.front.zeros(tensor((self.loop.trips, *shape(value)), element(value))))
            self.stacks[value, row.reverse] = _Stack(None, len(self.loop.carried) - 1)
            inside = Rewriter.before(self.loop.end, self.options.name)
            self.loop.give_back(len(self.loop.carried) - 1, with_row(inside, argument, row, value))
        return self.stacks[value, row.reverse]

    def _rebuild(self) -> None:
        """Puts a loop with the results of the carried values that were added in the place of the old one, and what is computed behind it."""
        old = self.loop.op
        types = [argument.type for argument in self.loop.carried]
        new = core.ForOp.create(
            operands=list(old.operands),
            result_types=types,
            properties=old.properties,
            attributes=old.attributes,
            regions=[old.detach_region(old.body)],
            location=old.location,
        )
        insert_before(old, new)
        b = Rewriter.before(old, self.options.name)
        for position, result in enumerate(old.results):
            new.results[position].name_hint = result.name_hint
            make = self.behind.get(position)
            replace_uses(result, new.results[position] if make is None else make(b, new))
        erase(old)


def _terms(value: SSAValue) -> list[SSAValue]:
    """The values that are added up to one, in additions whose results nothing else uses."""
    total = made_by(value, hlo.AddOp)
    return [value] if total is None or not used_once(value) else [*_terms(total.lhs), *_terms(total.rhs)]


def _rows_times(b: OpBuilder, stack: Value, matrix: Value, op: hlo.DotGeneralOp, *, right: bool) -> Value:
    """The stack of the products that an op without batch dimensions makes of rows and a matrix, which is on the right or on the left."""
    dims = op.dot_dimension_numbers.dims
    sides = ("lhs_contracting_dimensions", "rhs_contracting_dimensions")
    of_rows, of_matrix = (dims(side) for side in (sides if right else sides[::-1]))
    contracting = [d + 1 for d in of_rows], of_matrix
    product = b.dot_general(stack, matrix, contracting, result_element=element(op.result), precision_config=op.precision_config)
    if right:
        return product
    free = rank(stack) - len(of_rows)
    return b.transpose(product, [0, *range(free, rank(product)), *range(1, free)])


def _over_iterations(b: OpBuilder, lhs: Value, rhs: Value, op: hlo.DotGeneralOp) -> Value:
    """The sum over the first dimension of both stacks of the products that an op makes of their rows."""

    def shifted(kind: str) -> tuple[list[int], list[int]]:
        left, right = (op.dot_dimension_numbers.dims(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
        return [d + 1 for d in left], [d + 1 for d in right]

    left, right = shifted("contracting")
    return b.dot_general(lhs, rhs, ([0, *left], [0, *right]), shifted("batching"), element(op.result), op.precision_config)
