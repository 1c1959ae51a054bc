"""``FloatTensor`` and the like: PyTorch's older names for tensors by dtype, which make tensors, convert to them, and have them as instances."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = {
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
}


class TensorClass(type):
    """The type of these classes: what they are called with, and what their instances are."""

    dtype: np.dtype[Any]

    def __call__(cls, data: Any = (), **keywords: Any) -> Any:
        """A tensor of the elements in the dtype of the class."""
        from wengert.eager.operations.creation import tensor

        return tensor(data, dtype=cls.dtype, **keywords)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Whether it is a tensor of this dtype."""
        return hasattr(instance, "array") and hasattr(instance, "tracked") and instance.array.dtype == cls.dtype


CLASSES = {f"{name}Tensor": TensorClass(f"{name}Tensor", (), {"__doc__": f"Tensors of {dtype}.", "dtype": np.dtype(dtype)}) for name, dtype in DTYPES.items()}


def type_of(x: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor in another dtype, which may be one of these classes or the name of one; without an argument, the name of its own class.

    Raises:
        ValueError: there is no class of this name.
    """
    if dtype is None:
        for name, kind in CLASSES.items():
            if isinstance(x, kind):
                return f"torch.{name}"
        return f"torch.Tensor of {x.array.dtype.name}"
    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        name = dtype.rpartition(".")[2]
        if name not in CLASSES:
            raise ValueError(f"type: there are no tensors called {dtype!r}; there are {', '.join(CLASSES)}")
        dtype = CLASSES[name]
    return x.to(dtype.dtype if isinstance(dtype, TensorClass) else np.dtype(dtype))
