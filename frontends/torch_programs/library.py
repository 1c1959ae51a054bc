"""PyTorch itself, which is imported when it is first needed, and its types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from wengert.ir.installation import command
from wengert.ir.tensor_types import bf16, c64, c128, f16, f32, f64, i1, i8, i16, i32, i64, tensor, ui8, ui16, ui32, ui64
from wengert.runtime.errors import InputError

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
