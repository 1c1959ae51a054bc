"""JAX functions as programs, and programs as JAX functions: values, derivatives and batches agree.

By default a few imported functions; WENGERT_TRACED_FUNCTIONS=full takes all of them.
"""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp
from all_programs import PROGRAMS
from transform_sides import JAX

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.printing.printer import print_module
from wengert.runtime.errors import InputError

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
IMPORTED = [name for name, p in PROGRAMS.items() if not (p.hidden or p.primal_only) and all(a[0] not in "hez" for a in p.arguments.split())][::9]
FULL = os.environ.get("WENGERT_TRACED_FUNCTIONS") == "full"
CHOSEN = IMPORTED if FULL else ["tridiagonal_solve", *IMPORTED[::20]]
X, W = np.linspace(-1.0, 1.0, 3), np.arange(6.0).reshape(2, 3) / 7


def scalar(xp: Any, leaves: Any) -> Any:
    """A weighted sum of the float results."""
    weights = [np.cos(np.arange(leaf.size)).reshape(leaf.shape) for leaf in leaves]
    return sum((xp.sum(xp.real(leaf) * w) for leaf, w in zip(leaves, weights, strict=True) if leaf.dtype.kind in "fc"), 0.0)


def test_there_are_thirty_functions() -> None:
    assert len(IMPORTED) >= 30


@pytest.mark.parametrize("name", CHOSEN)
def test_imported_functions_agree(name: str) -> None:
    program = PROGRAMS[name]
    inputs = program.inputs("f64")
    ours = wg.from_jax(program.function, *inputs)
    wanted = jax.tree_util.tree_leaves(jax.jit(program.function)(*inputs))
    for actual, value in zip(jax.tree_util.tree_leaves(ours(*inputs)), wanted, strict=True):
        np.testing.assert_allclose(actual, value, rtol=1e-9, atol=1e-9 * program.tolerance)
    moving = tuple(i for i, x in enumerate(inputs) if x.dtype.kind == "f")
    ours_scalar = lambda *args: scalar(wnp, jax.tree_util.tree_leaves(ours(*args)))
    reference_scalar = lambda *args: scalar(jnp, jax.tree_util.tree_leaves(program.function(*args)))
    try:
        reference = jax.jit(jax.grad(reference_scalar, argnums=moving))(*inputs)
    except ValueError as error:  # JAX does not reverse loops that it cannot count
        assert "Reverse-mode differentiation does not work" in str(error)  # noqa: PT017
        reference = jax.jit(jax.jacfwd(reference_scalar, argnums=moving))(*inputs)
    actual = wg.grad(ours_scalar, argnums=moving)(*inputs)
    for ours_bar, theirs in zip(actual, reference, strict=True):
        np.testing.assert_allclose(ours_bar, theirs, rtol=1e-8, atol=1e-8 * program.tolerance * max(1.0, float(np.max(np.abs(theirs), initial=0))))


def model(p: Any, x: Any) -> Any:
    return {"y": jnp.sin(p["w"] @ x), "s": jnp.sum(x)}


def test_imported_functions_keep_trees_lines_and_unused_arguments() -> None:
    f = wg.from_jax(model, {"w": W, "unused": X}, X)
    actual = f({"w": W, "unused": X}, X)
    np.testing.assert_allclose(actual["y"], np.sin(W @ X))
    assert [p.name for p in f.program.signature.arguments] == ["args[0]['unused']", "args[0]['w']", "args[1]"]
    assert "test_jax_exchange.py" in f.program.text(locations=True)
    with pytest.raises(InputError, match="was imported for arguments of the structure"):
        f(W, X)
    rows = wg.vmap(lambda x: f({"w": W, "unused": x}, x)["y"] * f({"w": 2 * W, "unused": x}, x)["y"])(np.stack([X, X + 1]))
    np.testing.assert_allclose(rows, [np.sin(W @ x) * np.sin(2 * W @ x) for x in (X, X + 1)])


