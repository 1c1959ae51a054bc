"""Splits the batch of products where what they read or give is reshaped to more dimensions.

A batched product of matrices, as ``bmm`` is one, has one dimension for the batch. Where that is several dimensions of its operands, made one by a reshape, or
becomes several, the product takes these as they are::

    %a = reshape %x : 2x4x512x16 -> 8x512x16          %p = dot_general %x, %y, batching_dims = [0, 1] x [0, 1] : 2x4x512x512
    %b = reshape %y : 2x4x512x16 -> 8x512x16    ->    %s = reshape %p : 8x512x512
    %s = dot_general %a, %b, batching_dims = [0] x [0]

So the reshapes behind it go, and dimensions keep their meaning from one product to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import replace_uses
from wengert.ir.tensor_types import element, shape
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter

Factors = dict[int, tuple[int, ...]]
"""The extents of which dimensions of a value are made."""


def split_batches(module: Operation, pass_name: str) -> bool:
    """Splits the batches of all products of a module, in place; returns whether there were any. Reshapes that nothing uses any more are left."""
    b = Rewriter(pass_name)
    for op in ops_of(module, stablehlo.DotGeneralOp):
        factors = _factors_of(op)
        if factors:
            b.move_to(op)
            _split(b, op, factors)
    return b.changed


def _factors_of(op: stablehlo.DotGeneralOp) -> Factors:
    """The dimensions of a product's batch that are made of several dimensions elsewhere."""
    numbers = op.dot_dimension_numbers
    left, right = (numbers.dims(f"{side}_batching_dimensions") for side in ("lhs", "rhs"))
    listed: Factors = {}
    for value, dims in ((op.lhs, left), (op.rhs, right)):
        if isinstance(value.owner, stablehlo.ReshapeOp):
            merged = _merged(shape(value.owner.operand), shape(value))
            listed |= {number: merged[d] for number, d in enumerate(dims) if d in merged}
    for use in op.result.uses:
        if isinstance(user := use.operation, stablehlo.ReshapeOp):
            merged = _merged(shape(user.result), shape(op.result))
            listed |= {number: merged[number] for number in range(len(left)) if number in merged}
    return listed


def _merged(fine: Sequence[int], coarse: Sequence[int]) -> Factors:
    """For each dimension of a shape that is several dimensions of a finer one, these (none of which is 1); none if others are not the same in both."""
    left = [n for n in fine if n != 1]
    merged: Factors = {}
    for d, extent in enumerate(coarse):
        if extent == 1:
            continue
        taken: list[int] = []
        size = 1
        while left and size < extent:
            taken.append(left.pop(0))
            size *= taken[-1]
        if size != extent:
            return {}
        if len(taken) > 1:
            merged[d] = tuple(taken)
    return merged


def _split(b: Rewriter, op: stablehlo.DotGeneralOp, factors: Factors) -> None:
    numbers = op.dot_dimension_numbers
    operands: list[Value] = []
    batching: list[list[int]] = []
    contracting: list[list[int]] = []
    for side, value in (("lhs", op.lhs), ("rhs", op.rhs)):
        batch = numbers.dims(f"{side}_batching_dimensions")
        parts = [factors.get(batch.index(d), (n,)) if d in batch else (n,) for d, n in enumerate(shape(value))]
        places = [sum(len(part) for part in parts[:d]) for d in range(len(parts))]
        operands.append(_reshaped(b, value, [n for part in parts for n in part]))
        batching.append([places[d] + k for d in batch for k in range(len(parts[d]))])
        contracting.append([places[d] for d in numbers.dims(f"{side}_contracting_dimensions")])
    precision = op.properties.get("precision_config")
    left, right = operands
    product = b.dot_general(left, right, (contracting[0], contracting[1]), (batching[0], batching[1]), element(op.result), precision)
    b.replace(op, [b.reshape(product, shape(op.result))])
    _use_as_it_is(product)


def _use_as_it_is(product: Value) -> None:
    """Has what is reshaped and reshaped back read the product itself."""
    for use in list(product.uses):
        for further in list(use.operation.results[0].uses) if isinstance(use.operation, stablehlo.ReshapeOp) else ():
            if isinstance(user := further.operation, stablehlo.ReshapeOp) and user.result.type == product.type:
                replace_uses(user.result, product)


def _reshaped(b: OpBuilder, value: Value, extents: Sequence[int]) -> Value:
    """A value in another shape: what it is a reshape of, if that has it."""
    owner = value.owner
    if isinstance(owner, stablehlo.ReshapeOp) and shape(owner.operand) == tuple(extents):
        return owner.operand
    return b.reshape(value, extents)
