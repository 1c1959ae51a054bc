"""The core dialect: its ops, and the typing rules that verify them."""

from wengert.dialects.core import control_typing, linalg_typing, typing  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wengert.dialects.core.ops import *  # noqa: F403
