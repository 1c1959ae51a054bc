"""Estimates from random directions: their means and variances."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp


def stochastic() -> Section:
    """Bias and variance of estimates over 10^5 draws, and their costs beside the gradient's."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    draws = 100_000

    def loss(x):
        return wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    for n in (10, 100):
        x = np.linspace(-1, 1, n)
        gradient = wg.grad(loss)(x)
        for kind, sign in (("rademacher", -1), ("normal", 1)):
            mean, mean_square = _moments(loss, x, kind, draws)
            errors = np.abs(mean - gradient) / np.sqrt((gradient @ gradient + sign * gradient**2) / draws)
            variance = float((mean_square.sum() - gradient @ gradient) / (gradient @ gradient))
            lines.append(
                f"forward gradient, {n} elements, {kind}: off by at most {errors.max():.1f} standard errors; variance {variance:.3f}, by formula {n + sign}"
            )
            numbers[f"forward gradient {n} {kind}"] = {"standard errors": float(errors.max()), "variance": variance, "formula": n + sign}
    program = wg.jit(loss).program(np.zeros(1000))
    for row in wg.strategies(program, of="gradient", estimates=16, measure=False).rows:
        if row.plan.off or row.name == "vjps":
            lines.append(
                f"{row.name}, 1000 elements: {float(row.flops.constant or 0):.0f} flops, arena {row.arena} bytes, off by {row.plan.off:.2g} of the norm"
            )
            numbers[row.name] = {"flops": float(row.flops.constant or 0), "arena": row.arena, "off": row.plan.off}
    return lines, numbers


def _moments(loss: Any, x: Any, kind: Any, draws: int) -> tuple[Any, Any]:
    """The mean of single estimates and of their squares."""
    one = wg.forward_gradient(loss, directions=kind)
    single = wg.vmap(one, in_axes=(0, None))(np.arange(draws), x)
    return single.mean(0), (single**2).mean(0)
