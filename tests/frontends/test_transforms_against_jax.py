"""Functions of the table, and transforms of them nested two deep, beside JAX's.

By default a sample, the same every time; WENGERT_TRACED_FUNCTIONS=full takes all, WENGERT_TRACED_FUNCTIONS=name,name some.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is the oracle")
import optree
from function_table import NO_FORWARD, NO_REVERSE, P
from program_table import JaxProgram
from transform_sides import SIDES

from wengert.ir.verification.verifier import verify

CHOSEN = os.environ.get("WENGERT_TRACED_FUNCTIONS", "sample")
SAMPLE = 32
TOLERANCE = 1e-10


def names() -> list[str]:
    return list(P) if CHOSEN == "full" else list(P)[::SAMPLE] if CHOSEN == "sample" else CHOSEN.split(",")


def transforms(program: JaxProgram, side: str, inputs: list[Any]) -> Callable[..., Any]:
    """One function that gives the value and everything that is compared, of the float arguments and the others."""
    xp, t, _ = SIDES[side]
    moving = [i for i, x in enumerate(inputs) if x.dtype.kind in "fc"]

    def f(*args: Any) -> list[Any]:
        return optree.tree_leaves(program.function(xp, t, *args))

    def scalar(chosen: Any, args: Any) -> Any:
        """A weighted sum of all results, so that each counts."""
        full = list(args)
        for i, x in zip(moving, chosen, strict=True):
            full[i] = x
        total = 0.0
        for leaf in f(*full):
            if leaf.dtype.kind not in "fc":
                continue
            weights = np.cos(np.arange(leaf.size, dtype=np.float64)).reshape(leaf.shape)
            total = total + xp.sum(xp.real(leaf) * weights) + (xp.sum(xp.imag(leaf) * weights) if leaf.dtype.kind == "c" else 0.0)
        return total

    reverse = t.grad(scalar) if program.name not in NO_REVERSE else None

    def everything(args: Any, chosen: Any, direction: Any) -> dict[str, Any]:
        results: dict[str, Any] = {"value": f(*args)}
        if program.name not in NO_FORWARD:
            results["jvp"] = t.jvp(lambda c: scalar(c, args), (chosen,), (direction,))[1]
            results["vmap jvp"] = t.vmap(lambda d: t.jvp(lambda c: scalar(c, args), (chosen,), (d,))[1])(tuple(xp.stack([d, 2 * d]) for d in direction))
        if reverse is not None:
            results["grad"] = reverse(chosen, args)
            results["vmap grad"] = t.vmap(lambda c: reverse(c, args))(tuple(xp.stack([c, c * 0.9]) for c in chosen))
            if program.second and program.name not in NO_FORWARD:
                results["jvp grad"] = t.jvp(lambda c: reverse(c, args), (chosen,), (direction,))[1]
            if program.second:
                weighted = lambda c: sum(xp.sum(g * d) for g, d in zip(reverse(c, args), direction, strict=True))
                results["grad grad"] = t.grad(weighted)(chosen)
        return results

    return everything


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names())
def test_agrees_with_jax(name: str) -> None:
    program = P[name]
    inputs = program.inputs("f64")
    chosen = tuple(x for x in inputs if x.dtype.kind in "fc")
    rng = np.random.default_rng(1)
    direction = tuple(rng.standard_normal(x.shape).astype(x.dtype) for x in chosen)
    by_side = {}
    for side, (_, _, compiled) in SIDES.items():
        function = compiled(transforms(program, side, inputs))
        by_side[side] = function(inputs, chosen, direction)
        if side == "ours":
            verify(function.program(inputs, chosen, direction).module)
    wrong = []
    for kind in by_side["jax"]:
        for ours, theirs in zip(optree.tree_leaves(by_side["ours"][kind]), optree.tree_leaves(by_side["jax"][kind]), strict=True):
            theirs = np.asarray(theirs)
            if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
                wrong.append(f"{kind}: {ours.dtype}{ours.shape} against {theirs.dtype}{theirs.shape}")
                continue
            scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0))) if np.all(np.isfinite(theirs)) else 1.0
            if not np.allclose(ours, theirs, rtol=0, atol=TOLERANCE * program.tolerance * scale * 10, equal_nan=True):
                wrong.append(f"{kind}: {np.max(np.abs(ours - theirs)):.1e}")
    assert wrong == []


def test_the_table_is_as_large_as_it_says() -> None:
    assert len(P) >= 150
