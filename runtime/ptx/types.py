"""Scalar types of PTX: their widths, and the NumPy dtypes in which registers of a type are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""A NumPy array with one element for each active thread, or with one element that they share."""

UNSIGNED: dict[int, Any] = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64)}
SIGNED: dict[int, Any] = {8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: np.dtype(np.int32), 64: np.dtype(np.int64)}
FLOAT: dict[int, Any] = {16: np.dtype(np.float16), 32: np.dtype(np.float32), 64: np.dtype(np.float64)}


@dataclass(frozen=True)
class Scalar:
    """A type: ``kind`` is b (bits), u, s, f (IEEE), h (bf16), t (tf32) or p (predicate), ``bits`` the width in all, ``count`` 2 for packed halves."""

    name: str
    kind: str
    bits: int
    count: int = 1

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.bits // 8

    @property
    def dtype(self) -> Any:
        """How a register of this width is viewed: floats as floats, bf16, tf32 and packed halves by their bits."""
        if self.kind == "p":
            return np.dtype(np.bool_)
        table = {"f": FLOAT, "s": SIGNED}.get(self.kind, UNSIGNED) if self.count == 1 else UNSIGNED
        return table[self.bits]

    @property
    def is_float(self) -> bool:
        """Whether the type is a floating-point format, packed or not."""
        return self.kind in "fht"


TYPES: dict[str, Scalar] = {
    **{f"{kind}{bits}": Scalar(f"{kind}{bits}", kind, bits) for kind in "bus" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": Scalar(f"f{bits}", "f", bits) for bits in (16, 32, 64)},
    "pred": Scalar("pred", "p", 1),
    "bf16": Scalar("bf16", "h", 16),
    "tf32": Scalar("tf32", "t", 32),
    "u16x2": Scalar("u16x2", "u", 32, 2),
    "s16x2": Scalar("s16x2", "s", 32, 2),
    "f16x2": Scalar("f16x2", "f", 32, 2),
    "bf16x2": Scalar("bf16x2", "h", 32, 2),
    "b128": Scalar("b128", "b", 128),
}
