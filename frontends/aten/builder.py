"""The builder that meanings of ATen ops are written with: it knows the types of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.aten.meanings import Number
from wengert.frontends.tracing.context import BlockTrace, ModuleTrace, tracing
from wengert.frontends.tracing.operands import traced, value_of
from wengert.ir.builder import BlockBuilder
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import shape, shape_of_type, tensor


class AtenBuilder(OpBuilder):
    """A builder with the types of the results of the op being translated.

    Attributes:
        types: one per result; None for a result that is no tensor.
        promoted: the element type that PyTorch computes in, for ops that promote (a comparison's result does not tell).
        layout: the strides and the offset of the first operand in memory, where the caller knows them; else it is contiguous.
        used: the positions of the results that are used, where there are several.
        random_state: the state of the random generator as the ops so far leave it, if the program has one.
    """

    def __init__(self, block: Block, *, parent: BlockBuilder | None = None, location: LocationAttr = UNKNOWN_LOC, pass_name: str = ""):
        super().__init__(block, parent=parent, location=location, pass_name=pass_name)
        self.types: list[TensorType[Any] | None] = []
        self.promoted: Attribute | None = None
        self.layout: tuple[list[int], int] | None = None
        self.used: set[int] = set()
        self.random_state: Value | None = None

    # -- results

    @property
    def type(self) -> TensorType[Any]:
        """The type of the first result."""
        type = self.types[0]
        assert type is not None
        return type

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return shape_of_type(self.type)

    @property
    def element_type(self) -> Attribute:
        """The element type of the first result."""
        return self.type.element_type

    # -- operands

    def typed(self, x: Value | Number, element_type: Attribute) -> Value:
        """A value or number with this element type; numbers become scalars."""
        return self.convert(x, element_type) if isinstance(x, SSAValue) else self.scalar(x, element_type)

    def expanded(self, x: Value, extents: Sequence[int]) -> Value:
        """x broadcast to a shape by PyTorch's rule: dimensions are matched from the last one, and extents of one repeat."""
        own = shape(x)
        if own == tuple(extents):
            return x
        first = len(extents) - len(own)
        kept = [d for d, n in enumerate(own) if n == extents[first + d]]
        return self.broadcast_in_dim(self.reshape(x, [own[d] for d in kept]), [first + d for d in kept], extents)

    def fitted(self, x: Value | Number, element_type: Attribute | None = None) -> Value:
        """A value or number with the shape of the first result, and its element type unless another is named."""
        element_type = self.element_type if element_type is None else element_type
        return self.expanded(self.convert(x, element_type), self.extents) if isinstance(x, SSAValue) else self.full(x, tensor(self.extents, element_type))

    def compared(self, x: Value | Number) -> Value:
        """A value or number with the shape of the result, in the element type that the operands promote to."""
        return self.fitted(x, self.promoted)

    # -- what several families use

    def stopped(self, x: Value) -> Value:
        """x as a constant for derivatives."""
        return self.like(ad.StopGradientOp, x)

    def along(self, x: Value, reduced: Value, dims: Sequence[int]) -> Value:
        """Broadcasts what was reduced along dimensions of x along them again."""
        kept = [d for d in range(len(shape(x))) if d not in set(dims)]
        return self.broadcast_in_dim(reduced, kept, shape(x))

    def mean(self, x: Value, dims: Sequence[int]) -> Value:
        """The mean along dimensions, which disappear."""
        total = self.reduce_sum(x, dims)
        count = 1
        for d in dims:
            count *= shape(x)[d]
        return self.divide(total, self.full_like(total, count)) if count else self.full_like(total, float("nan"))

    def moments(self, x: Value, dims: Sequence[int]) -> tuple[Value, Value, Value]:
        """Mean, biased variance and the centred x, in two passes."""
        mean = self.mean(x, dims)
        centred = self.subtract(x, self.along(x, mean, dims))
        return mean, self.mean(self.multiply(centred, centred), dims), centred

    def by_numpy(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Calls a function of ``wengert.numpy`` on values; the result is a value, or a tuple of them."""
        trace = BlockTrace(ModuleTrace(), self.block, None, None)
        trace.builder = self
        with tracing(trace):
            given = [traced(cast(Value, x)) if isinstance(x, SSAValue) else x for x in args]
            result = function(*given, **keywords)
            return tuple(map(value_of, cast("tuple[Any, ...]", result))) if isinstance(result, tuple) else value_of(result)

    def refuse(self, message: str, hint: str = "") -> Exception:
        """The error for a form of an op that has no translation, at the user's line."""
        return error_at(self.location, message, hint)
