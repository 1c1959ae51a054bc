"""Random directions from a seed: the same on every machine and backend.

Bits are those of Threefry (J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), StableHLO's ``rng_bit_generator``; the seed is a
number, which may be traced, so that a compiled estimate draws anew for each seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Literal, get_args

import numpy as np
from xdsl.ir import SSAValue

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import builder, convert, shape_of, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec, spec_of
from wengert.ir.tensor_types import element_of, f64, tensor, ui64

Distribution = Literal["rademacher", "normal"]
"""Signs, which have the least variance, or normal numbers. Both have mean 0 and unit covariance."""


def random_directions(seed: Any, specs: Sequence[ArraySpec], samples: int, distribution: Distribution) -> list[Any]:
    """For each array an array of so many random ones like it, along dimension 0; in a trace.

    Raises:
        TracedTypeError: the seed is no integer, or an array is complex.
        TracedValueError: there is no such distribution, or no sample.
    """
    if distribution not in get_args(Distribution):
        raise value_error(f"there are no {distribution!r} directions", f"there are: {', '.join(get_args(Distribution))}")
    if samples < 1:
        raise value_error(f"an estimate needs a sample, found samples={samples}")
    state, drawn = _state(seed), list[Any]()
    for spec in specs:
        if spec.dtype.kind != "f":
            raise type_error(f"random directions are real numbers, and {spec} takes others")
        state, bits = _bits(state, (samples, *spec.shape))
        drawn.append(traced(convert((_signs if distribution == "rademacher" else _normal)(bits), np.dtype(spec.dtype))))
    return drawn


def _state(seed: Any) -> SSAValue:
    spec = spec_of(seed)
    if shape_of(seed) != () or spec.dtype.kind not in "iu":
        raise type_error(f"a seed is an integer, found {spec}")
    b = builder()
    word = b.reshape(b.convert(value_of(seed, np.dtype(np.int64)), ui64), [1])
    return b.concatenate([word, b.zeros(tensor((1,), ui64))], 0)


def _bits(state: SSAValue, extents: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """The next state, and 64 random bits for each element."""
    algorithm = {"rng_algorithm": sa.RngAlgorithmAttr(sa.RngAlgorithm.THREE_FRY)}
    next_state, bits = builder().create(hlo.RngBitGeneratorOp, (state,), (state.type, tensor(extents, ui64)), algorithm)
    return next_state, bits


def _signs(bits: SSAValue) -> SSAValue:
    """-1 or 1, by the highest bit."""
    b = builder()
    one = b.convert(b.like(hlo.ShiftRightLogicalOp, bits, b.full_like(bits, 63)), element_of(np.dtype(np.float64)))
    return b.subtract(b.full_like(one, 1), b.multiply(one, b.full_like(one, 2)))


def _normal(bits: SSAValue) -> SSAValue:
    """Standard normal numbers, by the inverse of their distribution at the middle of steps of 2^-53."""
    b = builder()
    u = b.multiply(kept := b.convert(b.like(hlo.ShiftRightLogicalOp, bits, b.full_like(bits, 11)), f64), b.full_like(kept, 2.0**-52))
    centred = b.subtract(u, b.full_like(u, 1 - 2.0**-53))
    return b.multiply(b.like(chlo.ErfInvOp, centred), b.full_like(u, sqrt(2)))
