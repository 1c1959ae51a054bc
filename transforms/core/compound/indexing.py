"""torch_index_select as a gather."""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import rank, shape, size, type_of


def expand_torch_index_select(b: OpBuilder, op: hlo.TorchIndexSelectOp) -> list[Value]:
    """One position along ``dim`` for each index."""
    x, index = op.operand, op.index
    if size(op.result) == 0:
        return [b.zeros(type_of(op.result))]
    dim, batch = (value + rank(x) if value < 0 else value for value in (int_of(op.dim), int_of(op.batch_dims)))
    paired, picked = dimensions(range(batch)), rank(index) - batch
    offsets = [*range(batch, dim), *range(dim + picked, rank(x) - 1 + picked)]
    numbers = GatherDimensionNumbersAttr(dimensions(offsets), dimensions((dim,)), paired, paired, dimensions((dim,)), int_attr(rank(index)))
    sizes = [1 if d < batch or d == dim else n for d, n in enumerate(shape(x))]
    return [b.gather(x, index, numbers, sizes, shape(op.result))]
