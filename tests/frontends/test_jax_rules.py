"""Rules of ``jax.custom_jvp`` and ``jax.custom_vjp`` survive ``wg.from_jax``: gradients beside JAX's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.special

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp
import transform_sides  # noqa: F401, for JAX's settings
from jax import lax

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def clipped(low: float, high: float) -> Callable[[Any], Any]:
    """The identity, whose cotangents are clipped: no linear map, so there is a reverse mode only."""
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, x_bar: (jnp.clip(x_bar, low, high),))
    return f


@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def scaled(factor: float, x: Any, power: int) -> Any:
    return factor * x**power


scaled.defvjp(lambda factor, x, power: (scaled(factor, x, power), x), lambda factor, power, x, y_bar: (5 * factor * power * x * y_bar,))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def applied(x: Any, f: Callable[[Any], Any]) -> Any:
    return f(x)


@applied.defjvp
def _applied_jvp(f: Any, primals: Any, tangents: Any) -> Any:
    return f(primals[0]), 3 * f(tangents[0])


@jax.custom_jvp
def logsumexp(x: Any) -> Any:
    return jnp.log(jnp.sum(jnp.exp(x - lax.stop_gradient(jnp.max(x))))) + lax.stop_gradient(jnp.max(x))


@logsumexp.defjvp
def _logsumexp_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative from the value: no quotient of infinities where elements are minus infinity."""
    (x,), (x_dot,) = primals, tangents
    y = logsumexp(x)
    return y, jnp.sum(jnp.where(x == -jnp.inf, 0.0, jnp.exp(x - y)) * x_dot)


@jax.custom_jvp
def twisted(x: Any, n: Any) -> Any:
    """Its rule calls it, and has nothing to do with the truth."""
    return jnp.sin(x) * n


@twisted.defjvp
def _twisted_jvp(primals: Any, tangents: Any) -> Any:
    return twisted(*primals), 7.0 * tangents[0] * twisted(*primals)


@jax.custom_vjp
def rounded(x: Any) -> Any:
    return jnp.round(x)


rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, y_bar: (y_bar,))  # straight through


@jax.custom_vjp
def fixed_point(a: Any) -> Any:
    """x = cos(a x), by a loop that nobody counts."""
    return lax.while_loop(lambda s: jnp.max(jnp.abs(s[0] - s[1])) > 1e-14, lambda s: (jnp.cos(a * s[0]), s[0]), (jnp.zeros_like(a), jnp.ones_like(a)))[0]


def _fixed_point_bwd(residuals: Any, x_bar: Any) -> Any:
    a, x = residuals
    _, pull = jax.vjp(lambda a, x: jnp.cos(a * x), a, x)
    u = lax.fori_loop(0, 60, lambda _, u: x_bar + pull(u)[1], x_bar)  # u = x_bar + (df/dx)^T u
    return (pull(u)[0],)


fixed_point.defvjp(lambda a: ((x := fixed_point(a)), (a, x)), _fixed_point_bwd)


def newton(f: Any, y: Any) -> Any:
    return lax.fori_loop(0, 40, lambda _, y: y - f(y) / jax.jvp(f, (y,), (jnp.ones_like(y),))[1], y)


def matrix_free(solver: Any) -> Any:
    """A solver of systems by products with a matrix, or by a function."""
    return lambda a, b: solver((lambda v: a @ v) if not callable(a) else a, b, tol=1e-14)[0]


def counted_solve(a: Any, b: Any) -> Any:
    """A diagonal system by iterations, whose number is returned too."""

    def solve(matvec: Any, b: Any) -> Any:
        def step(state: Any) -> Any:
            x, k = state
            return x + 0.4 * (b - matvec(x)), k + 1.0

        return lax.while_loop(lambda s: s[1] < 100, step, (jnp.zeros(3), 0.0))

    return lax.custom_linear_solve(lambda x: a * x, b, solve, solve, has_aux=True)


TABLE = np.array([2.0, -1.0, 0.5])


@jax.custom_jvp
def weighted(tree: Any) -> Any:
    return {"s": jnp.sum(tree["x"] * TABLE), "n": tree["n"] + 1}


@weighted.defjvp
def _weighted_jvp(primals: Any, tangents: Any) -> Any:
    (tree,), (tree_dot,) = primals, tangents
    return weighted(tree), {"s": jnp.sum(tree_dot["x"] * TABLE**2), "n": np.zeros((), jax.dtypes.float0)}


