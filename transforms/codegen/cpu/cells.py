"""Places small values of loops on the stack, where LLVM turns them into registers.

Small values that a loop carries, or that its body computes, lie in *cells*, one for each such buffer of the body
(:func:`wengert.transforms.bufferize.layout.stack_cells`). The kernels of a body are inlined, so that cells are only loaded from and
stored to at known places: scalar replacement of aggregates makes values of them, after loops of few iterations have been unrolled. A cell whose
address is passed to code that is not inlined stays in memory.
"""

from __future__ import annotations

PROMOTE = '"wengert-promote"'
"""The attribute of a function whose cells are to become registers."""
