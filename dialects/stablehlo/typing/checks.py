"""The vocabulary of typing rules: element classes, shapes that may be dynamic, and expectations that explain themselves.

Dynamic extents (``?``) are compatible with every extent, as the specification's dynamism RFC has it: a rule rejects only
what is wrong for every possible extent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E8M0FNUType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from wengert.dialects.quant import UniformQuantizedType
from wengert.dialects.stablehlo.bounds import bounded, bounds_of
from wengert.ir.attributes import ints
from wengert.ir.element_classes import BOOLEAN, COMPLEX, FLOAT, INTEGER, QUANTIZED, SIGNED, UNSIGNED
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import DYNAMIC, EIGHT_BITS, bf16, f16, f32, f64, i1, i64, real_element, tensor
from wengert.ir.verification.typing_rules import INFERRED, TypingError

Tensor = TensorType[Any]
Shape = tuple[int, ...]

_CLASS_NAMES = (
    (BOOLEAN, "booleans"),
    (INTEGER, "integers"),
    (SIGNED, "signed integers"),
    (UNSIGNED, "unsigned integers"),
    (FLOAT, "floats"),
    (COMPLEX, "complex numbers"),
)
# (What takes floats mostly takes quantized numbers too; messages do not say so.)

_INTEGER_WIDTHS = (2, 4, 8, 16, 32, 64)
_FLOATS = (
    *[type(element) for element in (f64, f32, f16, bf16, *EIGHT_BITS)],
    Float8E8M0FNUType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float4E2M1FNType,
)

CONVERT = "elements are converted by stablehlo.convert only"
BROADCAST = "shapes are broadcast by stablehlo.broadcast_in_dim only"


def fail(message: str, hint: str = "") -> NoReturn:
    """Rejects the op; the hint says what might be meant."""
    raise TypingError(message, hint)


# -- element types


def element_class(element: Attribute) -> int:
    """The class of an element type; 0 for one that StableHLO does not have."""
    if isinstance(element, IntegerType):
        if element == i1:
            return BOOLEAN
        if bit_width(cast(Attribute, element)) not in _INTEGER_WIDTHS:
            return 0
        signedness: Signedness = cast("Any", element).signedness.data
        return {Signedness.SIGNLESS: SIGNED, Signedness.UNSIGNED: UNSIGNED}.get(signedness, 0)
    if isinstance(element, ComplexType):
        return COMPLEX if real_element(cast(Attribute, element)) in (f32, f64) else 0
    if isinstance(element, UniformQuantizedType):
        return QUANTIZED
    return FLOAT if isinstance(element, _FLOATS) else 0


def bit_width(element: Attribute) -> int:
    """Bits in one element (both parts of a complex number)."""
    if isinstance(element, ComplexType):
        return 2 * bit_width(real_element(cast(Attribute, element)))
    return int(cast("Any", element).bitwidth)


def is_promotable(source: Attribute, target: Attribute) -> bool:
    """Whether a reduction may accumulate elements of ``source`` in the type ``target``: the same class, no narrower."""
    if source == target:
        return True
    if isinstance(source, UniformQuantizedType) and isinstance(target, UniformQuantizedType):
        return source.expressed == target.expressed and source.bitwidth <= target.bitwidth
    classes = {element_class(source), element_class(target)}
    if not (len(classes) == 1 or classes <= {SIGNED, UNSIGNED, BOOLEAN}):
        return False
    return 0 not in classes and bit_width(source) <= bit_width(target)


def class_names(allowed: int) -> str:
    """The name of a set of element classes in messages."""
    names: list[str] = []
    for bits, name in _CLASS_NAMES:
        if bits & allowed == bits:
            names.append(name)
            allowed &= ~bits
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def expect_elements(role: str, type: Tensor, allowed: int) -> None:
    """The tensor's elements are of these classes."""
    if not element_class(type.element_type) & allowed:
        fail(f"{role} must hold {class_names(allowed)}, found {type}")


def meets(a: Attribute, b: Attribute) -> bool:
    """Whether elements of both types may meet: equal types, or quantized ones that differ in scales only."""
    if a is b or a == b:
        return True
    return isinstance(a, UniformQuantizedType) and isinstance(b, UniformQuantizedType) and a.alike(b)


