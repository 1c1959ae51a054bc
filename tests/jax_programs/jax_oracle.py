"""What JAX makes of a program: its StableHLO text, and its values and derivatives at inputs drawn from a seed.

All derivatives come from one compilation. Where JAX refuses reverse mode (a loop whose iterations are not known), the VJP is
the transposed Jacobian by forward mode. Where a custom rule hides in the function, the text's JVP is estimated by
differences, and its VJP is left to the dot product test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from program_table import Array, JaxProgram

SEED = 7


@dataclass(frozen=True)
class Expected:
    """The text of a program and what it computes; derivatives are keyed by position, as ``None`` where JAX gives none."""

    text: str
    inputs: list[Array]
    outputs: list[Array]
    tangents: dict[int, Array]
    cotangents: dict[int, Array]
    jvp: dict[int, Array] | None = None
    vjp: dict[int, Array] | None = None
    hvp: dict[int, Array] | None = None
    by_differences: bool = False


def lower(program: JaxProgram, precision: str, inputs: list[Array] | None = None) -> str:
    """The text of a program, every argument kept."""
    with jax.enable_x64(precision == "f64"):
        return jax.jit(program.function, keep_unused=True).lower(*(inputs or program.inputs(precision))).as_text()


def expected(program: JaxProgram, precision: str) -> Expected:
    """Text, values and derivatives."""
    with jax.enable_x64(precision == "f64"):
        return _expected(program, precision)


def _expected(program: JaxProgram, precision: str) -> Expected:
    inputs = program.inputs(precision)
    text = lower(program, precision, inputs)
    flat = lambda *xs: [jnp.asarray(leaf) for leaf in jax.tree.leaves(program.function(*xs))]
    rng = np.random.default_rng(SEED)
    shapes = jax.eval_shape(flat, *inputs)
    tangents = {i: _direction(rng, a.shape, a.dtype) for i, a in enumerate(inputs) if _moves(a.dtype)}
    cotangents = {j: _direction(rng, s.shape, s.dtype) for j, s in enumerate(shapes) if _moves(s.dtype)}

    def restricted(full: list[Any]) -> Any:
        """The differentiable outputs as a function of the differentiable inputs."""

        def some(*moved: Any) -> list[Any]:
            at = dict(enumerate(full)) | dict(zip(tangents, moved, strict=True))
            outputs = flat(*(at[i] for i in range(len(full))))
            return [outputs[j] for j in cotangents]

        return some

    def derivatives(full: list[Any], xs: list[Any], ts: list[Any], cs: list[Any], reverse: bool) -> Any:
        some = restricted(full)
        pull = lambda *moved: jax.vjp(some, *moved)[1](cs)
        return jax.jvp(some, xs, ts)[1], pull(*xs) if reverse else None, jax.jvp(pull, xs, ts)[1] if reverse and program.second else None

    xs, ts, cs = [inputs[i] for i in tangents], list(tangents.values()), list(cotangents.values())
    outputs = [np.asarray(a) for a in jax.jit(flat)(*inputs)]
    if program.primal_only:
        return Expected(text, inputs, outputs, {}, {})
    if program.hidden:
        jvp = _differences(restricted(inputs), xs, ts, cotangents) if precision == "f64" else None
        return Expected(text, inputs, outputs, tangents, cotangents, jvp, by_differences=True)
    run = jax.jit(derivatives, static_argnums=4)  # inputs are arguments: XLA's constant folding has errors of its own
    try:
        jvp, vjp, hvp = run(inputs, xs, ts, cs, True)
    except ValueError as error:
        if "Reverse-mode" not in str(error):
            raise
        jvp, vjp, hvp = run(inputs, xs, ts, cs, False)
        vjp = _transposed(restricted(inputs), xs, cs)
    named = lambda keys, values: None if values is None else {k: np.asarray(v) for k, v in zip(keys, values, strict=True)}
    return Expected(text, inputs, outputs, tangents, cotangents, named(cotangents, jvp), named(tangents, vjp), named(tangents, hvp))


def _moves(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.inexact))


def _direction(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    real = rng.standard_normal(shape)
    return np.asarray(real + 1j * rng.standard_normal(shape) if jnp.issubdtype(dtype, jnp.complexfloating) else real).astype(dtype)


def _differences(function: Any, xs: list[Array], ts: list[Array], keys: dict[int, Array]) -> dict[int, Array]:
    """Central differences of fourth order along the direction."""
    run, h = jax.jit(function), 1e-3
    at = lambda k: [np.asarray(a) for a in run(*(x + k * h * t for x, t in zip(xs, ts, strict=True)))]
    return {j: (8 * (b - a) - (d - c)) / (12 * h) for j, a, b, c, d in zip(keys, at(-1), at(1), at(-2), at(2), strict=True)}


def _transposed(function: Any, xs: list[Array], cs: list[Array]) -> list[Array]:
    sizes = [x.size for x in xs]
    ends = np.cumsum(sizes)[:-1]

    def along(direction: Any) -> Any:
        parts = [p.reshape(x.shape).astype(x.dtype) for p, x in zip(jnp.split(direction, ends), xs, strict=True)]
        return sum(jnp.vdot(c, t) for c, t in zip(cs, jax.jvp(function, xs, parts)[1], strict=True))

    gradient = np.asarray(jax.jit(jax.vmap(along))(jnp.eye(sum(sizes), dtype=xs[0].dtype)))
    return [p.reshape(x.shape) for p, x in zip(np.split(gradient, ends), xs, strict=True)]
