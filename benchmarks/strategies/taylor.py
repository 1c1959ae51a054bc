"""Taylor mode: ops by order beside nested JVPs, and times beside JAX's ``jet``, by turns in one process on one thread."""

# Functions of traced arrays, whose parameters have no types.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from math import factorial
from typing import Any

import numpy as np

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost

Lines = tuple[list[str], dict[str, Any]]
ORDERS = (1, 2, 4, 6, 8, 16)
JET_ORDER, ROUNDS, SECONDS = 6, 15, 2e-3


def taylor() -> Lines:
    """Both parts."""
    lines, numbers = _growth()
    try:
        more, times = _beside_jet()
    except ImportError as error:
        more, times = [f"JAX is not installed: {error}"], {}
    return [*lines, *more], {**numbers, "jet": times}


def _growth() -> Lines:
    """How many ops Taylor mode takes for each order, beside nested JVPs, and how far the coefficients are from theirs."""

    def matrix(x):
        return wnp.sin(x)[:, None] * x[None, :] + 2.0 * wnp.eye(3)

    functions: dict[str, Callable[[Any], Any]] = {
        "exp": wnp.exp,
        "tanh": wnp.tanh,
        "sin x / (2 + x x)": lambda x: wnp.sin(x) / (2.0 + x * x),
        "(2 + sin x)^1.7": lambda x: (2.0 + wnp.sin(x)) ** 1.7,
        "solve": lambda x: wnp.linalg.solve(matrix(x), x),
        "Cholesky": lambda x: wnp.linalg.cholesky(matrix(x) @ wnp.swapaxes(matrix(x), 0, 1)),
        "QR": lambda x: wnp.linalg.qr(matrix(x))[1],
        "eigenvectors": lambda x: wnp.linalg.eigh(x[:, None] * x[None, :] + wnp.eye(3) * wnp.arange(3.0))[1],
    }
    point, along = np.array([0.3, 0.7, -0.4]), np.array([1.0, -2.0, 0.5])
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for name, function in functions.items():
        program = wg.jit(function).program(point)
        counts = [_ops(program.taylor(order)) for order in ORDERS]
        current, inputs, error = program, [point], 0.0
        made = program.taylor(6)(point, along)[-1]
        nested: list[int] = []
        for order in range(1, 5):
            current = current.jvp(0, len(current.signature.results) - 1)
            inputs = [*inputs, along]
            expected = np.asarray(current(*inputs)[-1]) / factorial(order)
            error = max(error, float(np.abs(made[order - 1] - expected).max() / np.abs(expected).max()))
            nested.append(_ops(current))
        listed = ", ".join(f"{order}: {count}" for order, count in zip(ORDERS, counts, strict=True))
        lines.append(f"{name}: ops by order {listed}; nested JVPs 2: {nested[1]}, 4: {nested[3]}; error against these up to order 4 {error:.0e}")
        numbers[name] = {"ops": counts, "nested": nested, "error": error}
    return lines, numbers


def _ops(program: Program) -> int:
    return int(program_cost(program.optimized_module).count.constant or 0)


def _problems() -> dict[str, tuple[Callable[[Any, Any], Any], Any]]:
    """Functions (of a namespace, and an array) and points."""
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal(1000) / 2, rng.standard_normal((3, 64, 64)) / 8
    rows = rng.standard_normal((32, 64)) / 2

    def layers(xp, x):
        for w in weights:
            x = xp.tanh(x @ w)
        return xp.sum(x * x)

    def attention(xp, x):
        scores = (x @ weights[0]) @ xp.swapaxes(x @ weights[1], 0, 1) / 8.0
        e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        return (e / xp.sum(e, axis=-1, keepdims=True)) @ (x @ weights[2])

    def system(xp, x):
        return xp.linalg.solve(x[:16, :16] @ xp.swapaxes(x[:16, :16], 0, 1) + 4.0 * xp.eye(16), x[:16, :16])

    return {
        "exp, 1000": (lambda xp, x: xp.exp(x), x),
        "tanh, 1000": (lambda xp, x: xp.tanh(x), x),
        "sin x / (2 + x x), 1000": (lambda xp, x: xp.sin(x) / (2.0 + x * x), x),
        "log(1 + exp x), 1000": (lambda xp, x: xp.log(1.0 + xp.exp(x)), x),
        "(2 + sin x)^1.7, 1000": (lambda xp, x: (2.0 + xp.sin(x)) ** 1.7, x),
        "sqrt(1 + x x), 1000": (lambda xp, x: xp.sqrt(1.0 + x * x), x),
        "three layers of 64, 32 rows": (layers, rows),
        "attention, 32 rows of 64": (attention, rows),
        "sort, 1000": (lambda xp, x: xp.sort(xp.sin(x)) * x, x),
        "system of 16": (system, rows),
        "Cholesky factor of 16": (lambda xp, x: xp.linalg.cholesky(x[:16, :16] @ xp.swapaxes(x[:16, :16], 0, 1) + 4.0 * xp.eye(16)), rows),
        "eigenvalues of 8": (lambda xp, x: xp.linalg.eigvalsh(x[:8, :8] + xp.swapaxes(x[:8, :8], 0, 1)), rows),
    }


def _beside_jet() -> Lines:
    """Times of all coefficients up to order 6, by turns; where ``jet`` has no rule, ours alone."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import jax.numpy as jnp
    from jax.experimental.jet import jet

    jax.config.update("jax_enable_x64", True)
    lines = [f"coefficients up to order {JET_ORDER}, microseconds by turns (JAX {jax.__version__}'s jet, jitted):"]
    numbers: dict[str, Any] = {}
    for name, (function, x) in _problems().items():
        v = np.cos(np.arange(x.size)).reshape(x.shape)
        ours = wg.jit(partial(function, wnp)).program(x).taylor(JET_ORDER).compile()
        zeros = [np.zeros_like(x)] * (JET_ORDER - 1)

        def theirs(x, v, function=function, zeros=zeros):
            return jet(partial(function, jnp), (x,), ([v, *zeros],), factorial_scaled=False)[1]

        made = np.asarray(ours(x, v)[-1])
        try:
            jitted = jax.jit(theirs)
            error = float(np.abs(np.stack(jitted(x, v)) - made).max() / np.abs(made).max())
        except (KeyError, NotImplementedError) as reason:
            times = _by_turns([lambda ours=ours, x=x, v=v: ours(x, v)])
            lines.append(f"  {name}: {1e6 * times[0]:.1f}; jet has no rule ({str(reason).splitlines()[0]})")
            numbers[name] = {"ours": times[0], "jet": None}
            continue
        times = _by_turns([lambda ours=ours, x=x, v=v: ours(x, v), lambda jitted=jitted, x=x, v=v: jax.block_until_ready(jitted(x, v))])
        lines.append(f"  {name}: {1e6 * times[0]:.1f}, jet {1e6 * times[1]:.1f} ({times[1] / times[0]:.1f} times ours); {error:.0e} apart")
        numbers[name] = {"ours": times[0], "jet": times[1], "error": error}
    return lines, numbers


def _by_turns(calls: list[Callable[[], Any]]) -> list[float]:
    """The least time of a call of each, over rounds in which each has some milliseconds."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for n, call in enumerate(calls):
            end = time.perf_counter() + SECONDS
            while (start := time.perf_counter()) < end:
                call()
                best[n] = min(best[n], time.perf_counter() - start)
    return best
