"""The place of an op that nests take: these are put before it, and 16-bit floats accumulate in f32 there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.kernel import STORE, EmptyOp, NestOp, Write
from wengert.dialects.kernel.positions import index
from wengert.ir.construction import insert_before
from wengert.ir.tensor_types import bf16, element, f16, f32, shape, shape_of_type, size, tensor
from wengert.transforms.kernel.native_nests.body import Body


@dataclass(frozen=True)
class Place:
    """The place where nests go instead of an op."""

    op: Operation

    def put(self, nest: NestOp) -> Sequence[SSAValue]:
        """Puts a nest before the op; its results."""
        nest.location = self.op.location
        insert_before(self.op, nest)
        return nest.outputs

    def nothing(self, type: Attribute) -> SSAValue:
        """A tensor of a type that has no elements."""
        empty = EmptyOp.create(result_types=[type], location=self.op.location)
        insert_before(self.op, empty)
        return empty.result

    def full(self, value: Any, type: Attribute) -> SSAValue:
        """A tensor of a type whose elements are all one number."""
        count, scalar = prod(shape_of_type(cast("TensorType[Any]", type))), cast("TensorType[Any]", type).element_type
        body = Body([count], [])
        return self.put(body.nest([Write(body.constant(value, scalar), index(0), STORE, 0)], [type]))[0]

    def converted(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A tensor with its elements converted; itself if they are of the type."""
        if element(value) == type:
            return value
        body = Body([size(value)], [value])
        write = Write(body.apply("convert", type, body.load(0, index(0))), index(0), STORE, 0)
        return self.put(body.nest([write], [tensor(shape(value), type)]))[0]


def accumulator(type: Attribute) -> Attribute:
    """The element type in which sums of elements of a type are kept."""
    return f32 if type in (bf16, f16) else type
