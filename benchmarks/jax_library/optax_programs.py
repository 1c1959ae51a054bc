"""Programs of optax: steps of optimizers as functions of the parameters, and differentiated through, and its losses."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def _loss(p: Any, x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - 0.3) ** 2)


def _start() -> tuple[Any, Any]:
    return {"w": noise(0, 3, 4), "v": noise(1, 4)}, noise(2, 6, 3)


def _steps(make: Any, count: int = 3) -> Made:
    """The loss after some steps, unrolled by a scan, so that a gradient is one by the first parameters."""
    import jax
    import optax

    p, x = _start()

    def trained(p: Any, x: Any) -> Any:
        optimizer = make(optax)

        def step(carried: Any, _: Any) -> Any:
            p, state = carried
            value, grads = jax.value_and_grad(_loss)(p, x)
            updates, state = optimizer.update(grads, state, p)
            return (optax.apply_updates(p, updates), state), value

        (p, _), values = jax.lax.scan(step, (p, optimizer.init(p)), None, length=count)
        return _loss(p, x), values

    return trained, (p, x)


def adam() -> Made:
    return _steps(lambda o: o.adam(1e-2))


def chain() -> Made:
    return _steps(
        lambda o: o.chain(
            o.clip_by_global_norm(0.5), o.scale_by_adam(), o.add_decayed_weights(1e-2), o.scale_by_schedule(o.cosine_decay_schedule(1e-2, 10)), o.scale(-1.0)
        )
    )


def adafactor() -> Made:
    return _steps(lambda o: o.adafactor(1e-2))


def lbfgs() -> Made:
    """Two steps with a zoom line search: the new parameters."""
    import jax
    import optax

    p, x = _start()

    def steps(p: Any, x: Any) -> Any:
        solver, f = optax.lbfgs(memory_size=3), lambda q: _loss(q, x)
        state = solver.init(p)
        for _ in range(2):
            value, grads = jax.value_and_grad(f)(p)
            updates, state = solver.update(grads, state, p, value=value, grad=grads, value_fn=f)
            p = optax.apply_updates(p, updates)
        return p

    return steps, (p, x)


def losses() -> Made:
    import jax.numpy as jnp
    import optax

    labels = jnp.array([0, 2, 1, 1])

    def f(x: Any) -> Any:
        hot = jnp.eye(3, dtype=x.dtype)[labels]
        parts = [
            optax.softmax_cross_entropy_with_integer_labels(x, labels),
            optax.sigmoid_binary_cross_entropy(x, hot),
            optax.huber_loss(x, hot),
            optax.cosine_similarity(x, hot + 0.1),
            optax.sigmoid_focal_loss(x, hot),
            optax.kl_divergence(x, hot * 0.8 + 0.05),
            optax.ctc_loss(x[None], jnp.zeros((1, 4)), labels[None, :2], jnp.zeros((1, 2))),
        ]
        return [jnp.mean(part) for part in parts]

    return f, (noise(0, 4, 3),)


PROGRAMS = (
    Program("optax", "Adam, three steps", adam),
    Program("optax", "clipping, Adam, decay, schedule", chain),
    Program("optax", "Adafactor, three steps", adafactor),
    Program("optax", "L-BFGS with zoom line search", lbfgs, forward_only=True),
    Program("optax", "losses", losses, second=True),
)
