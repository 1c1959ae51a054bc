"""An adapter from gradient benchmarks to wengert's public API.

``make`` is called with the StableHLO text of a scalar function and the names of what is asked; it knows nothing of the
single benchmarks. An output ``d_x`` is the gradient with respect to the input ``x``.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Mapping[str, Array]
Call = Callable[[tuple[Any, ...]], Sequence[Array]]


def make(eval_name: str, size_name: str, params: Mapping[str, Any], inputs: Inputs, programs: Mapping[str, Path]) -> tuple[Call, float]:
    """The compiled derivative that an evaluation asks for, and how long it took to make.

    Raises:
        NotImplementedError: what is asked is not a gradient.
    """
    asked = importlib.import_module("evals").EVALS[eval_name].outputs
    names = list(inputs)
    if not all(name.startswith("d_") and name[2:] in names for name in asked):
        raise NotImplementedError(f"what is asked is not a gradient: {', '.join(asked)}")
    start = time.perf_counter()
    call = gradient(programs[f"{eval_name}_{size_name}"], [names.index(name[2:]) for name in asked])
    prepared = prepare(inputs)
    call(prepared)
    first = time.perf_counter() - start
    call.prepare = prepare  # type: ignore[attr-defined]
    return call, first


def gradient(path: Path, wrt: Sequence[int]) -> Call:
    """The gradient of a scalar program."""
    compiled = wg.load(path).vjp(wrt=wrt).compile()
    seed = np.ones((), compiled.signature.results[0].dtype)

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        return compiled(*prepared, seed)[1:]

    return call


def prepare(inputs: Inputs) -> tuple[Array, ...]:
    """The inputs as a compiled program takes them."""
    return tuple(np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value) for value in inputs.values())
