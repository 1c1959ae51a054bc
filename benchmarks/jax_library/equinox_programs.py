"""Programs of equinox: modules, checked values, its loops and rules."""

from __future__ import annotations

from benchmarks.jax_library.program import Made, Program, floats, noise


def mlp() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    parameters, static = eqx.partition(eqx.nn.MLP(3, 2, 8, 2, key=jax.random.PRNGKey(0)), eqx.is_array)
    return lambda p, x, y: jnp.mean((jax.vmap(eqx.combine(p, static))(x) - y) ** 2), (floats(parameters), noise(0, 5, 3), noise(1, 5, 2))


def convolutions() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    layers = [eqx.nn.Conv2d(1, 3, 3, key=keys[0]), eqx.nn.MaxPool2d(2, 2), jax.nn.relu, jnp.ravel, eqx.nn.Linear(27, 4, key=keys[1]), jax.nn.log_softmax]
    parameters, static = eqx.partition(eqx.nn.Sequential([x if isinstance(x, eqx.Module) else eqx.nn.Lambda(x) for x in layers]), eqx.is_array)
    return lambda p, x: -jnp.mean(jax.vmap(eqx.combine(p, static))(x)[:, 1]), (floats(parameters), noise(0, 2, 1, 8, 8))


def attention() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    module = eqx.nn.MultiheadAttention(2, 8, dropout_p=0.25, key=jax.random.PRNGKey(0))
    parameters, static = eqx.partition(module, eqx.is_inexact_array)
    mask = jnp.tril(jnp.ones((5, 5), bool))
    loss = lambda p, x, key: jnp.sum(jnp.sin(eqx.combine(p, static)(x, x, x, mask, key=key)))  # noqa: E731
    return loss, (floats(parameters), noise(0, 5, 8), jax.random.key(3))


def lstm() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    parameters, static = eqx.partition(eqx.nn.LSTMCell(3, 4, key=jax.random.PRNGKey(0)), eqx.is_array)

    def loss(p: object, xs: jax.Array) -> jax.Array:
        cell = eqx.combine(p, static)
        start = (jnp.zeros(4, xs.dtype), jnp.zeros(4, xs.dtype))
        (h, _), hs = jax.lax.scan(lambda s, x: (cell(x, s), s[0]), start, xs)
        return jnp.sum(h**2) + jnp.mean(jnp.sin(hs))

    return loss, (floats(parameters), noise(0, 6, 3))


def checked() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def f(x: jax.Array) -> jax.Array:
        x = eqx.error_if(x, jnp.any(x < -100), "x is too small")
        return jnp.sum(jnp.sin(x) * jax.lax.fori_loop(0, 3, lambda _, y: eqx.error_if(y * 1.1, jnp.any(y > 1e6), "y is too large"), x))

    return f, (noise(0, 4),)


def bounded_loop() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def f(x: jax.Array) -> jax.Array:
        step = lambda s: (jnp.sin(s[0]) + 0.5 * x, s[1] + 1)  # noqa: E731
        y, _ = eqx.internal.while_loop(lambda s: s[1] < 5, step, (x, 0), max_steps=16, kind="checkpointed")
        return jnp.sum(y**2)

    return f, (noise(0, 3),)


def filtered_rule() -> Made:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    @eqx.filter_custom_vjp
    def clipped(x: jax.Array, low: float) -> jax.Array:
        return jnp.maximum(x, low)

    @clipped.def_fwd
    def _forward(perturbed: object, x: jax.Array, low: float) -> tuple[jax.Array, None]:
        return jnp.maximum(x, low), None

    @clipped.def_bwd
    def _backward(residuals: object, y_bar: jax.Array, perturbed: object, x: jax.Array, low: float) -> jax.Array:
        return 2 * y_bar

    return lambda x: jnp.sum(jax.vmap(lambda v: clipped(v, 0.1))(x) ** 2), (noise(0, 5),)


PROGRAMS = (
    Program("equinox", "MLP, mean squares", mlp, second=True),
    Program("equinox", "convolutions, max pooling", convolutions),
    Program("equinox", "attention, mask and dropout by a typed key", attention, second=True),
    Program("equinox", "LSTM over a sequence", lstm, second=True),
    Program("equinox", "error_if, also in a loop", checked, second=True),
    Program("equinox", "checkpointed while loop", bounded_loop, reverse_only=True),
    Program("equinox", "filter_custom_vjp under vmap", filtered_rule, reverse_only=True),
)