def test_an_imported_function_stands_for_its_program() -> None:
    f = wg.from_jax(model, {"w": W}, X)
    results = f.vjp(wrt=(1,), of=(1,))(W, X, np.cos(W @ X))
    np.testing.assert_allclose(results[-1], W.T @ np.cos(W @ X) ** 2)
    assert f.signature is f.program.signature
    assert len(f.jvp().signature.arguments) == 4
    np.testing.assert_allclose(f.jacobian((1,), (1,)).compile()(W, X)[0], np.cos(W @ X)[:, None] * W)
    assert f.apply("to-core,cse").signature.results == f.compile().program.signature.results
    assert f.costs(wrt=(1,)).wrt == (1,)
    assert f.check(W, X).ok
    assert wg.strategies(f, wrt=(1,), results=(1,)).row("jacrev").name == "jacrev"
    assert "stablehlo.sine" in str(f) == f.text() == f.ir()
    assert "sine" in wg.draw(f).dot == f.draw().dot
    assert {"vjp", "jacfwd", "save", "program", "name"} <= set(dir(f))
    with pytest.raises(AttributeError, match="has no attribute 'vpj', and neither has its program"):
        _ = f.vpj
    assert not hasattr(f, "__array__")


@jax.custom_jvp
def halved(x: Any) -> Any:
    return jnp.cos(x) / 2


@halved.defjvp
def halved_jvp(primals: Any, tangents: Any) -> Any:
    return halved(primals[0]), -jnp.sin(primals[0]) * tangents[0] / 2


def with_a_rule(x: Any) -> Any:
    y = halved(x)
    return jax.lax.fori_loop(0, 3, lambda i, z: z * y, x)


@pytest.mark.parametrize("function", [with_a_rule, lambda x: jnp.sin(x) ** 2, lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3))])
def test_ops_are_at_lines_of_the_user(function: Any) -> None:
    """Neither ours nor JAX's; what is called stands before what calls it."""
    program = wg.from_jax(function, X).program
    files = set(re.findall(r'loc\("([^"]+\.py)"', print_module(program.module, locations=True)))
    root = Path(wg.__file__).resolve().parent
    assert __file__ in files
    assert not [file for file in files if Path(file).is_relative_to(root / "frontends") or "/jax/" in file]
    for op in program.module.walk():
        if op.name.startswith(("stablehlo.sine", "stablehlo.cosine")):
            line = error_at(op.location, "").diagnostic.line
            assert "sin(" in linecache.getline(__file__, line) or "cos(" in linecache.getline(__file__, line)
    assert "jit(around)" not in print_module(program.module, locations=True)


def test_a_refusal_names_the_line_of_the_user() -> None:
    def called_back(x: Any) -> Any:
        y = jnp.sin(x)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), y)

    with pytest.raises(DiagnosticError) as caught:
        wg.from_jax(called_back, X).vjp()
    seen = caught.value.diagnostic
    assert seen.file == __file__
    assert "pure_callback" in linecache.getline(__file__, seen.line)


def test_a_refusal_inside_of_a_function_of_jax_names_the_call() -> None:
    def decomposed(x: Any) -> Any:
        return jax.scipy.linalg.schur(jnp.sin(x))[0]

    with pytest.raises(DiagnosticError) as caught:
        wg.from_jax(decomposed, W.T @ W).vjp()
    seen = caught.value.diagnostic
    assert seen.file == __file__
    assert "schur" in linecache.getline(__file__, seen.line)


def test_exported_artifacts() -> None:
    pytest.importorskip("flatbuffers", reason="jax.export serializes with it")
    data = jax.export.export(jax.jit(model))({"w": W}, X).serialize()
    f = wg.from_exported(data)
    np.testing.assert_allclose(f({"w": W}, X)["y"], np.sin(W @ X))
    np.testing.assert_allclose(wg.jacfwd(lambda x: f({"w": W}, x)["y"])(X), np.cos(W @ X)[:, None] * W)
    with pytest.raises(InputError, match="no artifact"):
        wg.from_exported(b"nothing")


def g(xp: Any, w: Any, x: Any) -> Any:
    return xp.tanh(w @ x) ** 2, xp.sum(xp.sin(x) * x)


