"""Programs of jax-md: energies, forces and steps of molecular dynamics."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, floats

SIDE = 4.0


def _places() -> Any:
    """Twelve particles, no two of them close."""
    import numpy as np

    grid = np.stack(np.meshgrid(*[np.arange(3) * 1.3] * 2, [0.0, 1.3]), -1).reshape(-1, 3)[:12]
    return floats(grid + 0.05 * np.random.default_rng(0).normal(size=grid.shape) + 0.3)


def _space() -> tuple[Any, Any]:
    from jax_md import space

    return space.periodic(SIDE)


def pairs() -> Made:
    """Lennard-Jones of all pairs, by places and by the parameters."""
    import jax.numpy as jnp
    from jax_md import energy

    def total(given: Any) -> Any:
        places, sigma = given
        return energy.lennard_jones_pair(_space()[0], sigma=sigma)(places)

    return total, ((_places(), jnp.array(1.05)),)


def forces() -> Made:
    """Forces of a soft sphere and a Morse potential."""
    from jax_md import energy, quantity

    def both(places: Any) -> Any:
        return [quantity.force(make(_space()[0]))(places) for make in (energy.soft_sphere_pair, energy.morse_pair)]

    return both, (_places(),)


def neighbours() -> Made:
    """Lennard-Jones by a list of neighbours."""
    from jax_md import energy

    make, total = energy.lennard_jones_neighbor_list(_space()[0], SIDE, r_cutoff=1.8, dr_threshold=0.2)
    places = _places()
    listed = make.allocate(places)

    def by_list(places: Any, index: Any) -> Any:
        import dataclasses

        return total(places, dataclasses.replace(listed, idx=index))

    return by_list, (places, listed.idx)


def nve() -> Made:
    """Five steps at constant energy."""
    import jax
    from jax_md import energy, simulate

    def run(places: Any, key: Any) -> Any:
        _, shift = _space()
        start, step = simulate.nve(energy.soft_sphere_pair(_space()[0]), shift, 1e-3)
        state = start(key, places, kT=0.1)
        state = jax.lax.fori_loop(0, 5, lambda _, s: step(s), state)
        return state.position, state.momentum

    return run, (_places(), jax.random.PRNGKey(0))


def thermostat() -> Made:
    """Five steps of Langevin dynamics."""
    import jax
    from jax_md import energy, simulate

    def run(places: Any, key: Any) -> Any:
        start, step = simulate.nvt_langevin(energy.morse_pair(_space()[0]), _space()[1], 1e-3, kT=0.2)
        state = start(key, places)
        return jax.lax.fori_loop(0, 5, lambda _, s: step(s), state).position

    return run, (_places(), jax.random.PRNGKey(0))


def descent() -> Made:
    """Five steps of gradient descent."""
    import jax
    from jax_md import energy, minimize

    def run(places: Any) -> Any:
        start, step = minimize.gradient_descent(energy.soft_sphere_pair(_space()[0]), _space()[1], 1e-2)
        return jax.lax.fori_loop(0, 5, lambda _, s: step(s), start(places))

    return run, (_places(),)


PROGRAMS = (
    Program("jax_md", "Lennard-Jones of all pairs", pairs, second=True, only="f64"),
    Program("jax_md", "forces: soft sphere, Morse", forces, second=True),
    Program("jax_md", "Lennard-Jones by neighbours", neighbours, second=True),
    Program("jax_md", "five steps of NVE", nve),
    Program("jax_md", "five steps of Langevin dynamics", thermostat),
    Program("jax_md", "five steps of gradient descent", descent),
)
