"""Programs of flax: training losses of linen and nnx."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, floats, noise


def _linen(module: Any, *inputs: Any, **options: Any) -> Made:
    """The mean square of what a module of linen makes of its inputs."""
    import jax
    import jax.numpy as jnp

    variables = floats(module.init(jax.random.PRNGKey(0), *inputs, **options))
    return lambda v, *xs: jnp.mean(jnp.square(module.apply(v, *xs, **options))), (variables, *inputs)


def linen_mlp() -> Made:
    import flax.linen as nn

    return _linen(nn.Sequential([nn.Dense(8), nn.gelu, nn.LayerNorm(), nn.Dense(2)]), noise(0, 5, 3))


def linen_cnn() -> Made:
    """With batch statistics, which are a result too."""
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(4, (3, 3))(x)))
            return nn.Dense(3)(nn.avg_pool(x, (2, 2), strides=(2, 2)).reshape(x.shape[0], -1))

    net, x = Net(), noise(0, 2, 6, 6, 1)
    variables = floats(net.init(jax.random.PRNGKey(0), x))

    def loss(params: Any, statistics: Any, x: Any) -> Any:
        y, state = net.apply({"params": params, **statistics}, x, mutable=["batch_stats"])
        return -jnp.mean(jax.nn.log_softmax(y)[:, 0]), state

    return loss, (variables["params"], {"batch_stats": variables["batch_stats"]}, x)


def linen_attention() -> Made:
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    module, x = nn.MultiHeadDotProductAttention(num_heads=2, dropout_rate=0.2, deterministic=False), noise(0, 2, 5, 8)
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    variables = floats(module.init(keys, x, mask=nn.make_causal_mask(jnp.ones((2, 5)))))

    def loss(v: Any, x: Any, key: Any) -> Any:
        return jnp.mean(jnp.sin(module.apply(v, x, mask=nn.make_causal_mask(jnp.ones((2, 5))), rngs={"dropout": key})))

    return loss, (variables, x, jax.random.key(2))


def linen_lstm() -> Made:
    import flax.linen as nn
    import jax.numpy as jnp

    return _linen(nn.RNN(nn.OptimizedLSTMCell(4, param_dtype=jnp.result_type(float))), noise(0, 2, 6, 3))


def _nnx(module: Any, loss: Any, *inputs: Any) -> Made:
    from flax import nnx

    graph, state = nnx.split(module)
    return lambda s, *xs: loss(nnx.merge(graph, s), *xs), (floats(state), *inputs)


def nnx_mlp() -> Made:
    import jax.numpy as jnp
    from flax import nnx

    rngs = nnx.Rngs(0)
    module = nnx.Sequential(nnx.Linear(3, 8, rngs=rngs), nnx.tanh, nnx.RMSNorm(8, rngs=rngs), nnx.Linear(8, 2, rngs=rngs))
    return _nnx(module, lambda m, x: jnp.mean(m(x) ** 2), noise(0, 5, 3))


def nnx_step() -> Made:
    """A step of Adam on a net with batch statistics and dropout: the whole state after it."""
    import jax.numpy as jnp
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: Any):
            self.first, self.norm = nnx.Linear(3, 8, use_bias=False, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
            self.drop, self.last = nnx.Dropout(0.2, rngs=rngs), nnx.Linear(8, 2, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.last(self.drop(nnx.tanh(self.norm(self.first(x)))))

    net = Net(nnx.Rngs(0))
    graph, state = nnx.split((net, nnx.Optimizer(net, optax.adam(1e-2), wrt=nnx.Param)))

    def step(state: Any, x: Any) -> Any:
        net, optimizer = nnx.merge(graph, state)
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(net)
        optimizer.update(net, grads)
        return loss, nnx.state((net, optimizer))

    return step, (floats(state), noise(0, 5, 3))


PROGRAMS = (
    Program("flax", "linen: MLP with layer norm", linen_mlp, second=True),
    Program("flax", "linen: CNN with batch statistics", linen_cnn),
    Program("flax", "linen: causal attention, dropout by a typed key", linen_attention, second=True),
    Program("flax", "linen: LSTM", linen_lstm, second=True),
    Program("flax", "nnx: MLP with RMS norm", nnx_mlp, second=True),
    Program("flax", "nnx: step of Adam, batch norm and dropout", nnx_step, undifferentiable=True),
)
