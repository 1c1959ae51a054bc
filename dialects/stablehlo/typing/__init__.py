"""The typing rules of StableHLO, a file per family of ops: which operands, attributes and results an op may have.

They follow the constraints of the specification (https://openxla.org/stablehlo/spec). Importing this package registers them.
"""

from __future__ import annotations

from wengert.dialects.stablehlo.typing import (
    calls,
    collective,
    contraction,
    control,
    dynamic,
    elementwise,
    indexing,
    linalg,
    normalization,
    quantized,
    random,
    reduction,
    shape,
    transfer,
)

__all__ = [
    "calls",
    "collective",
    "contraction",
    "control",
    "dynamic",
    "elementwise",
    "indexing",
    "linalg",
    "normalization",
    "quantized",
    "random",
    "reduction",
    "shape",
    "transfer",
]

quantized.wrap_rules("stablehlo.")