TRANSFORMS = {
    "value": lambda t, s: s,
    "grad": lambda t, s: t.grad(s),
    "jacfwd": lambda t, s: t.jacfwd(s, argnums=1),
    "hessian": lambda t, s: t.hessian(s, argnums=1),
    "reverse over reverse": lambda t, s: t.jacrev(t.jacrev(s, argnums=1)),
    "forward over forward": lambda t, s: t.jacfwd(t.jacfwd(s)),
    "vmap": lambda t, s: lambda w, x: t.vmap(t.grad(s, argnums=1), in_axes=(None, 0))(w, jnp.stack([x, x + 1])),
    "grad of vmap": lambda t, s: t.grad(lambda w, x: jnp.sum(t.vmap(t.grad(s, argnums=1), in_axes=(None, 0))(w, jnp.stack([x, x + 1])) ** 2)),
    "third": lambda t, s: t.jacfwd(t.hessian(s, argnums=1), argnums=1),
    "jit": lambda t, s: t.jit(t.grad(lambda w, x: s(w, x) * jnp.sum(w))),
}


@pytest.mark.parametrize("name", list(TRANSFORMS)[:: 1 if FULL else 3])
def test_programs_are_functions_of_jax(name: str) -> None:
    program = wg.jit(lambda w, x: g(wnp, w, x)).program(W, X)
    ours, theirs = program.to_jax(), lambda w, x: g(jnp, w, x)
    actual, wanted = (jax.jit(TRANSFORMS[name](JAX, lambda w, x, f=f: jnp.sum(f(w, x)[0] ** 2) + f(w, x)[1]))(W, X) for f in (ours, theirs))
    np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-12)


def test_the_backward_part_computes_nothing_again() -> None:
    f = wg.jit(lambda x: wnp.exp(wnp.sin(x))).program(X).to_jax()
    calls = [e for e in jax.make_jaxpr(jax.grad(lambda x: jnp.sum(f(x)[0])))(X).eqns if e.primitive.name == "wengert_call"]
    assert [str(e.params["program"]).count("stablehlo.exponential") for e in calls] == [1, 0]


def test_derivatives_are_functions_of_jax() -> None:
    program = wg.jit(lambda w, x: g(wnp, w, x)).program(W, X)
    outputs = program.vjp().to_jax()(W, X, np.ones(2), 1.0)
    for actual, wanted in zip(outputs[2:], jax.vjp(lambda w, x: g(jnp, w, x), W, X)[1]((np.ones(2), 1.0)), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-12)
    with pytest.raises(InputError, match="was given float32"):
        program.to_jax()(W.astype(np.float32), X)
    assert optree.tree_leaves(outputs)[0].shape == (2,)


def test_what_only_runs_here_is_refused() -> None:
    """The reverse of a loop that nobody counts keeps a tape; forward mode of it is a loop."""
    program = wg.jit(lambda x: wg.while_loop(lambda c: c < 10.0, lambda c: c * x, x)).program(2.0)
    f = program.to_jax()
    np.testing.assert_allclose(JAX.jacfwd(lambda x: f(x)[0])(2.0), 32.0)
    with pytest.raises(InputError, match=r"holds core\.tape\w+, for which StableHLO has no word"):
        JAX.grad(lambda x: f(x)[0])(2.0)


def test_typed_keys() -> None:
    """Typed keys are arguments without a derivative, and results; to programs and traced functions they are their integers."""
    f = lambda w, key: jnp.sum(w * jax.random.normal(key, (3,)))
    key, w = jax.random.key(7), np.arange(3.0)
    imported = wg.from_jax(f, w, key)
    np.testing.assert_allclose(imported(w, key), f(w, key), rtol=1e-14)
    np.testing.assert_allclose(imported.program(w, key)[0], f(w, key), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(imported)(w, key), jax.grad(f)(w, key), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(lambda w: imported(w, key))(w), jax.grad(f)(w, key), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(imported)(w, jax.random.key_data(key)), jax.grad(f)(w, key), rtol=1e-14)
    split = wg.from_jax(jax.random.split, key)(key)
    assert split.dtype == key.dtype
    assert jnp.array_equal(jax.random.key_data(split), jax.random.key_data(jax.random.split(key)))
