"""Expansion of scatters by a general region into ops from whose rules their derivatives follow.

Where the old element is combined with a value that does not depend on it, or not used at all, this value is computed for all updates at once,
and the scatter becomes one of a kind that has a derivative rule. Otherwise the old elements are read, the region is applied to all of them, and its
results are written back: all at once if the scatter has unique indices, else one index after the other, in the order of the updates.

Before and after, with ``f`` for the region and unique indices::

    %0 = "stablehlo.scatter"(%x, %i, %u) ({f})      %1 = stablehlo.gather %x, %i
                                                    %2 = f(%1, %u)
                                                    %0 = core.scatter set of %2 into %x at %i
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64, rank, shape, size, tensor
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.batching.rule import batch_element
from wengert.transforms.ad.building_blocks.scatter_numbers import gather_numbers
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.rewrites.reduce_regions import elementwise
from wengert.transforms.core.closing import dependencies, free_values
from wengert.transforms.core.kinds import COMBINERS, returned_values
from wengert.transforms.core.recognisers.scatters import recognise_scatter
from wengert.transforms.rewriter import Rewriter

Values = Sequence[Value]
_KINDS = {op: kind for kind, op in COMBINERS.items() if kind in (Kind.add, Kind.mul, Kind.max, Kind.min)}


def expand_scatters(module: ModuleOp, *, every: bool = False) -> None:
    """Expands scatters by a general region, in place: those that have a differentiable result in use, or every one."""
    rewriter = Rewriter("expand-regions")
    for op in ops_of(module, hlo.ScatterOp):
        if not every and not any(has_tangent(r.type) and r.first_use is not None for r in op.results):
            continue
        rewriter.move_to(op)
        rewriter.replace(op, _expanded(rewriter, module, op))


def _expanded(b: OpBuilder, module: ModuleOp, op: hlo.ScatterOp) -> Values:
    block = op.update_computation.block
    if (known := recognise_scatter(b, op)) is not None:
        return known
    if size(op.updates[0]) == 0 or size(op.inputs[0]) == 0:
        return list(op.inputs)
    if (by_kind := _of_kinds(b, module, op)) is not None:
        return by_kind
    numbers, indices = op.scatter_dimension_numbers, op.scatter_indices
    assert isinstance(numbers, ScatterDimensionNumbersAttr)
    if _is_unique(op):
        return _at_once(b, module, block, list(op.inputs), indices, list(op.updates), numbers)
    return _sequentially(b, module, op, numbers)


# -- updates that do not depend on old elements


def _of_kinds(b: OpBuilder, module: ModuleOp, op: hlo.ScatterOp) -> list[Value] | None:
    """One scatter of a known kind per result, of updates that the region computes; None if the old element has another use."""
    block, count, numbers = op.update_computation.block, len(op.inputs), op.scatter_dimension_numbers
    assert isinstance(numbers, ScatterDimensionNumbersAttr)
    old: set[SSAValue] = set(block.args[:count])
    parts = [_combination(value, argument, old) for value, argument in zip(returned_values(block), block.args, strict=False)]
    if any(part is None for part in parts):
        return None
    results: list[Value] = []
    for x, part in zip(op.inputs, parts, strict=True):
        assert part is not None
        kind, update = part
        (values,) = elementwise(b, module, block, [*op.updates, *op.updates], wanted=[update])
        results.append(b.scatter(kind, x, op.scatter_indices, values, numbers, unique=_is_unique(op)))
    return results


def _is_unique(op: hlo.ScatterOp) -> bool:
    return op.unique_indices is not None and bool(int_of(op.unique_indices))


def _combination(value: SSAValue, argument: SSAValue, old: set[SSAValue]) -> tuple[Kind, SSAValue] | None:
    """The kind by which an old element is combined, and with which value: ``old + v``, or ``v`` alone, where v depends on no old element."""
    if old.isdisjoint(dependencies([value])):
        return Kind.set, value
    owner = value.owner
    if not isinstance(owner, Operation) or (kind := _KINDS.get(type(owner))) is None:
        return None
    first, second = owner.operands
    for one, other in ((first, second), (second, first)):
        if one is argument and old.isdisjoint(dependencies([other])):
            return kind, other
    return None


# -- updates that depend on old elements


def _at_once(
    b: OpBuilder,
    module: ModuleOp,
    block: Block,
    inputs: Values,
    indices: Value,
    updates: Values,
    numbers: ScatterDimensionNumbersAttr,
    captured: Mapping[SSAValue, Value] | None = None,
) -> list[Value]:
    """Applies all updates at once: no two of them are to one element."""
    before = [b.gather(x, indices, *_reading(numbers, shape(x), shape(u)), shape(u)) for x, u in zip(inputs, updates, strict=True)]
    after = elementwise(b, module, block, [*before, *updates], captured=captured)
    return [b.scatter(Kind.set, x, indices, new, numbers, unique=True) for x, new in zip(inputs, after, strict=True)]


def _reading(numbers: ScatterDimensionNumbersAttr, operand: Sequence[int], update: Sequence[int]) -> tuple[GatherDimensionNumbersAttr, list[int]]:
    """The dimension numbers and slice sizes of the gather that reads what a scatter writes."""
    inserted, batching, window = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims"), iter(numbers.dims("update_window_dims"))
    sizes = [1 if d in inserted or d in batching else update[next(window)] for d in range(len(operand))]
    return gather_numbers(numbers), sizes


def _sequentially(b: OpBuilder, module: ModuleOp, op: hlo.ScatterOp, numbers: ScatterDimensionNumbersAttr) -> Values:
    """Applies the updates in a loop over the index vectors."""
    indices, single = _listed_indices(b, op.scatter_indices, numbers)
    updates = [_listed_updates(b, u, numbers) for u in op.updates]
    captured = free_values([op.update_computation])
    constants, initial = [indices, *updates, *captured], list(op.inputs)
    block = Block(arg_types=[tensor((), i64), *(v.type for v in (*constants, *initial))])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, index_rows, *rest = block.args
    rows, outer, carried = rest[: len(updates)], rest[len(updates) : len(updates) + len(captured)], rest[len(updates) + len(captured) :]
    vector, *now = [batch_element(inner, x, iteration) for x in (index_rows, *rows)]
    after = _at_once(inner, module, op.update_computation.block, carried, vector, now, single, dict(zip(captured, outer, strict=True)))
    block.add_op(hlo.ReturnOp.create(operands=after))
    count = b.scalar(shape(indices)[0], i64)
    return b.create(core.ForOp, [count, *constants, *initial], [v.type for v in initial], {"constants": int_attr(len(constants))}, [Region([block])])


def _listed_indices(b: OpBuilder, indices: Value, numbers: ScatterDimensionNumbersAttr) -> tuple[Value, ScatterDimensionNumbersAttr]:
    """A list of index vectors, extended by the positions along batching dimensions, and the dimension numbers of a scatter at one of them."""
    vector_dim, batching = int_of(numbers.index_vector_dim), numbers.dims("scatter_indices_batching_dims")
    wide = b.convert(indices, i64)
    if vector_dim == rank(wide):
        wide = b.reshape(wide, [*shape(wide), 1])
    batch = [d for d in range(rank(wide)) if d != vector_dim]
    columns = [b.transpose(wide, [*batch, vector_dim])]
    extents = [*shape(columns[0])[:-1], 1]
    columns += [b.iota(batch.index(d), tensor(extents, i64)) for d in batching]
    vectors = b.concatenate(columns, len(extents) - 1) if len(columns) > 1 else columns[0]
    operand_batching = numbers.dims("input_batching_dims")
    window = len(numbers.dims("update_window_dims"))
    single = ScatterDimensionNumbersAttr(
        dimensions(range(window)),
        dimensions(sorted((*numbers.dims("inserted_window_dims"), *operand_batching))),
        dimensions(()),
        dimensions(()),
        dimensions((*numbers.dims("scatter_dims_to_operand_dims"), *operand_batching)),
        int_attr(0),
    )
    return b.reshape(vectors, [prod(extents), shape(vectors)[-1]]), single


def _listed_updates(b: OpBuilder, update: Value, numbers: ScatterDimensionNumbersAttr) -> Value:
    """The update windows, one per index vector, in order."""
    window = numbers.dims("update_window_dims")
    moved = b.transpose(update, [*(d for d in range(rank(update)) if d not in window), *window])
    extents = shape(moved)
    batch = len(extents) - len(window)
    return b.reshape(moved, [prod(extents[:batch]), *extents[batch:]])
