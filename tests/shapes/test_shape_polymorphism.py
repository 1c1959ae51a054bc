"""Programs that ``jax.export`` writes for symbolic shapes, against JAX's values and gradients at several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
from jax import export
from polymorphic_programs import POLYMORPHIC, Polymorphic
from reference_programs import share

pytestmark = pytest.mark.oracle


def exported(case: Polymorphic, **options: Any) -> Any:
    scope = export.SymbolicScope(case.constraints)
    specs = []
    for text in case.shapes:
        dims, _, kind = text.partition(":")
        shape = export.symbolic_shape(dims, scope=scope) if dims else ()
        specs.append(jax.ShapeDtypeStruct(shape, jnp.int64 if kind else jnp.float64))
    return export.export(jax.jit(case.function), **options)(*specs)


def inputs_of(case: Polymorphic, sizes: dict[str, int], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    inputs = []
    for text in case.shapes:
        dims, _, kind = text.partition(":")
        shape = tuple(eval(d, {}, sizes) for d in dims.split(",")) if dims else ()
        inputs.append(rng.integers(0, 2, shape) if kind else rng.standard_normal(shape))
    return inputs


def assert_close(actual: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", share(POLYMORPHIC, 3), ids=lambda c: c.name)
def test_values_and_gradients_are_those_of_jax(case: Polymorphic) -> None:
    artifact = exported(case)
    program = wg.parse(artifact.mlir_module())
    imported = wg.from_exported(artifact.serialize())
    for seed, sizes in enumerate(case.sizes):
        inputs = inputs_of(case, sizes, seed)
        expected = jax.tree.leaves(case.function(*map(jnp.asarray, inputs)))
        assert_close(program(*inputs), expected)
        assert_close(imported(*inputs), expected)
        wrt = [i for i, x in enumerate(inputs) if np.asarray(x).dtype == np.float64]
        of = [j for j, y in enumerate(expected) if y.dtype == np.float64]
        bars = [np.cos(np.arange(np.size(expected[j]))).reshape(np.shape(expected[j])) for j in of]

        def moved(*xs: Any, given: Any = inputs, wrt: Any = wrt, of: Any = of) -> Any:
            full = list(map(jnp.asarray, given))
            for i, x in zip(wrt, xs, strict=True):
                full[i] = x
            leaves = jax.tree.leaves(case.function(*full))
            return [leaves[j] for j in of]

        _, pull = jax.vjp(moved, *[inputs[i] for i in wrt])
        actual = program.vjp(wrt=wrt, of=of)(*inputs, *bars)[len(expected) :]
        assert_close(actual, pull([jnp.asarray(b) for b in bars]))


def test_the_shapes_that_the_export_excludes_are_refused_in_its_words() -> None:
    program = wg.parse(exported(POLYMORPHIC[0]).mlir_module())
    with pytest.raises(DiagnosticError, match=r"Division had remainder 1 when computing the value of 'b'"):
        program(np.zeros(3), np.zeros(3))
    with pytest.raises(DiagnosticError, match=r"dimension size args\[1\].shape\[0\] \(= 4\) and the specification '2\*b' \(= 2\)"):
        program(np.zeros(2), np.zeros(4))


def test_an_artifact_for_several_platforms() -> None:
    def function(x: Any) -> Any:
        return jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos)

    case = Polymorphic("platforms", function, ("b",))
    for platforms in (("cpu", "cuda"), ("cuda", "cpu")):
        imported = wg.from_exported(exported(case, platforms=platforms).serialize())
        for n in (2, 3):
            x = np.arange(float(n))
            np.testing.assert_allclose(imported(x), np.sin(x))


def test_imported_functions_are_differentiated_and_batched_at_any_size() -> None:
    imported = wg.from_exported(exported(Polymorphic("f", lambda x: (jnp.sin(x) * x).sum() / x.shape[0], ("b",))).serialize())
    for n in (2, 4):
        x = np.arange(float(n)) / 3
        np.testing.assert_allclose(wg.grad(imported)(x), (np.cos(x) * x + np.sin(x)) / n, rtol=1e-12)
        np.testing.assert_allclose(wg.vmap(imported)(np.stack([x, 2 * x])), [np.mean(np.sin(x) * x), np.mean(np.sin(2 * x) * 2 * x)], rtol=1e-12)
