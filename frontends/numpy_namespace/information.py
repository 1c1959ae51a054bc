"""The standard's inspection functions: what this namespace can do."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.numpy import dtypes


class Information:
    """The result of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and shapes that depend on data: of concrete arrays only."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """The only device."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of numbers whose dtype nobody says."""
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of a kind, all by default."""
        names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]
        by_name = {name: np.dtype(getattr(dtypes, name)) for name in names}
        return by_name if kind is None else {name: dtype for name, dtype in by_name.items() if np.isdtype(dtype, kind)}


def __array_namespace_info__() -> Information:  # noqa: N807
    """The capabilities of this namespace."""
    return Information()
