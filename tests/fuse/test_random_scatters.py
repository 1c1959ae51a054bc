"""Scatters of every shape: windows that fill a dimension, are inserted or batched, indices of every type and out of bounds.

The reference is the specification read literally (StableHLO, ``scatter``): one update element after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from native_checks import DTYPES, check, tensor

Array = np.ndarray[Any, np.dtype[Any]]
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
    "maximum": max,
    "minimum": min,
}


class Scatter(Struct, frozen=True):
    """The dimension numbers of a scatter, and its shapes."""

    operand: tuple[int, ...]
    windows: tuple[int, ...]
    """The extents of the window in each dimension of the operand: 1 where it is inserted or batched."""
    inserted: tuple[int, ...]
    batching: tuple[int, ...]
    moved: tuple[int, ...]
    """The dimensions that indices move the window along, in the order of the index vector."""
    batch: tuple[int, ...]
    """The extents of the indices without the index vector; the first ones are those of the batching dimensions."""
    vector_first: bool
    window_first: bool

    @property
    def window_shape(self) -> tuple[int, ...]:
        return tuple(n for d, n in enumerate(self.windows) if d not in (*self.inserted, *self.batching))

    @property
    def indices(self) -> tuple[int, ...]:
        return (len(self.moved), *self.batch) if self.vector_first else (*self.batch, len(self.moved))

    @property
    def updates(self) -> tuple[int, ...]:
        return (*self.window_shape, *self.batch) if self.window_first else (*self.batch, *self.window_shape)

    def text(self, combine: str, element: str, index: str) -> str:
        start = 0 if self.window_first else len(self.batch)
        shift = 1 if self.vector_first else 0
        numbers = (
            f"update_window_dims = {[start + k for k in range(len(self.window_shape))]}, inserted_window_dims = {list(self.inserted)}, "
            f"input_batching_dims = {list(self.batching)}, scatter_indices_batching_dims = {[shift + k for k in range(len(self.batching))]}, "
            f"scatter_dims_to_operand_dims = {list(self.moved)}, index_vector_dim = {0 if self.vector_first else len(self.batch)}"
        )
        x, i, u = tensor(self.operand, element), tensor(self.indices, index), tensor(self.updates, element)
        body = "stablehlo.return %b" if combine == "set" else f"%c = stablehlo.{combine} %a, %b : tensor<{element}>\nstablehlo.return %c"
        return f"""func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{
          %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
          ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
            {body} : tensor<{element}>
          }}) : ({x}, {i}, {u}) -> {x}
          return %0 : {x}
        }}"""

    def reference(self, combine: str, x: Array, indices: Array, updates: Array) -> Array:
        y = x.copy()
        vectors = np.moveaxis(indices, 0, -1) if self.vector_first else indices
        for at in np.ndindex(*self.batch):
            start = [0] * len(self.operand)
            for d, k in zip(self.moved, vectors[at], strict=True):
                start[d] = int(k)
            for d, k in zip(self.batching, at, strict=False):
                start[d] = k
            if any(s < 0 or s + w > n for s, w, n in zip(start, self.windows, self.operand, strict=True)):
                continue  # the whole window is dropped
            for offset in np.ndindex(*self.window_shape):
                rest = iter(offset)
                place = tuple(s if d in (*self.inserted, *self.batching) else s + next(rest) for d, s in enumerate(start))
                y[place] = COMBINE[combine](y[place], updates[(*offset, *at) if self.window_first else (*at, *offset)])
        return y


@st.composite
def scatters(draw: st.DrawFn) -> Scatter:
    rank = draw(st.integers(1, 3))
    operand = tuple(draw(st.sampled_from([1, 2, 3, 4, 9])) for _ in range(rank))
    roles = [draw(st.sampled_from(["window", "window", "inserted", "batching"])) for _ in range(rank)]
    batching = tuple(d for d, role in enumerate(roles) if role == "batching")
    windows = tuple(draw(st.sampled_from([n, n, draw(st.integers(1, n))])) if role == "window" else 1 for n, role in zip(operand, roles, strict=True))
    moved = [d for d in range(rank) if d not in batching and (roles[d] == "inserted" or draw(st.booleans()))]
    batch = (*(operand[d] for d in batching), *draw(st.lists(st.integers(1, 4), max_size=1)))
    inserted = tuple(d for d, role in enumerate(roles) if role == "inserted")
    return Scatter(operand, windows, inserted, batching, tuple(draw(st.permutations(moved))), batch, draw(st.booleans()), draw(st.booleans()))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scatters(), st.sampled_from(list(COMBINE)), st.sampled_from(["f64", "f32", "i32"]), st.sampled_from(["i8", "i32", "i64", "ui8", "ui32"]), st.integers(0, 99)
)
def test_random_scatters(scatter: Scatter, combine: str, element: str, index: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, u = (rng.integers(-4, 5, shape).astype(DTYPES[element]) for shape in (scatter.operand, scatter.updates))
    low = 0 if index.startswith("u") else -2
    i = rng.integers(low, max(scatter.operand) + 1, scatter.indices).astype(DTYPES[index])
    (actual,) = check(scatter.text(combine, element, index), [x, i, u], native=prod(scatter.updates) > 0)
    np.testing.assert_array_equal(actual, scatter.reference(combine, x, i, u))
