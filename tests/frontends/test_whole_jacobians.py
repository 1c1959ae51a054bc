"""Traced Jacobians and Hessians by any way that a program of their own has: trees, nesting, batches, and what cannot be a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.pytrees import flatten
from wengert.lab.strategies import default

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal(6), RNG.standard_normal((6, 6))
BATCH = RNG.standard_normal((4, 6))


@pytest.fixture(params=["eliminate{order=best}", "seeded-jacobian{mode=forward}"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the two modes, whatever is the fastest here."""
    text = request.param

    def chosen(program: wg.Program, wrt: tuple[int, ...], of: tuple[int, ...], measure: bool | None) -> str:
        return f"{text[:-1]} wrt={','.join(map(str, wrt))} of={','.join(map(str, of))}}}"

    monkeypatch.setattr(default, "jacobian_passes", chosen)
    monkeypatch.setattr(default, "hessian_plan", lambda *_: "compressed over reverse")


def agree(actual: Any, expected: Any) -> None:
    given, spec = flatten(actual)
    wanted, wanted_spec = flatten(expected)
    assert spec == wanted_spec
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def of_two(x: Any, w: Any) -> Any:
    return {"y": wnp.tanh(w @ x), "s": wnp.sum(x * x) * w[0]}


def of_tree(tree: Any, *, scale: float = 2.0) -> Any:
    return wnp.sin(tree["b"][0] @ tree["a"]) * scale, tree["b"][1] ** 2


def of_one(x: Any) -> Any:
    return wnp.cumulative_sum(wnp.sin(x)) * x[0]


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0)])
def test_arguments_in_any_order(argnums: Any) -> None:
    agree(wg.jacobian(of_two, argnums)(X, W), wg.jacfwd(of_two, argnums)(X, W))
    agree(wg.hessian(of_two, argnums)(X, W), wg.jacfwd(wg.jacrev(of_two, argnums), argnums)(X, W))


def test_trees_and_keywords() -> None:
    tree = {"a": X, "b": (W, X[:3])}
    agree(wg.jacobian(of_tree)(tree, scale=3.0), wg.jacrev(of_tree)(tree, scale=3.0))


@pytest.mark.parametrize(
    "of",
    [
        lambda way: wg.jit(way(of_one))(X),
        lambda way: wg.vmap(way(of_one))(BATCH),
        lambda way: wg.grad(lambda x: wnp.sum(way(of_one)(x) ** 2))(X),
        lambda way: wg.jvp(way(of_one), (X,), (BATCH[0],)),
        lambda way: way(way(of_one))(X),
        lambda way: wg.vmap(lambda s: way(lambda x: wnp.sin(x) * s)(X))(X),  # no program of its own
    ],
    ids=["jit", "vmap", "grad", "jvp", "twice", "closure"],
)
def test_within_other_transforms(of: Callable[[Any], Any]) -> None:
    agree(of(wg.jacobian), of(wg.jacfwd))


def test_auxiliary_results_and_integers() -> None:
    agree(wg.jacobian(lambda x: (wnp.sin(x), x[0]), has_aux=True)(X), wg.jacfwd(lambda x: (wnp.sin(x), x[0]), has_aux=True)(X))
    with pytest.raises(TypeError, match="float"):
        wg.jacobian(lambda n: n * 2)(np.arange(3))
