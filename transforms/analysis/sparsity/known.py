"""Finds what is known of values before the program runs: integers, masks and other numbers that follow from its constants alone.

They decide where computed positions are, which elements a mask takes, how often a loop runs and which branch is taken, as far as that does not depend on the
arguments. Whoever has the arguments evaluates ops by them instead (:class:`Evaluator`), and gets the pattern at this point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, shape, size
from wengert.transforms.analysis.sparsity.positions import Windowed, slice_positions
from wengert.transforms.optimize.folding import ELEMENTWISE, MOVEMENT

Array = np.ndarray[Any, np.dtype[Any]]
Evaluator = Callable[[Operation, Sequence[Array]], Sequence[Array] | None]
"""(op, its operands) -> its results; None where they are not looked at."""

LIMIT = 1 << 20
"""Results of more elements are not looked at."""


def from_constants(op: Operation, operands: Sequence[Array]) -> Sequence[Array] | None:
    """The result of an op that every implementation agrees on, as for folding; also slices and gathers at known places."""
    if len(op.results) != 1 or size(op.results[0]) > LIMIT:
        return None
    with np.errstate(all="ignore"):
        result = _result(op, list(operands))
    return None if result is None else [np.asarray(result).astype(dtype_of(element(op.results[0])), copy=False)]


def _result(op: Operation, x: list[Array]) -> Any:
    cls = type(op)
    if cls in ELEMENTWISE:
        return ELEMENTWISE[cls](op, list(np.broadcast_arrays(*x)))
    if isinstance(op, hlo.BroadcastInDimOp):
        dims = ints(op.broadcast_dimensions)
        aligned = [1] * len(shape(op.result))
        for position, d in enumerate(dims):
            aligned[d] = x[0].shape[position]
        return np.broadcast_to(np.transpose(x[0], sorted(range(len(dims)), key=lambda d: dims[d])).reshape(aligned), shape(op.result))
    if cls in MOVEMENT:
        return MOVEMENT[cls](op, x)
    if isinstance(op, hlo.ConstantOp):
        return elements.to_numpy(op.value)
    if isinstance(op, hlo.IotaOp):
        extents, d = shape(op.output), int_of(op.iota_dimension)
        return np.broadcast_to(np.arange(extents[d]).reshape([-1 if k == d else 1 for k in range(len(extents))]), extents)
    if isinstance(op, hlo.DynamicSliceOp):
        return x[0].reshape(-1)[slice_positions(x[0].shape, [int(start) for start in x[1:]], ints(op.slice_sizes))]
    if isinstance(op, hlo.GatherOp) and x[0].size:
        return x[0].reshape(-1)[gather_places(op).positions(x[1], clamped=True)]
    return None


def gather_places(op: hlo.GatherOp) -> Windowed:
    """How a gather maps the dimensions of its result to those of its operand."""
    numbers = op.dimension_numbers
    return Windowed(
        shape(op.operand),
        ints(op.slice_sizes),
        numbers.dims("offset_dims"),
        numbers.dims("collapsed_slice_dims"),
        numbers.dims("operand_batching_dims"),
        numbers.dims("start_indices_batching_dims"),
        numbers.dims("start_index_map"),
        int_of(numbers.index_vector_dim),
        shape(op.result),
    )
