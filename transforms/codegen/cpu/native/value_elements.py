"""Says which values native code computes with, and gives the LLVM view of their elements."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from wengert.ir.tensor_types import bf16, c64, c128, f16, f32, f64, i1, i8, i16, i32, i64, shape, ui8, ui16, ui32, ui64
from wengert.ir.tensor_types import element as element_type
from wengert.transforms.codegen.llvm.types import Element, element_of

_KNOWN = frozenset((f64, f32, f16, bf16, c64, c128, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64))


def has_known_elements(value: SSAValue) -> bool:
    """Whether the value is a tensor of static shape whose elements the code generator computes with."""
    type = value.type
    return isinstance(type, TensorType) and element_type(value) in _KNOWN and min(shape(value), default=0) >= 0


def value_element(value: SSAValue) -> Element:
    """The CPU's view of a tensor's element type."""
    return element_of(element_type(value))
