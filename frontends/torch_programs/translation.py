"""The means to write translations of ATen ops: a table of them by name, and a builder that knows what the op's results are.

A translation is a function from a :class:`TorchBuilder` and the op's arguments (values, numbers, lists; in the order of the op's
schema, defaults filled in) to one value, or a tuple of values where the op has several results. PyTorch has inferred the types
of all results at export, so a translation asks for shapes and dtypes and never infers them::

    @translates("add.Tensor")
    def add(b, x, y, *, alpha=1):
        return b.add(b.fitted(x), b.fitted(scaled(y, alpha)))

What an argument says about where or how memory is laid out has no meaning here and is not passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.tracing.context import BlockTrace, ModuleTrace, tracing
from wengert.frontends.tracing.operands import traced, value_of
from wengert.ir.installation import command
from wengert.ir.locations import error_at
from wengert.ir.tensor_types import (
    bf16,
    c64,
    c128,
    element,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    is_float,
    shape,
    shape_of_type,
    tensor,
    ui8,
    ui16,
    ui32,
    ui64,
)
from wengert.runtime.errors import InputError

Translation = Callable[..., Any]
Number = bool | int | float | complex

TRANSLATIONS: dict[str, Translation] = {}
"""By the name of the op and its overload, without the namespace: ``add.Tensor``."""

ELEMENTS: dict[str, Attribute] = {
    "bool": i1,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "float16": f16,
    "bfloat16": bf16,
    "float32": f32,
    "float64": f64,
    "complex64": c64,
    "complex128": c128,
}


def torch_module(name: str = "torch") -> Any:
    """PyTorch, or a module of it; an InputError where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"PyTorch is not installed: {command('torch')}") from None


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Declares the translation of these overloads."""

    def declare(translation: Translation) -> Translation:
        for name in names:
            assert name not in TRANSLATIONS, name
            TRANSLATIONS[name] = translation
        return translation

    return declare


def element_of_dtype(dtype: Any) -> Attribute:
    """The element type for a ``torch.dtype``; raises InputError if there is none."""
    name = str(dtype).removeprefix("torch.")
    if name not in ELEMENTS:
        raise InputError(f"tensors of dtype {dtype} have no counterpart; known: {', '.join(ELEMENTS)}")
    return ELEMENTS[name]


def type_of_tensor(value: Any) -> TensorType[Any]:
    """The type of a PyTorch tensor (a fake one will do); raises InputError for a dynamic shape."""
    for extent in value.shape:
        if not isinstance(extent, int):
            raise InputError(f"a tensor has the dynamic shape {tuple(value.shape)}; programs have static shapes")
    return tensor(tuple(value.shape), element_of_dtype(value.dtype))


class TorchBuilder(OpBuilder):
    """A builder with the types of the results of the op being translated.

    Attributes:
        types: one per result; None for a result that is no tensor.
        promoted: the element type that PyTorch computes in, for ops that promote (a comparison's result does not tell).
        used: the positions of the results that are used, where there are several.
        random_state: the state of the random generator as the ops so far leave it, if the program has one.
    """

    def __init__(self, block: Block):
        super().__init__(block)
        self.types: list[TensorType[Any] | None] = []
        self.promoted: Attribute | None = None
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


def axis(d: int, rank: int) -> int:
    """A dimension counted from the front; that of a scalar is 0."""
    return d % max(rank, 1)


def axes(dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """Dimensions counted from the front in ascending order; all where none is named."""
    if isinstance(dims, int):
        dims = [dims]
    return sorted({axis(d, rank) for d in dims}) if dims and rank else list(range(rank))


def is_real_float(x: Value) -> bool:
    """Whether a value is of real floating point."""
    return is_float(element(x))
