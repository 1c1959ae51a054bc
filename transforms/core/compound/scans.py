"""chlo.scan as a counted loop: slices are read in order, outputs are written where the slices were read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64, rank, shape, tensor, type_of
from wengert.transforms.core.closing import copy_ops


def expand_scan(b: OpBuilder, op: chlo.ScanOp) -> Sequence[Value]:
    """Carries are carried, and so are the outputs, which are filled slice by slice."""
    dimension, backward = int_of(op.dimension), op.is_reverse is not None and bool(int_of(op.is_reverse))
    extent = shape((*op.inputs, *op.outputs)[0])[dimension]
    initial = [*(b.zeros(type_of(y)) for y in op.outputs), *op.inits]
    if extent == 0:  # no slice is to be read, and none of one row can be written for a loop without iterations
        return initial
    block = Block(arg_types=[tensor((), i64), *(v.type for v in (*op.inputs, *initial))])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, *arguments = block.args
    place = inner.subtract(inner.scalar(extent - 1, i64), iteration) if backward else iteration
    n, m = len(op.inputs), len(op.outputs)
    inputs, outputs, carries = arguments[:n], arguments[n : n + m], arguments[n + m :]
    slices = [_slice(inner, x, place, dimension) for x in inputs]
    env: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, [*slices, *carries], strict=True))
    *ops, last = op.body.block.ops
    copy_ops(inner, ops, env)
    returned = [env.get(value, value) for value in last.operands]
    written = [_write(inner, y, part, place, dimension) for y, part in zip(outputs, returned, strict=False)]
    block.add_op(hlo.ReturnOp.create(operands=[*written, *returned[len(written) :]]))
    operands = [b.scalar(extent, i64), *op.inputs, *initial]
    return b.create(core.ForOp, operands, [v.type for v in initial], {"constants": int_attr(n)}, [Region([block])])


def _starts(b: OpBuilder, x: Value, place: Value, dimension: int) -> list[Value]:
    return [place if d == dimension else b.scalar(0, i64) for d in range(rank(x))]


def _slice(b: OpBuilder, x: Value, place: Value, dimension: int) -> Value:
    extents = [1 if d == dimension else n for d, n in enumerate(shape(x))]
    row = b.dynamic_slice(x, _starts(b, x, place, dimension), extents)
    return b.reshape(row, [n for d, n in enumerate(extents) if d != dimension])


def _write(b: OpBuilder, y: Value, part: Value, place: Value, dimension: int) -> Value:
    extents = [1 if d == dimension else n for d, n in enumerate(shape(y))]
    return b.dynamic_update_slice(y, b.reshape(part, extents), _starts(b, y, place, dimension))
