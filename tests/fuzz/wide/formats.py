"""Copies of a module in which all floats have another format: the widest that NumPy has, or 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ComplexType, Float80Type, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from wengert.ir.tensor_types import f64, is_complex, is_float

WIDEST = Float80Type()
"""Stands for NumPy's long double: 64 bits of mantissa and a range to 1e4932 on x86. The interpreter reads the dtype off the type."""
object.__setattr__(WIDEST, "_dtype", np.dtype(np.longdouble))
WIDEST_COMPLEX = ComplexType(WIDEST)
object.__setattr__(WIDEST_COMPLEX, "_dtype", np.dtype(np.clongdouble))


@dataclass(frozen=True)
class Copies:
    """A module in the widest format, and for each of its ops those that it stands for.

    Attributes:
        module: the copy in the widest format.
        in_64_bits: its ops in 64 bits, for functions that have no wider implementation.
        as_given: its ops as they are in the module that was copied.
    """

    module: ModuleOp
    in_64_bits: dict[Operation, Operation]
    as_given: dict[Operation, Operation]


def copies(module: ModuleOp) -> Copies:
    """The copies of a module."""
    wide = _with_floats(module, lambda element: WIDEST_COMPLEX if is_complex(element) else WIDEST)
    double = _with_floats(module, lambda element: ComplexType(f64) if is_complex(element) else f64)
    ops = list(wide.walk())
    return Copies(wide, dict(zip(ops, double.walk(), strict=True)), dict(zip(ops, module.walk(), strict=True)))


def _with_floats(module: ModuleOp, changed: Callable[[Attribute], Attribute]) -> ModuleOp:
    """A copy whose values of floats have other elements. Attributes stay, so that constants are read as they were written."""
    copy = module.clone()
    for op in copy.walk():
        for value in [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]:
            value._type = _changed(value.type, changed)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return copy


def _changed(type: Attribute, changed: Callable[[Attribute], Attribute]) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    tensor: TensorType[Any] = type
    element: Any = tensor.element_type
    return TensorType(changed(element), tensor.get_shape(), tensor.encoding) if is_float(element) or is_complex(element) else tensor
