"""The instructions that are modelled, by family. Importing this package fills the table."""

from wengert.runtime.ptx.instructions import arithmetic, asynchronous, atomics, bits, comparison, control, conversion, loads, matrix, moves, warp
from wengert.runtime.ptx.instructions.table import TABLE, Entry, markdown

FAMILIES = (arithmetic, bits, comparison, moves, conversion, loads, atomics, warp, control, asynchronous, matrix)

__all__ = ["FAMILIES", "TABLE", "Entry", "markdown"]
