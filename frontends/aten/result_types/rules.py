"""Rules for the types of an op's results, from its arguments by name. PyTorch has them at export; where it does not run, these say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from wengert.frontends.aten.axes import axes
from wengert.frontends.aten.meanings import Results
from wengert.frontends.aten.result_types.promotion import category, complex_of, floating_element, promoted_element, tensors
from wengert.ir.tensor_types import element, element_of, f32, i1, i64, is_complex, real_element, shape, tensor, type_of

Given = Mapping[str, Any]
Types = tuple[TensorType[Any], ...]

DEFAULT = "default"
"""Under this name the arguments hold the element type of reals that nothing else decides."""


def default_element(given: Given) -> Attribute:
    """The type of reals that nothing else decides."""
    return given.get(DEFAULT, f32)


def extents(given: Given) -> tuple[int, ...]:
    """The shape that all tensors broadcast to; ValueError where they do not."""
    return np.broadcast_shapes(*(shape(x) for x in tensors(given.values())))


_SETTINGS = {"alpha", "beta", "rounding_mode", "nan", "posinf", "neginf", "dtype", DEFAULT}
"""Arguments that are numbers but no operands."""


def operands(given: Given) -> list[Any]:
    """The arguments that count for promotion."""
    return [x for name, x in given.items() if name not in _SETTINGS]


def _dtype(given: Given, element_type: Attribute) -> Attribute:
    """The element type that is asked for, else this one."""
    asked = given.get("dtype")
    return element_type if asked is None else asked if isinstance(asked, Attribute) else element_of(asked)


def promoted(given: Given) -> Types:
    """The operands broadcast, in the type that they promote to."""
    return (tensor(extents(given), promoted_element(operands(given), default_element(given))),)


def floating(given: Given) -> Types:
    """The same, with integers as reals."""
    return (tensor(extents(given), floating_element(operands(given), default_element(given))),)


def real(given: Given) -> Types:
    """The same as promoted, with the parts of complex numbers."""
    return (tensor(extents(given), real_element(promoted_element(operands(given), default_element(given)))),)


def boolean(given: Given) -> Types:
    """Booleans in the shape that operands broadcast to."""
    return (tensor(extents(given), i1),)


def same(given: Given) -> Types:
    """The type of the first tensor."""
    return (type_of(tensors(given.values())[0]),)


def same_floating(given: Given) -> Types:
    """The shape of the first tensor, with reals."""
    x = tensors(given.values())[0]
    return (tensor(shape(x), floating_element([x], default_element(given))),)


def same_real(given: Given) -> Types:
    """The shape of the first tensor, with reals: the parts of complex numbers."""
    (made,) = same_floating(given)
    return (tensor(made.get_shape(), real_element(made.element_type)),)


def of_parts(given: Given) -> Types:
    """Complex numbers of which the operands are parts."""
    return (tensor(extents(given), complex_of(promoted_element(operands(given), default_element(given)))),)


def multiplied(given: Given) -> Types:
    """The product of matrices: the last dimension of the second is the last of the result."""
    x, y = tensors(given.values())[-2:]
    return (tensor((*shape(x)[:-1], *shape(y)[-1:]) if len(shape(y)) > 1 else shape(x)[:-1], element(x)),)


def convolved(given: Given) -> Types:
    """Channels and windows of a convolution, or of its transpose."""
    x, weight = shape(given["input"]), shape(given["weight"])
    n = len(x) - 2
    stride, padding, dilation, extra = (list(given[k]) * (n if len(given[k]) == 1 else 1) for k in ("stride", "padding", "dilation", "output_padding"))
    reach = [dilation[d] * (weight[2 + d] - 1) for d in range(n)]
    if given["transposed"]:
        spatial = [(x[2 + d] - 1) * stride[d] - 2 * padding[d] + reach[d] + extra[d] + 1 for d in range(n)]
        return (tensor((x[0], weight[1] * given["groups"], *spatial), element(given["input"])),)
    spatial = [(x[2 + d] + 2 * padding[d] - reach[d] - 1) // stride[d] + 1 for d in range(n)]
    return (tensor((x[0], weight[0], *spatial), element(given["input"])),)


def asked(given: Given) -> Types:
    """The type of the first tensor with the dtype that is asked for."""
    x = tensors(given.values())[0]
    return (tensor(shape(x), _dtype(given, element(x))),)


# -- reductions


def _left(given: Given) -> tuple[int, ...]:
    """The shape that is left of the first tensor along ``dim``, which stays with extent 1 if ``keepdim``."""
    own = shape(tensors(given.values())[0])
    gone = axes(given.get("dim"), len(own)) if own else []
    if given.get("keepdim"):
        return tuple(1 if d in gone else n for d, n in enumerate(own))
    return tuple(n for d, n in enumerate(own) if d not in gone)


def _of_self(given: Given) -> Attribute:
    return element(tensors(given.values())[0])


def reduced(given: Given) -> Types:
    """The elements along dimensions become one of the same type."""
    return (tensor(_left(given), _of_self(given)),)


def summed(given: Given) -> Types:
    """The same, with integers and booleans as i64."""
    own = _of_self(given)
    return (tensor(_left(given), _dtype(given, own if category(own) >= 2 else i64)),)


def averaged(given: Given) -> Types:
    """The same, with the dtype that is asked for."""
    return (tensor(_left(given), _dtype(given, _of_self(given))),)


def measured(given: Given) -> Types:
    """The same, with the parts of complex numbers."""
    own = _dtype(given, _of_self(given))
    return (tensor(_left(given), real_element(own) if is_complex(own) else own),)


def decided(given: Given) -> Types:
    """The same, as booleans."""
    return (tensor(_left(given), i1),)


def position(given: Given) -> Types:
    """The same, as positions."""
    return (tensor(_left(given), i64),)


def extreme(given: Given) -> Types:
    """An element and its position along one dimension."""
    return (*reduced(given), *position(given))


def running(given: Given) -> Types:
    """As many elements, integers and booleans as i64."""
    own = _of_self(given)
    return (tensor(shape(tensors(given.values())[0]), _dtype(given, own if category(own) >= 2 else i64)),)


def counted(given: Given) -> Types:
    """One number for each bin."""
    return (tensor((given["bins"],), _of_self(given)),)


def with_positions(given: Given) -> Types:
    """As many elements, and as many positions."""
    x = tensors(given.values())[0]
    return type_of(x), tensor(shape(x), i64)


def both(first: Results, second: Results) -> Results:
    """Two results."""
    return lambda given: (*first(given), *second(given))
