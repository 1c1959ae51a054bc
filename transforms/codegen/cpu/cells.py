"""Small values of loops on the stack, where LLVM turns them into registers.

What a loop carries from iteration to iteration and what its body computes lies in *cells*, one for each small buffer of the body
(:func:`wengert.transforms.bufferize.layout.stack_cells`). The kernels of a body are inlined, so that all that is done with a cell are loads
and stores at known places: scalar replacement of aggregates makes values of them, after loops of few iterations have been unrolled. A cell whose
address is passed to code that is not inlined simply stays in memory.
"""

from __future__ import annotations

PROMOTE = '"wengert-promote"'
"""The attribute of a function whose cells are to become registers."""
