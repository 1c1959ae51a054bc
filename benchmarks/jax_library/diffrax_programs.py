"""Programs of diffrax: solutions of differential equations, with its adjoints."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def _solved(adjoint: str, solver: str = "Tsit5", field: Any = None, *, saveat: bool = True, adaptive: bool = True, rtol: float = 1e-6, t1: float = 2.0) -> Made:
    """Lotka and Volterra's equations, or those of a field, as functions of the parameters and the start."""
    import diffrax
    import jax.numpy as jnp

    def default(t: Any, y: Any, p: Any) -> Any:
        return jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])

    def solution(given: Any) -> Any:
        p, y0 = given
        controller = diffrax.PIDController(rtol=rtol, atol=rtol * 1e-2) if adaptive else diffrax.ConstantStepSize()
        save = diffrax.SaveAt(ts=jnp.linspace(0.1, t1, 5)) if saveat else diffrax.SaveAt(t1=True)
        term = diffrax.ODETerm(field or default)
        made = diffrax.diffeqsolve(
            term,
            getattr(diffrax, solver)(),
            0.0,
            t1,
            0.05,
            y0,
            p,
            saveat=save,
            stepsize_controller=controller,
            adjoint=getattr(diffrax, adjoint)(),
            max_steps=256,
        )
        return made.ys

    return solution, ((jnp.array([1.1, 0.4, 0.9, 0.3]), jnp.array([2.0, 1.5])),)


def tsit5() -> Made:
    return _solved("RecursiveCheckpointAdjoint")


def direct() -> Made:
    return _solved("DirectAdjoint", "Dopri5")


def forward() -> Made:
    return _solved("ForwardMode")


def backsolve() -> Made:
    return _solved("BacksolveAdjoint", saveat=False)


def constant_steps() -> Made:
    return _solved("RecursiveCheckpointAdjoint", "Heun", adaptive=False)


def stiff() -> Made:
    """Robertson's equations, by an implicit method whose stages are roots."""
    import jax.numpy as jnp

    def field(t: Any, y: Any, p: Any) -> Any:
        a = -p[0] * y[0] + p[2] * 1e2 * y[1]
        b = 1e3 * p[1] * y[1] ** 2
        return jnp.stack([a, -a - b])

    return _solved("RecursiveCheckpointAdjoint", "Kvaerno5", field, saveat=False, rtol=1e-5)


def neural() -> Made:
    """An equation by a network of equinox, by all its parameters."""
    import diffrax
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from benchmarks.jax_library.program import floats

    parameters, static = eqx.partition(eqx.nn.MLP(2, 2, 8, 1, activation=jnp.tanh, key=jax.random.PRNGKey(0)), eqx.is_array)

    def loss(p: Any, y0: Any) -> Any:
        net = eqx.combine(p, static)
        term = diffrax.ODETerm(lambda t, y, _: net(y))
        controller = diffrax.PIDController(rtol=1e-5, atol=1e-7)
        solve = lambda y: diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y, stepsize_controller=controller, max_steps=64).ys  # noqa: E731
        return jnp.mean(jax.vmap(solve)(y0) ** 2)

    return loss, (floats(parameters), noise(0, 3, 2))


def stochastic() -> Made:
    """An equation with noise, by a virtual Brownian tree from a typed key."""
    import diffrax
    import jax
    import jax.numpy as jnp

    def end(p: Any, key: Any) -> Any:
        motion = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(2,), key=key)
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, p: -p[0] * y), diffrax.ControlTerm(lambda t, y, p: jnp.diag(p[1] * y), motion))
        return diffrax.diffeqsolve(terms, diffrax.EulerHeun(), 0.0, 1.0, 0.05, jnp.ones_like(p), p).ys

    return end, (jnp.array([0.8, 0.3]), jax.random.key(5))


PROGRAMS = (
    Program("diffrax", "Tsit5, checkpointed adjoint", tsit5, reverse_only=True),
    Program("diffrax", "Dopri5, direct adjoint", direct),
    Program("diffrax", "Tsit5, forward mode", forward, forward_only=True),
    Program("diffrax", "Tsit5, backsolve adjoint", backsolve, reverse_only=True),
    Program("diffrax", "Heun, constant steps", constant_steps, reverse_only=True),
    Program("diffrax", "Kvaerno5, stiff", stiff, reverse_only=True, only="f64"),
    Program("diffrax", "neural equation in a batch", neural, reverse_only=True),
    Program("diffrax", "stochastic equation by a typed key", stochastic, reverse_only=True),
)
