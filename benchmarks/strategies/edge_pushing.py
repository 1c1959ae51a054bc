"""Hessians by edge pushing beside those by nested modes: flops, and times by turns in one process."""

# Functions of traced arrays, whose parameters have no types.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import numpy as wnp

SHOWN = ("edge pushing", "forward over reverse", "reverse over reverse", "compressed over reverse")


def problems() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions of one number, and where they are differentiated."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 20, 20)) / 5
    data, labels = rng.standard_normal((200, 12)), (rng.random(200) > 0.5).astype(float)

    def layers(x, y):
        return wnp.sum(wnp.log(1 + wnp.exp(second @ wnp.tanh(first @ x)))) * wnp.sum(y * y)

    def likelihood(beta):
        return wnp.sum(wnp.log(1 + wnp.exp(data @ beta)) - labels * (data @ beta))

    def energy(atoms):
        difference = atoms[:, None, :] - atoms[None, :, :]
        inverse = 1 / (wnp.sum(difference * difference, axis=-1) + np.eye(8)) ** 3
        return wnp.sum((inverse * inverse - inverse) * (1 - np.eye(8)))

    def chain(x):
        return wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = np.linspace(0, 1, 30)
    return {
        "Lennard-Jones, 8 atoms": (energy, (2 * rng.standard_normal((8, 3)),)),
        "logistic regression, 200 x 12": (likelihood, (x[:12],)),
        "two layers of 20": (layers, (x[:20], x[:3])),
        "Rosenbrock's function, chained, 30": (chain, (x,)),
    }


def edge_pushing() -> tuple[list[str], dict[str, Any]]:
    """Flops and microseconds of the rows that are one program."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for name, (function, inputs) in problems().items():
        table = wg.strategies(wg.jit(function).program(*inputs), inputs, of="hessian", measure=True)
        for row in table.rows:
            if row.name in SHOWN and row.measured is not None:
                flops, time = float(row.flops.constant or 0), row.measured.times.minimum
                lines.append(f"{name}, {row.name}: {flops:.0f} flops, {1e6 * time:.2f} us, error {row.measured.error:.0e}")
                numbers[f"{name}, {row.name}"] = {"flops": flops, "seconds": time, "error": row.measured.error}
    return lines, numbers
