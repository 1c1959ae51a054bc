"""Random directions from the state of a generator: the same bits on every backend.

Bits are those of Threefry (J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), StableHLO's ``rng_bit_generator``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal, get_args

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir.tensor_types import f64, tensor, ui64

Distribution = Literal["rademacher", "normal"]
"""Signs, which have the least variance, or normal numbers. Both have mean 0 and unit covariance."""
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


def distribution_names() -> list[str]:
    """The distributions, by name."""
    return list(DISTRIBUTIONS)


def state_of(b: OpBuilder, seed: Value) -> Value:
    """The state of a generator for a seed, a scalar integer."""
    word = b.reshape(b.convert(seed, ui64), [1])
    return b.concatenate([word, b.zeros(tensor((1,), ui64))], 0)


def draw(b: OpBuilder, state: Value, extents: Sequence[int], distribution: Distribution) -> tuple[Value, Value]:
    """The next state, and random numbers in 64 bits."""
    algorithm = {"rng_algorithm": sa.RngAlgorithmAttr(sa.RngAlgorithm.THREE_FRY)}
    next_state, bits = b.create(hlo.RngBitGeneratorOp, (state,), (state.type, tensor(extents, ui64)), algorithm)
    return next_state, (_signs if distribution == "rademacher" else _normal)(b, bits)


def _signs(b: OpBuilder, bits: Value) -> Value:
    """-1 or 1, by the highest bit."""
    one = b.convert(b.like(hlo.ShiftRightLogicalOp, bits, b.full_like(bits, 63)), f64)
    return b.subtract(b.full_like(one, 1), b.multiply(one, b.full_like(one, 2)))


def _normal(b: OpBuilder, bits: Value) -> Value:
    """Standard normal numbers, by the inverse of their distribution at the middle of steps of 2^-52."""
    kept = b.convert(b.like(hlo.ShiftRightLogicalOp, bits, b.full_like(bits, 11)), f64)
    centred = b.subtract(b.multiply(kept, b.full_like(kept, 2.0**-52)), b.full_like(kept, 1 - 2.0**-53))
    return b.multiply(b.like(chlo.ErfInvOp, centred), b.full_like(kept, sqrt(2)))
