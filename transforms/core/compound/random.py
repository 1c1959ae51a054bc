"""Random numbers of a distribution with parameters from those of the standard one, by which they have derivatives in the parameters."""

from __future__ import annotations

from xdsl.dialects.builtin import Float8E8M0FNUType

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import RngDistribution
from wengert.ir.tensor_types import element, is_float, shape
from wengert.transforms.core.kinds import constant_scalar


def expand_rng(b: OpBuilder, op: hlo.RngOp) -> list[Value] | None:
    """a + (b - a) u for u uniform in [0, 1), and a + b z for z normal; integers, the standard distributions, and numbers among which there is no zero, stay."""
    element_type = element(op.result)
    if not is_float(element_type) or element_type == Float8E8M0FNUType() or (constant_scalar(op.a) == 0 and constant_scalar(op.b) == 1):
        return None
    numbers = op.rng_distribution
    standard = b.one(hlo.RngOp, (b.scalar(0, element_type), b.scalar(1, element_type), op.shape), op.result.type, rng_distribution=numbers)
    width = b.subtract(op.b, op.a) if numbers.data is RngDistribution.UNIFORM else op.b
    extents = shape(op.result)
    return [b.add(b.broadcast_in_dim(op.a, [], extents), b.multiply(b.broadcast_in_dim(width, [], extents), standard))]
