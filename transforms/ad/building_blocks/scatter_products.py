"""For each update of a multiplying scatter, the product of the other updates of its position.

Positions may repeat, and updates may be zero, so there is no division: updates are sorted by position, and each group of equal
positions is multiplied from both ends (segmented scans: Blelloch, "Prefix sums and their applications", 1990, section 1.5).
The result is a polynomial in the updates, which has derivatives of all orders everywhere.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Block, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.tensor_types import element, shape, size, tensor
from wengert.transforms.ad.building_blocks.associative_scan import Values, along, associative_scan

_READ = GatherDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
_WRITE = ScatterDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))


def product_of_others(b: OpBuilder, updates: Value, positions: Value) -> Value:
    """For each update, the product of the other updates at its position.

    Args:
        b: builds the ops.
        updates: floats or complex numbers of any shape.
        positions: integers of the same shape, one per position that is written.
    """
    count = size(updates)
    if count < 2:
        return b.full_like(updates, 1)
    groups, order = _sorted(b, b.reshape(positions, [count]))
    factors = _permuted(b, b.reshape(updates, [count]), order)
    before = _exclusive(b, groups, factors)
    after = b.reverse(_exclusive(b, b.reverse(groups, [0]), b.reverse(factors, [0])), [0])
    numbers = b.iota(0, tensor([count], element(order)))
    inverse_order = b.scatter(Kind.set, numbers, b.reshape(order, [count, 1]), numbers, _WRITE, unique=True)
    return b.reshape(_permuted(b, b.multiply(before, after), inverse_order), shape(updates))


def _sorted(b: OpBuilder, positions: Value) -> tuple[Value, Value]:
    """The positions in ascending order, and the permutation that sorts them."""
    scalar = tensor((), element(positions))
    block = Block(arg_types=[scalar] * 4)
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    block.add_op(hlo.ReturnOp.create(operands=[inner.compare("LT", block.args[0], block.args[1])]))
    properties: dict[str, Attribute] = {"dimension": int_attr(0), "is_stable": bool_attr(True)}
    operands = [positions, b.iota(0, tensor(shape(positions), element(positions)))]
    groups, order = b.create(hlo.SortOp, operands, [x.type for x in operands], properties, [Region([block])])
    return groups, order


def _permuted(b: OpBuilder, x: Value, order: Value) -> Value:
    return b.gather(x, b.reshape(order, [size(x), 1]), _READ, [1], shape(x))


def _exclusive(b: OpBuilder, groups: Value, factors: Value) -> Value:
    """The product of the factors before each factor in its group (a segmented exclusive scan)."""

    def combine(left: Values, right: Values) -> Values:
        return [right[0], b.select(b.compare("EQ", left[0], right[0]), b.multiply(left[1], right[1]), right[1])]

    count = size(factors)
    (_, products) = associative_scan(b, combine, [groups, factors])
    one = b.full(1, tensor([1], element(factors)))
    earlier = b.concatenate([one, along(b, products, 0, 0, count - 1)], 0)
    same = b.compare("EQ", along(b, groups, 0, 0, count - 1), along(b, groups, 0, 1, count - 1))
    continues = b.concatenate([b.full(0, tensor([1], element(same))), same], 0)
    return b.select(continues, earlier, b.full_like(factors, 1))