def same_element(role: str, type: Tensor, other_role: str, other: Tensor) -> None:
    """Two tensors have the same element type."""
    if not meets(type.element_type, other.element_type):
        fail(f"{role} and {other_role} must have the same element type, found {type.element_type} and {other.element_type}", CONVERT)


# -- shapes


def same_extent(a: int, b: int) -> bool:
    """Whether two extents can be equal."""
    return a in (b, DYNAMIC) or b == DYNAMIC


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes can be equal."""
    return a == b or (len(a) == len(b) and all(map(same_extent, a, b)))


def difference_hint(a: Attribute, b: Attribute) -> str:
    """A hint at the op that turns one of two types, which should be the same, into the other."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return ""
    return CONVERT if cast(Tensor, a).element_type != cast(Tensor, b).element_type else BROADCAST


def merged(a: Tensor, b: Tensor) -> Tensor:
    """Of two compatible types what is known of either."""
    if a is b:
        return a
    return tensor([n if m == DYNAMIC else m for m, n in zip(a.get_shape(), b.get_shape(), strict=True)], a.element_type)


def compatible(a: Attribute, b: Attribute) -> bool:
    """Whether two types can be the same type at run time."""
    if a is b or a == b:
        return True
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return False
    a, b = cast(Tensor, a), cast(Tensor, b)
    return meets(a.element_type, b.element_type) and same_shape(a.get_shape(), b.get_shape()) and within_bounds(a, b) and within_bounds(b, a)


def fits(shape: Iterable[int], bounds: Iterable[int]) -> bool:
    """Whether no extent is above its bound."""
    return all(bound == DYNAMIC or n <= bound for n, bound in zip(shape, bounds, strict=True))


def within_bounds(a: Tensor, b: Tensor) -> bool:
    """Whether no extent of ``a`` is above the bound that ``b`` has for it."""
    bounds = bounds_of(b)
    return bounds is None or fits(a.get_shape(), bounds)


def common_bounds(*types: Tensor) -> Shape | None:
    """The smallest bound of each dimension of tensors of one rank, None where there are none."""
    lists = [bounds for type in types if (bounds := bounds_of(type)) is not None]
    if not lists:
        return None
    return tuple(min((b for b in column if b != DYNAMIC), default=DYNAMIC) for column in zip(*lists, strict=True))


def is_static(shape: Iterable[int]) -> bool:
    """Whether every extent is known."""
    return DYNAMIC not in shape


def extents(shape: Iterable[int]) -> str:
    """A shape in messages: ``[2, ?, 3]``."""
    return f"[{', '.join('?' if n == DYNAMIC else str(n) for n in shape)}]"


# -- operands, results and attributes


def as_tensor(role: str, type: Attribute) -> Tensor:
    """The type, which must be a ranked tensor of elements that StableHLO has."""
    if not isinstance(type, TensorType):
        fail(f"{role} must be a ranked tensor, found {type}")
    type = cast(Tensor, type)
    if not element_class(type.element_type):
        fail(f"{role} has the type {type}, but tensors hold booleans, signless or unsigned integers, floats or complex numbers")
    return type


def operand(op: Operation, index: int, role: str) -> Tensor:
    """The type of an operand, which must be a ranked tensor."""
    return as_tensor(role, op.operands[index].type)


def tensors(types: Iterable[Attribute], role: str) -> list[Tensor]:
    """Types that must all be ranked tensors."""
    return [as_tensor(f"{role} #{i}", type) for i, type in enumerate(types)]


def result_name(op: Operation, index: int) -> str:
    """The name of a result in messages."""
    return "result" if len(op.results) == 1 else f"result #{index}"


def infer(index: int, type: Attribute) -> None:
    """Says, if somebody asks, what the type of a result must be; what is said in parts is put together."""
    types = INFERRED.get()
    if types is not None and isinstance(type, TensorType):
        before = types.get(index)
        types[index] = merged(cast(Tensor, before), cast(Tensor, type)) if before is not None else cast(Tensor, type)


