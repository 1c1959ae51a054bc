"""The element type that operands are computed in together, by PyTorch's rules.

Categories come first (boolean, integer, real, complex), then tensors with dimensions before tensors without, before Python numbers;
within a category it is the wider type (``torch.result_type``, "Tensor Attributes" in PyTorch's documentation).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.builder import Value
from wengert.frontends.aten.meanings import Number
from wengert.ir.tensor_types import c64, c128, dtype_of, element, element_of, f32, f64, i1, i64, is_boolean, is_complex, is_float, real_element, shape


def category(element_type: Attribute) -> int:
    """0 for booleans, 1 for integers, 2 for reals, 3 for complex numbers."""
    return 0 if is_boolean(element_type) else 2 if is_float(element_type) else 3 if is_complex(element_type) else 1


def complex_of(element_type: Attribute) -> Attribute:
    """The complex type whose parts have this type, or are of single precision where there is none."""
    return c128 if element_type == f64 else c64


def wider(x: Attribute, y: Attribute) -> Attribute:
    """The type that two types promote to (``torch.promote_types``)."""
    if x == y:
        return x
    low, high = sorted((x, y), key=category)
    if category(low) < category(high) < 3:
        return high
    if category(high) == 3:
        parts = [real_element(t) if is_complex(t) else t for t in (low, high)]
        return complex_of(wider(*parts))
    if category(high) == 2:
        sizes = {t: dtype_of(t).itemsize for t in (low, high)}
        return f32 if sizes[low] == sizes[high] else max(sizes, key=lambda t: sizes[t])
    return element_of(np.promote_types(dtype_of(low), dtype_of(high)))


def promoted_element(operands: Iterable[Any], default: Attribute = f32) -> Attribute:
    """The element type for tensors (values) and Python numbers; other operands do not count.

    Args:
        operands: values and numbers.
        default: the type of reals that nothing else decides.
    """
    groups: list[Attribute | None] = [None, None, None]
    for x in operands:
        if isinstance(x, SSAValue):
            value = cast("Value", x)
            place, own = 0 if shape(value) else 1, element(value)
        elif isinstance(x, Number):
            place, own = 2, _of_number(x, default)
        else:
            continue
        before = groups[place]
        groups[place] = own if before is None else wider(before, own)
    return _before(groups[0], _before(groups[1], groups[2])) or default


def _of_number(x: Number, default: Attribute) -> Attribute:
    return i1 if isinstance(x, bool) else i64 if isinstance(x, int) else default if isinstance(x, float) else complex_of(default)


def _before(high: Attribute | None, low: Attribute | None) -> Attribute | None:
    """The type of two groups of which the first has priority."""
    if high is None or low is None:
        return low if high is None else high
    if category(low) <= category(high):
        return high
    # A complex number beside reals leaves their precision; a number of a higher category than a tensor decides otherwise.
    return complex_of(high) if category(high) == 2 else wider(high, low)


def floating_element(operands: Iterable[Any], default: Attribute = f32) -> Attribute:
    """The same for functions of reals: integers and booleans become reals of the default type."""
    element_type = promoted_element(operands, default)
    return element_type if category(element_type) >= 2 else default


def tensors(operands: Iterable[Any]) -> list[Value]:
    """The tensors among operands."""
    return [x for x in operands if isinstance(x, SSAValue)]
