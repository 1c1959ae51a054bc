"""The numbers of a convolution, with defaults filled in."""

from __future__ import annotations

from msgspec import Struct

from wengert.dialects import stablehlo
from wengert.ir.attributes import bools, int_of, ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import rank


class Windows(Struct, frozen=True):
    """A convolution's numbers, per spatial dimension, and the roles of dimensions: (batch, feature, spatial...)."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    base: tuple[int, ...]
    dilations: tuple[int, ...]
    flips: tuple[bool, ...]
    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]
    groups: int
    batch_groups: int


def windows_of(op: stablehlo.ConvolutionOp) -> Windows:
    """The numbers of a convolution, with defaults filled in."""
    n = rank(op.lhs) - 2
    edges = [(int(low), int(high)) for low, high in to_numpy(op.padding)] if op.padding is not None else [(0, 0)] * n
    listed = [ints(a) if a is not None else (1,) * n for a in (op.window_strides, op.lhs_dilation, op.rhs_dilation)]
    flips = bools(op.window_reversal) if op.window_reversal is not None else (False,) * n
    roles = [(first, second, *spatial) for first, second, spatial in op.dimension_numbers.roles]
    return Windows(
        listed[0],
        tuple([low for low, _ in edges]),
        tuple([high for _, high in edges]),
        listed[1],
        listed[2],
        tuple([bool(flip) for flip in flips]),
        roles[0],
        roles[1],
        roles[2],
        int_of(op.feature_group_count),
        int_of(op.batch_group_count),
    )