X = np.array([0.3, -0.7, 1.2])


@dataclass(frozen=True)
class Case:
    """A function of an array; gradients are those of the sum of its result. ``twice`` compares second derivatives too."""

    name: str
    function: Callable[[Any], Any]
    x: Any = field(default_factory=lambda: X)
    twice: bool = True


CASES = [
    Case("two clips", lambda x: clipped(-0.1, 0.2)(x) * clipped(-0.3, 0.1)(jnp.exp(x))),
    Case("logsumexp", logsumexp),
    Case("logsumexp of minus infinity", logsumexp, np.array([-np.inf, 0.5, -np.inf])),
    Case("twisted", lambda x: twisted(twisted(x, 3), 2)),
    Case("rounded", lambda x: rounded(3 * x) * x),
    Case("fixed point", fixed_point, twice=False),  # JAX does not reverse the loop in the function's own text
    Case("numbers and functions that are no arguments", lambda x: scaled(2.0, x, 3) + scaled(1.5, x, 2) + applied(x, jnp.flip)),
    Case("trees and arrays from outside", lambda x: weighted({"x": x * x, "n": 3})["s"]),
    Case("grad inside", jax.vmap(jax.grad(lambda z: twisted(z, 2.0) * rounded(z)))),
    Case("checkpoint", jax.checkpoint(lambda x: jnp.sin(twisted(x, 2.0)))),
    Case("jit", jax.jit(lambda x: clipped(-1.0, 1.0)(5 * x) ** 2)),
    Case("cond", lambda x: lax.cond(x[0] > 0, lambda x: twisted(x, 2.0), lambda x: rounded(x) * x, x)),
    Case("scan", lambda x: lax.scan(lambda c, y: (clipped(-2.0, 2.0)(c) * y + twisted(c, 1.0), c), x[0], x)[0], twice=False),
    Case("root", lambda x: lax.custom_root(lambda y: y**3 + y - x, jnp.zeros(3), newton, lambda g, y: y / g(jnp.ones(3)))),
    Case("solve", lambda x: jnp.linalg.solve(jnp.outer(x, jnp.sin(x)) + jnp.eye(3), x) + jax.scipy.linalg.solve(jnp.outer(x, x) + jnp.eye(3), x, assume_a="pos")),
    Case("conjugate gradients", lambda x: matrix_free(jax.scipy.sparse.linalg.cg)(jnp.eye(3) + jnp.outer(x, x), x)),
    Case("bicgstab", lambda x: matrix_free(jax.scipy.sparse.linalg.bicgstab)(jnp.eye(3) + jnp.outer(x, jnp.sin(x)), x)),
    Case("gmres", lambda x: matrix_free(jax.scipy.sparse.linalg.gmres)(jnp.eye(3) + jnp.outer(x, jnp.sin(x)), x)),
    Case("a system in a branch", lambda x: lax.cond(x[0] > 0, lambda x: matrix_free(jax.scipy.sparse.linalg.cg)(jnp.eye(3) + jnp.outer(x, x), x), jnp.sin, x)),
    Case("system with a count", lambda x: (lambda s: s[0] * s[1])(counted_solve(1 + x**2, jnp.sin(x)))),
    Case("expm", lambda x: jax.scipy.linalg.expm(jnp.outer(x, jnp.cos(x))), twice=False),
    Case("loops in a rule, without tangents", lambda x: jnp.linalg.slogdet(jnp.outer(x, jnp.sin(x)) + jnp.eye(3))[1]),
    Case("stopped matrix", lambda x: jnp.linalg.solve(lax.stop_gradient(jnp.outer(x, x)) + jnp.eye(3), x)),
    Case("stopped", lambda x: lax.stop_gradient(jnp.sin(x)) * x + jnp.sum(x - lax.stop_gradient(jnp.max(x)))),
    Case("relu at 0", jax.nn.relu, np.array([-1.0, 0.0, 2.0])),
    Case("logaddexp", lambda x: jnp.logaddexp(x, jnp.flip(x)), np.array([-np.inf, 1.0, np.inf])),
    Case("special functions", lambda x: jax.scipy.special.xlogy(jnp.abs(x), x * x) + jnp.sinc(x) + jax.nn.silu(x) + jax.nn.softplus(x), np.array([0.0, 1.0, -2.0])),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_gradients_agree(case: Case) -> None:
    total = lambda x: jnp.sum(case.function(x))
    x_bar = np.cos(np.arange(3.0))
    reverse = wg.from_jax(total, case.x).program.vjp()
    value, gradient = jax.jit(jax.value_and_grad(total))(case.x)
    for ours, theirs in zip(reverse.compile("interpreter")(case.x, 1.0), (value, gradient), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)
    if case.twice:
        actual = reverse.vjp(wrt=0, of=1).compile("interpreter")(case.x, 1.0, x_bar)[-1]
        np.testing.assert_allclose(actual, jax.jit(jax.grad(lambda x: jnp.sum(jax.grad(total)(x) * x_bar)))(case.x), rtol=1e-10, atol=1e-12)


def test_second_derivatives_in_loops_follow_the_rule() -> None:
    """They are those of the loop written out (JAX's own, at the time of writing, are those of the function's text)."""
    step = lambda c, _: (twisted(c, 2.0), None)
    loop = wg.from_jax(lambda x: lax.scan(step, x, None, length=2)[0], 0.4)
    unrolled = lambda x: twisted(twisted(x, 2.0), 2.0)
    np.testing.assert_allclose(wg.grad(wg.grad(loop))(0.4), jax.grad(jax.grad(unrolled))(0.4), rtol=1e-12)
    np.testing.assert_allclose(wg.jacfwd(wg.jacfwd(loop))(0.4), jax.grad(jax.grad(unrolled))(0.4), rtol=1e-12)


def test_implicit_derivatives_in_forward_mode() -> None:
    """Ours transposes the backward rule, where JAX refuses."""
    imported = wg.from_jax(fixed_point, X)
    np.testing.assert_allclose(wg.jacfwd(imported)(X), jax.jacrev(fixed_point)(X), rtol=1e-10, atol=1e-13)


def test_equal_functions_are_written_once() -> None:
    program = wg.from_jax(lambda x: jax.nn.relu(jax.nn.relu(x) + twisted(twisted(x, 1.0), 1.0)), X).program
    from wengert.ir.printing.printer import print_module

    text = print_module(program.module)
    assert text.count("ad.custom_jvp") == 2
    assert "@twisted_jvp" in text
    assert "wengertcustom" not in text
    assert "test_jax_rules.py" in program.text(locations=True)


def test_functions_are_lowered_once_and_not_again_in_each_rule_that_calls_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.frontends.jax_functions import lowered

    texts: list[str] = []
    text = lowered._text  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(lowered, "_text", lambda *given: texts.append(text(*given)) or texts[-1])

    @jax.custom_jvp
    def inner(x: Any) -> Any:
        return jnp.arctan2(x, 2.0)

    @inner.defjvp
    def _inner(primals: Any, tangents: Any) -> Any:
        return inner(primals[0]), inner(primals[0]) * tangents[0]

    @jax.custom_jvp
    def outer(x: Any) -> Any:
        return jnp.floor(inner(x))

    @outer.defjvp
    def _outer(primals: Any, tangents: Any) -> Any:
        return outer(primals[0]), (inner(primals[0]) + outer(primals[0])) * tangents[0]

    program = wg.from_jax(lambda x: outer(x) + inner(x), X).program
    assert len(texts) == 3
    assert "stablehlo.atan2" in texts[0]
    assert not any("stablehlo.atan2" in text or "stablehlo.floor" in text for text in texts[1:])
    expected = jax.jvp(jax.grad(lambda x: jnp.sum(outer(x) + inner(x))), (X,), (X,))[1]
    reverse = program.vjp()
    np.testing.assert_allclose(reverse.jvp(wrt=[0])(X, np.ones_like(X), X)[-1], expected, rtol=1e-12)


def test_rules_of_rules_are_imported_once_where_a_primitive_is_called_at_several_depths() -> None:
    import jax.interpreters.ad as jax_ad
    import jax.interpreters.mlir as jax_mlir

    names = ["first", "second", "third"]
    made = {name: jax.extend.core.Primitive(f"wengert_test_{name}") for name in names}

    def call(name: str, x: Any) -> Any:
        return made[name].bind(x)

    for name, others in zip(names, (["second", "third"], ["third", "first"], ["first", "second"]), strict=True):

        def rule(primals: Any, tangents: Any, name: str = name, others: Any = others) -> Any:
            x, x_dot = primals[0], tangents[0]
            return call(name, x), x_dot * (call(others[0], x) + call(others[1], x) * call(name, x))

        primitive = made[name]
        primitive.def_impl(jnp.sin)
        primitive.def_abstract_eval(lambda x: x)
        jax_mlir.register_lowering(primitive, jax_mlir.lower_fun(jnp.sin, multiple_results=False))
        jax_ad.primitive_jvps[primitive] = rule

    module = wg.from_jax(lambda x: call("first", x) + call("second", x) + call("third", x), X).program.module
    functions = [op.sym_name.data for op in module.body.block.ops if hasattr(op, "sym_name")]
    assert len(functions) <= 12, functions


def test_rules_that_raise_refuse_derivatives_only() -> None:
    """What the rule says is said by whoever asks for the derivative, at the place of the call."""
    f = jax.custom_jvp(lambda x: x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        raise NotImplementedError("there is no derivative\nof this\n\nand more")

    imported = wg.from_jax(lambda x: jnp.sum(f(jnp.sin(x))), X)
    np.testing.assert_allclose(imported(X), np.sum(np.sin(X)))
    np.testing.assert_allclose(imported.vmap([0], size=2)(np.stack([X, X]))[0], [np.sum(np.sin(X))] * 2)
    for derivative in (imported.vjp, imported.jvp, lambda: imported.vmap([0], size=2).vjp(), lambda: imported.vjp(strategy="direct")):
        with pytest.raises(DiagnosticError, match=r"test_jax_rules.py:\d+:.*is not differentiable by operand #0: there is no derivative of this\n"):
            str(derivative())


@partial(jax.custom_jvp)
def scaled_by(x: Any, factor: Any) -> Any:
    return x * factor


@partial(scaled_by.defjvp, symbolic_zeros=True)
def _scaled_by_jvp(primals: Any, tangents: Any) -> Any:
    if type(tangents[1]) is not jax.custom_derivatives.SymbolicZero:
        raise ValueError("the factor must not move")
    x_dot, factor = tangents[0], primals[1]
    if type(x_dot) is jax.custom_derivatives.SymbolicZero:
        raise ValueError("something must move")
    return scaled_by(*primals), 3 * factor * x_dot


def test_rules_that_refuse_some_tangents() -> None:
    """Symbolic zeros are seen by rules, also under jit, in loops and in batches; arguments that rules refuse may be left out of a derivative."""
    inner = lambda x, a: jax.vmap(jax.jit(scaled_by))(jnp.stack([x, 2 * x]), jnp.stack([lax.stop_gradient(a), jnp.floor(a)]))
    total = lambda x, a: jnp.sum(lax.fori_loop(0, 2, lambda _, s: inner(s, a)[0] + inner(s, a)[1], x))
    program = wg.from_jax(total, X, X + 1).program
    expected = jax.grad(total)(X, X + 1)
    np.testing.assert_allclose(program.vjp()(X, X + 1, 1.0)[1], expected, rtol=1e-12)
    plain = wg.from_jax(lambda x, a: jnp.sum(scaled_by(x, a)), X, X + 1).program
    np.testing.assert_allclose(plain.vjp(wrt=0)(X, X + 1, 1.0)[1], 3 * (X + 1), rtol=1e-12)
    with pytest.raises(DiagnosticError, match="operand #1: the factor must not move"):
        str(plain.vjp(wrt=1))


def test_rules_that_use_values_around_them() -> None:
    """They are refused where they are asked for: the function itself, and derivatives that need no such rule, are there."""

    def around(x: Any) -> Any:
        y = jnp.sin(x)
        g = jax.custom_jvp(lambda z: z * 2)
        g.defjvp(lambda p, t: (2 * p[0], y * t[0]))
        return g(x)

    program = wg.from_jax(around, X).program
    np.testing.assert_allclose(program(X)[0], 2 * X, rtol=1e-12)
    with pytest.raises(DiagnosticError, match="the rule of <lambda> uses values of the function around it"):
        str(program.vjp())


def test_a_rule_that_uses_its_own_constant_for_the_second_derivative() -> None:
    """The rule of the exponential integral calls the function of the order below, whose order is a value of the first rule. JAX has no second derivative either."""
    program = wg.from_jax(lambda x: jax.scipy.special.exp1(x).sum(), np.abs(X) + 0.5).program
    x = np.abs(X) + 0.5
    np.testing.assert_allclose(program(x)[0], scipy.special.exp1(x).sum(), rtol=1e-12)
    np.testing.assert_allclose(program.vjp()(x, 1.0)[1], -np.exp(-x) / x, rtol=1e-12)
    with pytest.raises(DiagnosticError, match="the rule of expn uses values of the function around it"):
        str(program.vjp().jvp())


def test_rules_without_end() -> None:
    """The rule of sinc at 0 calls another function for each derivative."""
    program, actual = wg.from_jax(jnp.sinc, 0.0).program, []
    for order in range(6):
        actual.append(float(program(*[0.0, *[1.0] * order])[-1]))
        if order < 5:
            program = program.jvp(wrt=0, of=len(program.signature.results) - 1)
    np.testing.assert_allclose(actual[:5], [1.0, 0.0, -(np.pi**2) / 3, 0.0, np.pi**4 / 5], atol=1e-12)
    with pytest.raises(wg.DiagnosticError, match="rule_of_sinc_maclaurin_which_is_more_than_6_rules_deep"):
        program.jvp(wrt=0, of=5).jvp(wrt=0, of=6)


def test_systems_keep_their_meaning() -> None:
    """They are ops that name the map and its solvers, inside of loops too; what is solved by factors has rules of its own."""
    from wengert.ir.printing.printer import print_module

    solve = matrix_free(jax.scipy.sparse.linalg.cg)
    imported = wg.from_jax(lambda a, b: lax.fori_loop(0, 2, lambda _, b: solve(a, b), b), np.eye(3), X)
    assert print_module(imported.program.module).count("ad.custom_linear_solve @") == 1
    assert "ad.custom_linear_solve" not in print_module(wg.from_jax(jnp.linalg.solve, np.eye(3), X).program.module)
    assert "core.tape" not in str(imported.program.vjp())
    batched = wg.vmap(wg.grad(lambda a, b: wnp.sum(wg.from_jax(solve, np.eye(3), X)(a, b)), argnums=1), in_axes=(None, 0))
    matrix = np.eye(3) + np.outer(X, X)
    np.testing.assert_allclose(batched(matrix, np.stack([X, 2 * X])), np.tile(np.linalg.solve(matrix, np.ones(3)), (2, 1)), rtol=1e-11)


def test_roots_by_matrix_free_solvers() -> None:
    """Where JAX (0.10) has no reverse mode."""
    root = wg.from_jax(lambda x: lax.custom_root(lambda y: y**3 + y - x, jnp.zeros(3), newton, matrix_free(jax.scipy.sparse.linalg.cg)), X)
    y = root(X)
    np.testing.assert_allclose(wg.jacrev(root)(X), np.diag(1 / (3 * y**2 + 1)), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(wg.jacfwd(root)(X), np.diag(1 / (3 * y**2 + 1)), rtol=1e-10, atol=1e-13)


def test_a_rule_whose_results_are_batched_where_those_of_its_function_are_not() -> None:
    """``vmap`` of a function that is constant, by its rule it is not: JAX stages the function alone, and has no derivative of that either."""
    constant = jax.custom_jvp(lambda x: jnp.zeros(x.shape))
    constant.defjvp(lambda p, t: (jnp.zeros(p[0].shape), t[0]))
    program = wg.from_jax(lambda x: jax.vmap(constant)(x), X).program
    np.testing.assert_array_equal(program(X)[0], np.zeros(3))
    for derivative in (program.jvp, program.vjp):
        with pytest.raises(DiagnosticError, match="depends on batched values that the function itself does not depend on"):
            str(derivative())


def test_forward_mode_of_a_reverse_rule_that_calls_another() -> None:
    """It is refused by the name of the function whose rule says nothing about tangents, as JAX refuses all of these."""
    inner = jax.custom_vjp(jnp.sin)
    inner.defvjp(lambda x: (jnp.sin(x), x), lambda x, y_bar: (jnp.cos(x) * y_bar,))
    outer = jax.custom_vjp(jnp.sin)
    outer.defvjp(lambda x: (jnp.sin(x), x), lambda x, y_bar: (inner(y_bar) * x,))
    program = wg.from_jax(outer, X).program
    np.testing.assert_allclose(program.vjp()(X, X)[1], np.sin(X) * X, rtol=1e-12)
    with pytest.raises(DiagnosticError, match=r"of @sin\w*, which declares its own derivative, is not linear: it has no transpose"):
        str(program.jvp())
