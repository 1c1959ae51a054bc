"""Random directions from a seed: the same on every machine and backend.

The seed is a number, which may be traced, so that a compiled estimate draws anew for each seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import builder, convert, shape_of, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec, spec_of
from wengert.transforms.ad.building_blocks.random_directions import DISTRIBUTIONS, Distribution, draw, state_of


def random_directions(seed: Any, specs: Sequence[ArraySpec], samples: int, distribution: Distribution) -> list[Any]:
    """For each array an array of so many random ones like it, along dimension 0; in a trace.

    Raises:
        TracedTypeError: the seed is no integer, or an array does not hold real floats.
        TracedValueError: there is no such distribution, or no sample.
    """
    if distribution not in DISTRIBUTIONS:
        raise value_error(f"there are no {distribution!r} directions", f"there are: {', '.join(DISTRIBUTIONS)}")
    if samples < 1:
        raise value_error(f"an estimate needs a sample, found samples={samples}")
    spec = spec_of(seed)
    if shape_of(seed) != () or spec.dtype.kind not in "iu":
        raise type_error(f"a seed is an integer, found {spec}")
    b, drawn = builder(), list[Any]()
    state = state_of(b, value_of(seed, np.dtype(np.int64)))
    for spec in specs:
        if spec.dtype.kind != "f":
            raise type_error(f"random directions are real numbers, and {spec} takes others")
        state, numbers = draw(b, state, (samples, *spec.shape), distribution)
        drawn.append(traced(convert(numbers, np.dtype(spec.dtype))))
    return drawn
