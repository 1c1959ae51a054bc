"""The numbers in a program's types, attributes and constants, as costs ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import ints
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.transforms.analysis.symbolic.integers import Extent, product


class Extents(Protocol):
    """The extents of a program: numbers, or polynomials in sizes."""

    def shape(self, value: SSAValue) -> Sequence[Extent]:
        """The extents of a tensor."""
        ...

    def ints(self, op: Operation, name: str) -> Sequence[Extent]:
        """An attribute of an op that holds integers."""
        ...

    def integer(self, value: SSAValue) -> Extent | None:
        """The value of an integer constant of one element."""
        ...

    def function(self, op: Operation, compute: Callable[[Operation], int]) -> Extent:
        """A number that is computed from an op as a whole."""
        ...


class StaticExtents:
    """The extents that are written in the text."""

    def shape(self, value: SSAValue) -> Sequence[int]:
        return shape(value)

    def ints(self, op: Operation, name: str) -> Sequence[int]:
        return ints(getattr(op, name))

    def integer(self, value: SSAValue) -> int | None:
        owner = value.owner
        if not isinstance(owner, stablehlo.ConstantOp):
            return None
        number = splat_value(owner.value)
        return int(number) if number is not None and number.dtype.kind in "biu" else None

    def function(self, op: Operation, compute: Callable[[Operation], int]) -> int:
        return compute(op)


STATIC = StaticExtents()


def size(extents: Extents, value: SSAValue) -> Any:
    """The number of elements of a tensor."""
    return product(extents.shape(value))


def bytes_of(extents: Extents, value: SSAValue) -> Any:
    """The bytes of a tensor; tokens, tuples and tapes have none."""
    if not isinstance(value.type, TensorType):
        return 0
    return size(extents, value) * dtype_of(element(value)).itemsize