def expect_result(op: Operation, shape: Sequence[int], element: Attribute, index: int = 0, bounds: Sequence[int] | None = None) -> None:
    """The result's type is the one that was inferred; no extent is above a bound of the inferred type or of the result's own."""
    result = op.results[index].type
    if INFERRED.get() is not None:
        infer(index, tensor(shape, element))
    if isinstance(result, TensorType):
        known = cast(Tensor, result).get_shape()
        if meets(cast(Tensor, result).element_type, element) and same_shape(known, tuple(shape)):
            own = bounds_of(cast(Tensor, result))
            if (own is None or fits(shape, own)) and (bounds is None or fits(known, bounds)):
                return
    fail(f"{result_name(op, index)} type {result} does not match the inferred {bounded(shape, element, bounds)}")


def expect_scalar(role: str, type: Attribute, element: Attribute | None = None) -> Tensor:
    """The type is a tensor of rank 0, of this element type if one is given."""
    scalar = as_tensor(role, type)
    if scalar.get_shape() or (element is not None and not meets(scalar.element_type, element)):
        fail(f"{role} must be {'a tensor of rank 0' if element is None else tensor((), element)}, found {scalar}")
    return scalar


def expect_static(role: str, type: Tensor, *, bounded: bool = False) -> None:
    """Every extent of the type is known, with ``bounded`` all but one, which has a bound."""
    if not is_static(type.get_shape()) and not (bounded and has_one_bound(type)):
        fail(f"{role} must have a static shape, found {type}", "where the shape is computed at run time there is a dynamic form of the op")


def has_one_bound(type: Tensor) -> bool:
    """Whether one extent is unknown and has a bound."""
    bounds = bounds_of(type)
    return bounds is not None and [b == DYNAMIC for n, b in zip(type.get_shape(), bounds, strict=True) if n == DYNAMIC] == [False]


def int_list(op: Operation, name: str, length: int | None = None, default: int = 0, meaning: str = "the rank of the operand") -> Shape:
    """The values of an ``array<i64>`` property (an absent one is ``length`` times the default), of the required length.

    The number that stands for an open extent in types is none here.
    """
    attribute = op.properties.get(name)
    if attribute is None:
        return (default,) * (length or 0)
    if cast("DenseArrayBase[Any]", attribute).elt_type != i64:
        fail(f"{name} must be an array of i64, found {attribute}")
    values = ints(attribute)
    if length is not None and len(values) != length:
        fail(f"{name} must have {length} entries ({meaning}), found {len(values)}")
    if DYNAMIC in values:
        fail(f"{name} must be numbers above {DYNAMIC}, which stands for an open extent, found {attribute}")
    return values


def int_property(op: Operation, name: str) -> int:
    """The value of an integer property."""
    return cast("IntegerAttr[IntegerType]", op.properties[name]).value.data


def padding_pairs(op: Operation, spatial: int) -> list[tuple[int, int]]:
    """The (low, high) pairs of a ``padding`` property, zeros where it is absent."""
    attribute = op.properties.get("padding")
    if attribute is None:
        return [(0, 0)] * spatial
    attribute = cast("DenseIntOrFPElementsAttr[Any]", attribute)
    type = cast(Tensor, attribute.type)
    if type != tensor((spatial, 2), i64):
        fail(f"padding must have the type {tensor((spatial, 2), i64)}, a low and a high edge for each of the {spatial} window dimensions, found {type}")
    return [(int(low), int(high)) for low, high in to_numpy(attribute)]


def expect_in_range(name: str, values: Iterable[int], bound: int, what: str = "the operand's rank") -> None:
    """Every value is a dimension number."""
    for value in values:
        if not 0 <= value < bound:
            fail(f"{name} must be in the range [0, {bound}) given by {what}, found {value}")


def expect_unique(name: str, values: Sequence[int], what: str = "dimension") -> None:
    """No value occurs twice."""
    if len(set(values)) != len(values):
        fail(f"{name} must not repeat a {what}, found {list(values)}")


def expect_sorted(name: str, values: Sequence[int]) -> None:
    """Values increase."""
    if any(a >= b for a, b in pairwise(values)):
        fail(f"{name} must be sorted and must not repeat a dimension, found {list(values)}")


def expect_dimensions(name: str, values: Sequence[int], bound: int, what: str = "the operand's rank") -> None:
    """The values are different dimension numbers."""
    expect_in_range(name, values, bound, what)
    expect_unique(name, values)


def boolean_result(op: Operation, shape: Sequence[int], bounds: Sequence[int] | None = None) -> None:
    """The result is a predicate of this shape."""
    expect_result(op, shape, i1, bounds=bounds)
