"""Batching of loops and branches.

As long as control flow does not depend on the batch element, only the types change. Where it does:

- a loop runs until the last batch element is done. It carries a mask of the active ones, and a batch element that is done keeps
  its values (a *select* on everything carried);
- a counted loop runs for the largest trip count in the batch; batch elements with fewer iterations keep their values in the others;
- every branch runs, and the results are selected for each batch element.

What is computed for an inactive batch element is discarded. So that it is harmless to reverse mode too, the operands of a
masked body and of each branch are guarded (:mod:`wengert.transforms.ad.rewrites.guards`).

Tapes need no select: a loop writes one entry per iteration for all batch elements, and each reads only what it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region

from wengert.dialects import ad, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64, is_differentiable
from wengert.transforms.ad.batching.alignment import positions_from_end
from wengert.transforms.ad.batching.flow import WRITES, case_flags, for_flags, while_flags
from wengert.transforms.ad.batching.rule import INDEX, Batching, Mapped, Operands, Results, batches
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.core.counting import constant_integer


def _batched_where(batch: Batching, values: Operands, flags: Sequence[bool]) -> list[Mapped]:
    """Broadcasts the flagged values along the batch; the others stay as they are."""
    return [Mapped(batch.broadcast(x), True) if flag else x for x, flag in zip(values, flags, strict=True)]


def _uses_mask(regions: Sequence[Region]) -> bool:
    return any(isinstance(op, (core.ForOp, core.WhileOp, core.CaseOp, *WRITES)) for region in regions for op in region.walk())


def _mask_for(batch: Batching, regions: Sequence[Region]) -> list[Value]:
    """The mask as an operand, if these regions need it."""
    return [batch.mask] if batch.mask is not None and _uses_mask(regions) else []


def _guarded(batch: Batching, values: Operands, mask: Value) -> list[Mapped]:
    """Guards batched values, of which only the batch elements in the mask matter."""
    return [Mapped(_guard(batch, x.value, mask), True) if x.batched and isinstance(x.value.type, TensorType) else x for x in values]


def _guard(batch: Batching, x: Value, mask: Value) -> Value:
    return batch.b.create(ad.GuardOp, (x, mask), (x.type,))[0]


def _without_guard(x: Mapped) -> Mapped:
    """The operand of a guard, where a select by the same mask follows anyway."""
    return Mapped(x.value.owner.operand, x.batched) if isinstance(x.value.owner, ad.GuardOp) else x


def _region(batch: Batching, old: Block, first: Operands, masks: Sequence[Value], rest: Operands, flags: Sequence[bool]) -> Region:
    """The batched version of a region whose arguments are ``first``, a mask if there is one, and ``rest``."""
    block = Block(arg_types=[*(x.value.type for x in first), *(m.type for m in masks), *(x.value.type for x in rest)])
    n = len(first)
    inner = batch.nested(block, block.args[n] if masks else None)
    arguments = [Mapped(a, x.batched) for a, x in zip([*block.args[:n], *block.args[n + len(masks) :]], [*first, *rest], strict=True)]
    returned = _batched_where(inner, inner.run(old, arguments), flags)
    block.add_op(hlo.ReturnOp.create(operands=[x.value for x in returned]))
    return Region([block])


def _loop(b: OpBuilder, cls: type[Operation], operands: Sequence[Value], constants: int, regions: Sequence[Region]) -> Sequence[Value]:
    carried = operands[constants + (cls is core.ForOp) :]
    return b.create(cls, operands, [v.type for v in carried], {"constants": int_attr(constants)}, regions)


# -- counted loops


@batches(core.ForOp, control=True)
def for_(batch: Batching, op: core.ForOp, operands: Operands) -> Results:
    trip_count, *inputs = operands
    constant_count = int_of(op.constants)
    constants, initial = inputs[:constant_count], inputs[constant_count:]
    flags = for_flags(op, trip_count.batched, [x.batched for x in constants], [x.batched for x in initial], batch.mask is not None)[1:]
    carried = _batched_where(batch, initial, flags)
    if trip_count.batched:
        return _masked_for(batch, op, trip_count.value, constants, carried)
    count = trip_count.value
    if batch.mask is not None and constant_integer(op.trip_count) is None:
        count = batch.b.select(batch.any(batch.mask), count, batch.b.scalar(0, i64))  # it may be arbitrarily large where no batch element is active
    masks = _mask_for(batch, op.regions)
    body = _body_of_for(batch, op, constants, masks, carried, flags)
    values = [*(x.value for x in constants), *masks, *(x.value for x in carried)]
    outputs = _loop(batch.b, core.ForOp, [count, *values], constant_count + len(masks), [body])
    return [Mapped(value, flag) for value, flag in zip(outputs, flags, strict=True)]


def _body_of_for(batch: Batching, op: core.ForOp, constants: Operands, masks: Sequence[Value], carried: Operands, flags: Sequence[bool]) -> Region:
    iteration = Mapped(batch.b.scalar(0, i64), False)
    return _region(batch, op.block, [iteration, *constants], masks, carried, flags)


def _masked_for(batch: Batching, op: core.ForOp, trip_count: Value, constants: Operands, carried: Operands) -> Results:
    """A counted loop whose trip count depends on the batch element: it runs for the largest of them."""
    b = batch.b
    if batch.mask is not None:
        trip_count = b.select(batch.mask, trip_count, b.full_like(trip_count, 0))
    trip_count = b.maximum(trip_count, b.full_like(trip_count, 0))
    count = b.reduce(core.Kind.max, trip_count, [0])
    inputs = [Mapped(trip_count, True), Mapped(count, False), *constants]
    block = Block(arg_types=[INDEX, *(x.value.type for x in (*inputs, *carried))])
    iteration, own_count, max_count, *arguments = block.args
    values = [Mapped(a, x.batched) for a, x in zip(arguments, (*constants, *carried), strict=True)]
    inner = batch.nested(block)
    returned = _masked_iteration(inner, op, iteration, own_count, max_count, values)
    assert inner.mask is not None
    next_values = [_carried_on(inner, inner.mask, new, old) for new, old in zip(returned, values[len(constants) :], strict=True)]
    block.add_op(hlo.ReturnOp.create(operands=next_values))
    drop_dead_ops(block)
    outputs = _loop(b, core.ForOp, [count, *(x.value for x in (*inputs, *carried))], len(inputs), [Region([block])])
    return [Mapped(value, x.batched) for value, x in zip(outputs, carried, strict=True)]


def _masked_iteration(inner: Batching, op: core.ForOp, iteration: Value, own_count: Value, max_count: Value, values: Operands) -> list[Mapped]:
    """One of ``max_count`` iterations. A batch element is active in ``own_count`` of them: the first ones, or the last (see :mod:`.alignment`)."""
    b, size = inner.b, inner.size
    positions = positions_from_end(op)
    if not positions:
        inner.mask = b.compare("LT", b.broadcast_in_dim(iteration, [], [size]), own_count)
        return inner.run(op.block, [Mapped(iteration, False), *_guarded(inner, values, inner.mask)])
    own_iteration = b.subtract(own_count, b.broadcast_in_dim(b.subtract(max_count, iteration), [], [size]))
    inner.mask = b.compare("GE", own_iteration, b.full_like(own_iteration, 0))
    inner.values.update((value, Mapped(position.emit(b, iteration, max_count), False)) for value, position in positions.items())
    return inner.run(op.block, _guarded(inner, [Mapped(own_iteration, True), *values], inner.mask))


def _carried_on(batch: Batching, mask: Value, new: Mapped, old: Mapped) -> Value:
    """The next value of a carried value: the new one where the mask holds, the old one for batch elements that are done."""
    if isinstance(old.value.type, core.TapeType):
        return batch.broadcast(new) if old.batched else new.value
    return batch.where(mask, batch.broadcast(_without_guard(new)), batch.broadcast(old))


# -- loops with a condition


@batches(core.WhileOp, control=True)
def while_(batch: Batching, op: core.WhileOp, operands: Operands) -> Results:
    constant_count = int_of(op.constants)
    constants, initial = operands[:constant_count], operands[constant_count:]
    diverging, flags = while_flags(op, [x.batched for x in constants], [x.batched for x in initial], batch.mask is not None)
    carried = _batched_where(batch, initial, flags)
    emit = _masked_while if diverging else _common_while
    return emit(batch, op, constants, carried)


def _common_while(batch: Batching, op: core.WhileOp, constants: Operands, carried: Operands) -> Results:
    """A loop that stops for all batch elements at once; under a mask, it runs only while some batch element is active."""
    flags = [x.batched for x in carried]
    masks = [] if batch.mask is None else [batch.mask]
    condition = _region(batch, op.condition.block, constants, masks, carried, [False])
    if masks:
        block = condition.block
        last = block.last_op
        assert last is not None
        last.detach()
        b = OpBuilder(block, location=batch.b.location, pass_name=batch.b.pass_name)
        block.add_op(hlo.ReturnOp.create(operands=[b.and_(b.reduce(core.Kind.or_, block.args[len(constants)], [0]), last.operands[0])]))
        last.drop_all_references()
    body = _region(batch, op.body.block, constants, masks, carried, flags)
    values = [*(x.value for x in constants), *masks, *(x.value for x in carried)]
    outputs = _loop(batch.b, core.WhileOp, values, len(constants) + len(masks), [condition, body])
    return [Mapped(value, flag) for value, flag in zip(outputs, flags, strict=True)]


def _masked_while(batch: Batching, op: core.WhileOp, constants: Operands, carried: Operands) -> Results:
    """A loop that carries, in front, the mask of the batch elements whose condition still holds."""
    (holds,) = batch.inline(op.condition.block, [*constants, *carried])
    running = batch.within_mask(batch.broadcast(holds))
    types = [*(x.value.type for x in constants), running.type, *(x.value.type for x in carried)]
    condition = Block(arg_types=types)
    test = batch.nested(condition)
    condition.add_op(hlo.ReturnOp.create(operands=[test.any(condition.args[len(constants)])]))
    body = Block(arg_types=types)
    mask = body.args[len(constants)]
    inner = batch.nested(body, mask)
    values = [Mapped(a, x.batched) for a, x in zip([*body.args[: len(constants)], *body.args[len(constants) + 1 :]], [*constants, *carried], strict=True)]
    returned = inner.inline(op.body.block, _guarded(inner, values, mask))
    old_values = values[len(constants) :]
    next_values = [Mapped(_carried_on(inner, mask, new, old), old.batched) for new, old in zip(returned, old_values, strict=True)]
    (holds,) = inner.inline(op.condition.block, [*values[: len(constants)], *next_values])
    body.add_op(hlo.ReturnOp.create(operands=[inner.within_mask(inner.broadcast(holds)), *(x.value for x in next_values)]))
    operands = [*(x.value for x in constants), running, *(x.value for x in carried)]
    outputs = _loop(batch.b, core.WhileOp, operands, len(constants), [Region([condition]), Region([body])])[1:]
    return [Mapped(value, x.batched) for value, x in zip(outputs, carried, strict=True)]


# -- branches


@batches(core.CaseOp, control=True)
def case(batch: Batching, op: core.CaseOp, operands: Operands) -> Results:
    index, *inputs = operands
    if index.batched:
        return _all_branches(batch, op, index.value, inputs)
    flags = case_flags(op, False, [x.batched for x in inputs], batch.mask is not None)
    masks = _mask_for(batch, op.regions)
    regions = [_region(batch, region.block, inputs, masks, [], flags) for region in op.branches]
    types = [batch.type(r.type) if flag else r.type for r, flag in zip(op.results, flags, strict=True)]
    outputs = batch.b.create(core.CaseOp, [index.value, *(x.value for x in inputs), *masks], types, {}, regions)
    return [Mapped(value, flag) for value, flag in zip(outputs, flags, strict=True)]


def _all_branches(batch: Batching, op: core.CaseOp, index: Value, inputs: Operands) -> Results:
    b, last = batch.b, len(op.branches) - 1
    taken = [b.compare("EQ", index, b.full_like(index, j)) for j in range(last)]
    others = [b.not_(mask) for mask in taken]
    remaining = others[0] if others else None
    for mask in others[1:]:
        assert remaining is not None
        remaining = b.and_(remaining, mask)
    masks = [*taken, remaining] if remaining is not None else [b.full(1, batch.mask_type)]
    branch_results = [_branch(batch, region.block, inputs, batch.within_mask(mask)) for region, mask in zip(op.branches, masks, strict=True)]
    results: list[Value | Mapped] = []
    for position, result in enumerate(op.results):
        values = [returned[position] for returned in branch_results]
        results.append(_nonempty_tape(op, values) if isinstance(result.type, core.TapeType) else _selected(batch, taken, values))
    return results


def _branch(batch: Batching, block: Block, inputs: Operands, mask: Value) -> list[Mapped]:
    """One branch, under a mask. If it holds for no batch element, no cotangent goes back to unbatched inputs either."""
    taken = batch.any(mask)
    given = [Mapped(_guard(batch, x.value, taken), False) if not x.batched and is_differentiable(x.value.type) else x for x in _guarded(batch, inputs, mask)]
    return [_without_guard(x) for x in batch.inline(block, given, mask)]


def _selected(batch: Batching, taken: Sequence[Value], values: Operands) -> Mapped:
    chosen = values[-1]
    for mask, value in zip(reversed(taken), reversed(values[:-1]), strict=True):
        if value != chosen:
            chosen = Mapped(batch.where(mask, batch.broadcast(value), batch.broadcast(chosen)), True)
    return chosen


def _nonempty_tape(op: Operation, values: Operands) -> Mapped:
    """The only tape that is not empty: branches return an empty tape where another branch records residuals."""
    full = list(dict.fromkeys(x for x in values if not isinstance(x.value.owner, core.TapeCreateOp)))
    if len(full) > 1:
        raise refuse(op, "cannot be batched: its branches return different tapes, and batch elements take different branches")
    return full[0] if full else values[0]
