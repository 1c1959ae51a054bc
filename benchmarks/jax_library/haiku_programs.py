"""Programs of haiku: training losses of its modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.jax_library.program import Made, Program, floats, noise


def _transformed(function: Callable[..., Any], *inputs: Any) -> Made:
    """The mean square of what a function with modules makes of its inputs, with random numbers from a typed key."""
    import haiku as hk
    import jax
    import jax.numpy as jnp

    net = hk.transform(function)
    parameters = floats(net.init(jax.random.PRNGKey(0), *inputs))
    return lambda p, key, *xs: jnp.mean(jnp.square(net.apply(p, key, *xs))), (parameters, jax.random.key(1), *inputs)


def mlp() -> Made:
    import haiku as hk

    return _transformed(lambda x: hk.nets.MLP([8, 2])(x, dropout_rate=0.2, rng=hk.next_rng_key()), noise(0, 5, 3))


def cnn() -> Made:
    """With batch statistics, which are a result too."""
    import haiku as hk
    import jax
    import jax.numpy as jnp

    def forward(x: Any) -> Any:
        x = hk.BatchNorm(True, True, 0.9)(hk.Conv2D(4, 3)(x), True)
        return hk.Linear(3)(hk.Flatten()(hk.max_pool(jax.nn.silu(x), (2, 2), (2, 2), "VALID")))

    net, x = hk.transform_with_state(forward), noise(0, 2, 6, 6, 1)
    parameters, state = net.init(jax.random.PRNGKey(0), x)

    def loss(p: Any, state: Any, x: Any) -> Any:
        y, state = net.apply(p, state, None, x)
        return -jnp.mean(jax.nn.log_softmax(y)[:, 0]), state

    return loss, (floats(parameters), floats(state), x)


def attention() -> Made:
    import haiku as hk
    import jax.numpy as jnp

    def forward(x: Any) -> Any:
        x = hk.LayerNorm(-1, True, True)(x)
        return hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x, mask=jnp.tril(jnp.ones((1, 1, 5, 5))))

    return _transformed(forward, noise(0, 2, 5, 8))


def lstm() -> Made:
    import haiku as hk

    def forward(xs: Any) -> Any:
        core = hk.LSTM(4)
        return hk.dynamic_unroll(core, xs, floats(core.initial_state(2)))[0]

    return _transformed(forward, noise(0, 6, 2, 3))


PROGRAMS = (
    Program("haiku", "MLP with dropout by a typed key", mlp, second=True),
    Program("haiku", "CNN with batch statistics", cnn),
    Program("haiku", "causal attention, layer norm", attention, second=True),
    Program("haiku", "LSTM, unrolled by scan", lstm, second=True),
)
