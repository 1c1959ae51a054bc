"""Index sets through a function: op by op, through loops until nothing is added, through every branch that may be taken.

A loop whose number of iterations is known, and is not large, is followed iteration by iteration: then positions that depend on the iteration are known too. Any
other is a fixed point: what its values depend on after any number of iterations. That grows by at least one element in each round; a loop that has not settled
after a few has all elements of what still grows depend on all that they depend on together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import is_
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape_of_type
from wengert.transforms.ad.direct.activity import inputs_of
from wengert.transforms.ad.direct.adjoint import is_inactive
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.rule import INACTIVE
from wengert.transforms.analysis.sparsity.index_sets import IndexSets, TooManyEntriesError, nothing, own
from wengert.transforms.analysis.sparsity.known import Array, Evaluator, from_constants
from wengert.transforms.analysis.sparsity.rules import everything, rule_of

MOST_STEPS = 20_000
"""Ops of loops that are followed iteration by iteration, in all."""
ROUNDS = 16
"""A fixed point that is not reached after so many is widened."""

Known = dict[SSAValue, Array]
_TAPES = (core.TapePushOp, core.TapeSetOp, core.TapeAddOp, core.TapeExtendOp, core.TapeSetFromOp, core.TapeAddFromOp)


class Propagation:
    """The index sets of the values of a function.

    Args:
        arguments: the arguments whose elements are the columns, one argument after the other.
        evaluate: what is known of an op's results.
        known: what is known of values before.
    """

    def __init__(self, arguments: Sequence[SSAValue], evaluate: Evaluator = from_constants, known: Known | None = None):
        extents = [_extents(x.type) for x in arguments]
        self.columns = sum(map(prod, extents))
        self.evaluate = evaluate
        self.known: Known = dict(known or {})
        self.sets: dict[SSAValue, IndexSets] = {}
        self.steps = 0
        self._passed: dict[Operation, tuple[Sequence[IndexSets], Sequence[Array | None], Sequence[IndexSets]]] = {}
        """What an op was last given, sets and what was known, and what it passed on: in most iterations of a loop the same."""
        self._nothing: dict[tuple[int, ...], IndexSets] = {}
        first = 0
        for x, shape in zip(arguments, extents, strict=True):
            self.sets[x] = own(shape, first, self.columns)
            first += prod(shape)

    def of(self, value: SSAValue) -> IndexSets:
        """The sets of a value that was reached."""
        known = self.sets.get(value)
        if known is not None:
            return known
        extents = _extents(value.type)
        if extents not in self._nothing:
            self._nothing[extents] = nothing(extents, self.columns)
        return self._nothing[extents]

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Follows the ops of a block; what it returns."""
        for op in block.ops:
            if op is not block.last_op:
                self.op(op)
        return terminator_operands(block)

    def op(self, op: Operation) -> None:
        """Follows an op."""
        if isinstance(op, core.ForOp):
            return self._for(op)
        if isinstance(op, core.WhileOp):
            return self._while(op)
        if isinstance(op, core.CaseOp):
            return self._case(op)
        self._evaluate(op)
        for result in op.results:
            self.sets.pop(result, None)
        if isinstance(op, _TAPES):
            return self._tape(op)
        if isinstance(op, core.TapeReadOp | core.TapeGetOp | core.TapeFromOp):
            return self._bind(op.results[0], self.of(op.operands[0]), None)
        if type(op) in INACTIVE or is_inactive(op) or not any(operand in self.sets for operand in inputs_of(op)):
            return None
        for result, sets in zip(op.results, self._passed_on(op), strict=True):
            self._bind(result, sets, self.known.get(result))
        return None

    def _passed_on(self, op: Operation) -> Sequence[IndexSets]:
        operands, known = [self.of(operand) for operand in op.operands], [self.known.get(operand) for operand in op.operands]
        if op.regions:
            return everything(op, [*operands, *(self.of(value) for value in inputs_of(op))], ())
        last = self._passed.get(op)
        if last is not None and all(map(is_, last[0], operands)) and all(map(_is_same, last[1], known)):
            return last[2]
        try:
            results = rule_of(op)(op, operands, known)
        except TooManyEntriesError:
            results = everything(op, operands, ())
        self._passed[op] = operands, known, results
        return results

    def _evaluate(self, op: Operation) -> None:
        for result in op.results:
            self.known.pop(result, None)
        if all(operand in self.known for operand in op.operands) and all(isinstance(result.type, TensorType) for result in op.results):
            results = self.evaluate(op, [self.known[operand] for operand in op.operands])
            if results is not None:
                self.known.update(zip(op.results, results, strict=True))

    def _bind(self, value: SSAValue, sets: IndexSets, known: Array | None) -> None:
        self.sets.pop(value, None)
        self.known.pop(value, None)
        if known is not None:
            self.known[value] = known
        if has_tangent(value.type) and not sets.is_empty:
            self.sets[value] = sets

    def _bind_all(self, values: Sequence[SSAValue], given: Sequence[SSAValue]) -> None:
        for value, (sets, known) in zip(values, [(self.of(x), self.known.get(x)) for x in given], strict=True):
            self._bind(value, sets, known)

    def _tape(self, op: Operation) -> None:
        """The entries of a tape are seen together: each may be any."""
        tape, value = op.operands[0], op.operands[-1]
        self._bind(op.results[0], self.of(tape).united(self.of(value)), None)

    # -- loops and branches

    def _for(self, op: core.ForOp) -> None:
        constants, carried = op.block.args[1 : 1 + int_of(op.constants)], op.block.args[1 + int_of(op.constants) :]
        self._bind_all([*constants, *carried], op.inputs)
        count = self.known.get(op.trip_count)
        if count is not None and self._affordable(op.block, int(count)):
            is_counted = op.block.args[0].first_use is not None
            for i in range(int(count)):
                self.known[op.block.args[0]] = np.asarray(i, np.int64)
                before = [(self.of(value), self.known.get(value)) for value in carried]
                self._advance(carried, self.block(op.block))
                if not is_counted and all(self.of(v) is sets and _is_same(self.known.get(v), known) for v, (sets, known) in zip(carried, before, strict=True)):
                    break  # whatever an iteration is given, all others are given too
        else:
            self.known.pop(op.block.args[0], None)
            self._settle(op.block, carried)
        self._bind_all(op.results, carried)

    def _while(self, op: core.WhileOp) -> None:
        fixed = int_of(op.constants)
        carried = op.block.args[fixed:]
        self._bind_all(op.block.args, op.inputs)
        condition = op.condition.block
        while True:
            self._bind_all(condition.args, op.block.args)
            again = self.known.get(self.block(condition)[0])
            if again is None or not self._affordable(op.block, 1):
                self._settle(op.block, carried)
                break
            if not again:
                break
            self._advance(carried, self.block(op.block))
        self._bind_all(op.results, carried)

    def _advance(self, carried: Sequence[SSAValue], returned: Sequence[SSAValue]) -> None:
        """Binds what a loop carries to what an iteration returned. Sets that are the same as before stay the same objects, by which the ops of the next
        iteration see that they were given them already: most loops soon depend on no more."""
        before = [self.of(value) for value in carried]
        self._bind_all(carried, returned)
        for value, old in zip(carried, before, strict=True):
            if value in self.sets and self.sets[value].equals(old):
                self.sets[value] = old

    def _affordable(self, block: Block, iterations: int) -> bool:
        steps = sum(1 for _ in block.walk()) * max(iterations, 0)
        if self.steps + steps > MOST_STEPS:
            return False
        self.steps += steps
        return True

    def _settle(self, block: Block, carried: Sequence[SSAValue]) -> None:
        """The fixed point of a loop's body, of any number of iterations, also none."""
        for value in carried:
            self.known.pop(value, None)
        rounds = 0
        while True:
            before = [self.of(value) for value in carried]
            returned = [self.of(value) for value in self.block(block)]
            grown = False
            for value, old, new in zip(carried, before, returned, strict=True):
                both = old.united(new)
                if has_tangent(value.type) and both.count() > old.count():
                    grown = True
                    self._bind(value, both if rounds < ROUNDS else both.everywhere(both.shape), None)
                else:
                    self._bind(value, old, None)
            rounds += 1
            if not grown:
                return

    def _case(self, op: core.CaseOp) -> None:
        index, last = self.known.get(op.index), len(op.branches) - 1
        taken = range(last + 1) if index is None else [int(index) if 0 <= index <= last else last]
        results: list[list[tuple[IndexSets, Any]]] = []
        for number in taken:
            block = op.branches[number].block
            self._bind_all(block.args, op.inputs)
            results.append([(self.of(value), self.known.get(value)) for value in self.block(block)])
        for position, result in enumerate(op.results):
            sets, known = results[0][position]
            for other, _ in (branch[position] for branch in results[1:]):
                sets = sets.united(other)
            self._bind(result, sets, known if len(results) == 1 else None)


def _is_same(one: Array | None, other: Array | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _extents(type: Attribute) -> tuple[int, ...]:
    """The extents of a tensor, or of the entries of a tape."""
    while isinstance(type, core.TapeType):
        type = type.entry_type
    return tuple(shape_of_type(cast("TensorType[Any]", type))) if isinstance(type, TensorType) else ()
