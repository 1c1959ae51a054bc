"""How transforms and rules take their arguments, beside JAX's: positions in any order, names, defaults, what comes besides."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import optree
import pytest

jax = pytest.importorskip("jax", reason="JAX is the oracle")
from transform_sides import SIDES

import wengert as wg

X = np.array([0.3, 0.5, -0.7])


def argnums_in_another_order(xp: Any, t: Any) -> Any:
    f = lambda a, b, c: xp.sum(a["x"] ** 2 * b) * c
    point = {"x": X}, X + 1, 2.0
    return t.grad(f, argnums=(2, 0))(*point), t.value_and_grad(f, (1, 0))(*point), t.jacrev(f, (1, 0))(*point), t.jacfwd(f, (2, 0))(*point)


def something_besides(xp: Any, t: Any) -> Any:
    f = lambda a: (xp.sin(a), {"seen": a * 3})
    return t.jacfwd(f, has_aux=True)(X), t.jacrev(f, has_aux=True)(X), t.hessian(f, has_aux=True)(X)


def rules_per_argument(xp: Any, t: Any) -> Any:
    @t.custom_jvp
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y + z

    f.defjvps(lambda x_dot, value, x, y, z: 7 * x_dot * value, None, lambda z_dot, value, x, y, z: z_dot * x)
    return t.grad(f, (0, 1, 2))(2.0, 3.0, 4.0), t.jvp(f, (2.0, 3.0, 4.0), (1.0, 1.0, 1.0)), t.grad(t.grad(f))(2.0, 3.0, 4.0)


def names_and_defaults(xp: Any, t: Any) -> Any:
    @t.custom_vjp
    def f(x: Any, y: Any = 2.0) -> Any:
        return x * y

    f.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, bar: (5 * bar * residuals[1], bar * residuals[0]))
    return t.grad(lambda x: f(x))(2.0), t.grad(lambda x: f(x, y=3.0))(2.0), t.grad(lambda x: f(y=x, x=3.0))(2.0), f(1.0)


def traced_and_not_differentiated(xp: Any, t: Any) -> Any:
    @partial(t.custom_vjp, nondiff_argnums=(1,))
    def f(x: Any, n: int) -> Any:
        return x**n

    f.defvjp(lambda x, n: (x**n, x), lambda n, x, bar: (100 * n * x * bar,))

    @partial(t.custom_jvp, nondiff_argnums=(0, 2))
    def g(h: Any, x: Any, k: float) -> Any:
        return h(x) * k

    g.defjvp(lambda h, k, primals, tangents: (h(primals[0]) * k, 3 * k * tangents[0]))
    return (
        t.grad(f)(2.0, 3),
        t.grad(lambda x: f(x, 2) * f(x, 3))(1.5),
        t.grad(lambda x: g(xp.sin, x, 4.0))(0.5),
        t.jit(t.grad(lambda x, k: g(xp.sin, x, k)))(0.5, 4.0),
    )


def unrolled(xp: Any, t: Any) -> Any:
    return t.scan(lambda c, x: (c * x + 1, c), 1.0, X, unroll=2)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    [argnums_in_another_order, something_besides, rules_per_argument, names_and_defaults, traced_and_not_differentiated, unrolled],
    ids=lambda c: c.__name__,
)
def test_agrees_with_jax(case: Any) -> None:
    (actual, structure), (expected, same) = (optree.tree_flatten(case(*SIDES[side][:2])) for side in ("ours", "jax"))
    assert structure == same
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def rule(backward: Any, forward: Any = lambda x, y: (x * y, (x, y))) -> Any:
    f = wg.custom_vjp(lambda x, y: x * y)
    f.defvjp(forward, backward)
    return wg.grad(lambda x: wg.numpy.sum(f(x, x)))(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rule(lambda residuals, bar: (bar,)), "must return a tuple of 2 cotangents"),
        (lambda: rule(lambda residuals, bar: (wg.numpy.sum(bar), bar)), r"has the shape \(\) where \(3,\) is expected"),
        (lambda: rule(lambda residuals, bar: (bar, 0), lambda x, y: x * y), "the forward rule of f must return a pair"),
        (lambda: wg.custom_vjp(lambda x, *, k: x * k)(1.0, k=2.0), "arguments that cannot be passed by position: k"),
        (lambda: wg.custom_vjp(lambda x: x)(1.0, 2.0), "too many positional arguments"),
        (lambda: wg.scan(lambda c, x: c, 1.0, X), "must return a pair for scan"),
        (lambda: wg.scan(lambda c, x: ((c, c), x), 1.0, X), "the body of scan carries"),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(wg.TracingError, match=message) as caught:
        call()
    assert caught.value.diagnostic.file == __file__


def by_vjp(bar: Any) -> Any:
    f = wg.custom_vjp(wg.numpy.sin)
    f.defvjp(lambda x: (wg.numpy.sin(x), x), lambda x, y_bar: (bar(x, y_bar),))
    return wg.jvp(f, (X,), (X,))[1]


def by_jvp(dot: Any) -> Any:
    f = wg.custom_jvp(wg.numpy.sin)
    f.defjvp(lambda primals, tangents: (wg.numpy.sin(*primals), dot(*primals, *tangents)))
    return wg.grad(lambda x: wg.numpy.sum(f(x)))(X)


LINEAR = {
    "plain": lambda x, t: t * wg.numpy.cos(x),
    "plus zeros": lambda x, t: t + 0 * x - wg.numpy.zeros_like(x),
    "chosen or zero": lambda x, t: wg.numpy.where(x > 0.4, t, 0.0),
    "joined with zeros": lambda x, t: wg.numpy.concat([wg.numpy.zeros(1), t])[:-1],
}
AFFINE = {
    "plus one": lambda x, t: t + 1,
    "minus a residual": lambda x, t: wg.numpy.cos(x) * x - t,
    "chosen or one": lambda x, t: wg.numpy.where(x > 0.4, t, 1.0),
    "joined with a residual": lambda x, t: wg.numpy.concat([x[:1], t])[:-1],
}


@pytest.mark.parametrize("rule", [by_vjp, by_jvp], ids=lambda r: r.__name__)
def test_affine_rules_have_no_transpose(rule: Any) -> None:
    """Where a declared map would be transposed; how it adds something is at the user's line."""
    for function in LINEAR.values():
        rule(function)
    for name, function in AFFINE.items():
        with pytest.raises(wg.DiagnosticError, match="the function is affine, not linear, and has no transpose") as caught:
            rule(function)
        assert caught.value.diagnostic.line == function.__code__.co_firstlineno, name


def test_zero_as_a_cotangent() -> None:
    np.testing.assert_allclose(rule(lambda residuals, bar: (bar * residuals[1], 0)), X)
