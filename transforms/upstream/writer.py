"""Writing ops of upstream dialects in front of an op."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.dialects.upstream.scalar_forms import CMPI
from wengert.ir.construction import erase, insert_before, replace_uses
from wengert.ir.tensor_types import i1

INDEX = IndexType()


class Writer:
    """Puts ops of upstream dialects in front of an op."""

    def __init__(self, anchor: Operation):
        self.anchor = anchor

    def ops(self, name: str, operands: Sequence[SSAValue], types: Sequence[Attribute], *regions: Region, **attributes: Attribute) -> UpstreamOp:
        """A new op, with its results."""
        cls = upstream_class(name)
        op = cls.create(operands=operands, result_types=types, attributes=attributes, regions=regions, location=self.anchor.location)
        insert_before(self.anchor, op)
        return op

    def one(self, name: str, operands: Sequence[SSAValue], type: Attribute = INDEX, **attributes: Attribute) -> SSAValue:
        """The result of a new op."""
        return self.ops(name, operands, [type], **attributes).results[0]

    def index(self, value: int) -> SSAValue:
        """A constant index."""
        return self.one("arith.constant", (), value=IntegerAttr(value, INDEX))

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An integer comparison."""
        return self.one("arith.cmpi", (x, y), i1, predicate=IntegerAttr(CMPI.index(predicate), 64))

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y."""
        return self.one("arith.addi", (x, y))

    def multiply(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x y."""
        return self.one("arith.muli", (x, y))

    def value(self, expr: AffineExpr, dims: Sequence[SSAValue], symbols: Sequence[SSAValue]) -> SSAValue:
        """The value of an affine expression."""
        if isinstance(expr, AffineDimExpr):
            return dims[expr.position]
        if isinstance(expr, AffineSymExpr):
            return symbols[expr.position]
        if isinstance(expr, AffineConstantExpr):
            return self.index(expr.value)
        assert isinstance(expr, AffineBinaryOpExpr)
        left, right = self.value(expr.lhs, dims, symbols), self.value(expr.rhs, dims, symbols)
        if expr.kind is AffineBinaryOpKind.Mod:  # its result has the sign of the divisor, which is positive
            return self.one("arith.subi", (left, self.multiply(self.one("arith.floordivsi", (left, right)), right)))
        return self.one(_OPS[expr.kind], (left, right))

    def values(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The values of a map's results."""
        dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
        return [self.value(expr, dims, symbols) for expr in map.results]

    def extreme(self, name: str, values: Sequence[SSAValue]) -> SSAValue:
        """The largest (``maxsi``) or smallest (``minsi``) of values."""
        result = values[0]
        for value in values[1:]:
            result = self.one(f"arith.{name}", (result, value))
        return result


_OPS = {
    AffineBinaryOpKind.Add: "arith.addi",
    AffineBinaryOpKind.Mul: "arith.muli",
    AffineBinaryOpKind.FloorDiv: "arith.floordivsi",
    AffineBinaryOpKind.CeilDiv: "arith.ceildivsi",
}


def replaced(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces the results of an op by values, and erases it."""
    for old, new in zip(op.results, values, strict=True):
        replace_uses(old, new)
    erase(op)
