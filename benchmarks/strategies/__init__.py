"""The figures that strategies are held to, a file for each section: ``python -m benchmarks.strategies``."""

from typing import Any

Section = tuple[list[str], dict[str, Any]]
"""Lines to print, and the same numbers by name."""
