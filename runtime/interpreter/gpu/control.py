"""Branches, loops and calls of kernels: which lanes run what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, complex, func, scf
from xdsl.ir import Operation

from wengert.dialects.gpu.scalars import Meaning, meaning_of_name, signature_of
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.gpu import scalars
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError, Mask
from wengert.runtime.interpreter.gpu.code import Body, Code, Step, merge, move, steps_of


@steps_of(arith.ConstantOp, complex.ConstantOp)
def constant(op: Operation, code: Code) -> Step:
    """A value that is the same in all lanes."""
    value, slot = scalars.constant(op), code.slot(op.results[0])

    def step(batch: Batch, mask: Mask) -> None:
        batch.values[slot] = value

    return step


@steps_of(scf.IfOp)
def if_(op: scf.IfOp, code: Code) -> Step:
    """Both branches, each in the lanes that take it; one alone if no lane takes the other."""
    condition, results = code.slot(op.cond), code.slots(op.results)
    then = code.region(op.true_region)
    otherwise = code.region(op.false_region) if op.false_region.blocks else None

    def step(batch: Batch, mask: Mask) -> None:
        batch.expect_defined(op, "a condition", condition, mask)
        holds: Array = batch.values[condition]
        if holds.shape == (1,):
            _only(batch, mask, then if holds[0] else otherwise, results)
            return
        taken = holds if mask is None else holds & mask
        left = ~holds if mask is None else ~holds & mask
        if not left.any():
            _only(batch, mask, then, results)
        elif not taken.any():
            _only(batch, mask, otherwise, results)
        else:
            then.run(batch, taken)
            if otherwise is not None:
                otherwise.run(batch, left)
                move(batch, otherwise.returned, results)
                merge(batch, taken, then.returned, results)

    return step


def _only(batch: Batch, mask: Mask, branch: Body | None, results: Sequence[int]) -> None:
    if branch is not None:
        branch.run(batch, mask)
        move(batch, branch.returned, results)


@steps_of(scf.ForOp)
def for_(op: scf.ForOp, code: Code) -> Step:
    """The body as long as a lane's index is below its bound. Where bounds are the same in all lanes, so is the index."""
    bounds, results = code.slots((op.lb, op.ub, op.step)), code.slots(op.results)
    initial, body = code.slots(op.iter_args), code.region(op.body)
    index, *carried = body.arguments

    def step(batch: Batch, mask: Mask) -> None:
        for slot in bounds:
            batch.expect_defined(op, "a bound", slot, mask)
        low, high, by = (batch.values[slot] for slot in bounds)
        lanes = batch.active(mask)
        if not lanes.size:
            return
        if (batch.spread(by)[lanes] <= 0).any():
            raise KernelFaultError(op, f"has a step that is not positive in {batch.lane_name(lanes[0])}")
        move(batch, initial, carried)
        if low.shape == high.shape == by.shape == (1,):
            for number in range(int(low[0]), int(high[0]), int(by[0])):
                batch.values[index] = np.array([number], low.dtype)
                body.run(batch, mask)
                move(batch, body.returned, carried)
        else:
            _by_lane(batch, mask, low, high, by)
        move(batch, carried, results)

    def _by_lane(batch: Batch, mask: Mask, low: Array, high: Array, by: Array) -> None:
        at = batch.spread(low)
        while True:
            inside = at < high
            if mask is not None:
                inside = inside & mask
            if not inside.any():
                return
            batch.values[index] = at
            if inside.all():
                body.run(batch, None)
                move(batch, body.returned, carried)
            else:
                body.run(batch, inside)
                merge(batch, inside, body.returned, carried)
            at = at + by

    return step


@steps_of(scf.WhileOp)
def while_(op: scf.WhileOp, code: Code) -> Step:
    """The body as long as a lane's condition holds; a lane that is done keeps what it had then."""
    initial, results = code.slots(op.arguments), code.slots(op.results)
    before, after = code.region(op.before_region), code.region(op.after_region)
    condition, *passed = before.returned

    def step(batch: Batch, mask: Mask) -> None:
        move(batch, initial, before.arguments)
        inside = np.ones(batch.lanes, np.bool_) if mask is None else mask
        first = True
        while inside.any():
            before.run(batch, None if inside.all() else inside)
            batch.expect_defined(op, "a condition", condition, inside)
            goes_on = batch.spread(batch.values[condition]) & inside
            if first:
                move(batch, passed, results)
            else:
                merge(batch, inside, passed, results)
            first, inside = False, goes_on
            if goes_on.any():
                move(batch, passed, after.arguments)
                after.run(batch, None if goes_on.all() else goes_on)
                move(batch, after.returned, before.arguments)

    return step


@steps_of(func.CallOp)
def call(op: func.CallOp, code: Code) -> Step:
    """The body of the function, or the scalar function that a declaration names."""
    name = op.callee.string_value()
    body = code.called(name, op)
    if body is None:
        return code.scalar(op, _meaning(op, name))
    operands, results = code.slots(op.operands), code.slots(op.results)

    def step(batch: Batch, mask: Mask) -> None:
        move(batch, operands, body.arguments)
        body.run(batch, mask)
        move(batch, body.returned, results)

    return step


def _meaning(op: func.CallOp, name: str) -> Meaning:
    known = meaning_of_name(name)
    if known is None:
        raise UnsupportedOpError(op, f"calls @{name}, which has no body and is the name of no scalar function")
    operands, result = signature_of(known)
    if [value.type for value in op.operands] != list(operands) or list(op.result_types) != [result]:
        raise UnsupportedOpError(op, f"calls @{name} with other types than its name says")
    return known
