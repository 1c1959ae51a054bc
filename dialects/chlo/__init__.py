"""The CHLO dialect: its ops, and the typing rules that verify them."""

from wengert.dialects.chlo import broadcast_typing, contraction_typing, typing  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wengert.dialects.chlo.ops import *  # noqa: F403
from wengert.dialects.stablehlo.typing.quantized import wrap_rules

# Behind the typing rules, which it extends to quantized operands.
wrap_rules("chlo.")
