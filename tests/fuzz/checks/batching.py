"""What must be true of batches of a program and of its derivatives."""

from __future__ import annotations

import numpy as np

import wengert as wg
from fuzz.case import Case, direction, interpreted, noise_of
from fuzz.checks.check import Array, Family
from fuzz.judgement import assert_agree
from wengert.lab.agreement.agreement import Singular

check = Family()


def batch_of(case: Case) -> tuple[list[list[Array]], list[bool]]:
    """Two batch elements of the inputs, the second with other values, and which arguments are batched."""
    rng = np.random.default_rng([4, case.seed])
    flags = [bool(rng.random() < 0.75) for _ in case.inputs]
    if not any(flags):
        flags[0] = True

    def other(x: Array) -> Array:
        flat = np.asarray(x).reshape(-1)
        return rng.permutation(flat).reshape(np.shape(x)) if flat.size > 1 else (np.asarray(x + np.ones((), x.dtype), x.dtype) if x.dtype.kind in "fc" else x)

    second = [other(x) if flag else x for x, flag in zip(case.inputs, flags, strict=True)]
    return [case.inputs, second], flags


def batched(program: wg.Program, each: list[list[Array]], flags: list[bool]) -> tuple[wg.Program, list[Array]]:
    """The batch of a program, and the inputs of its elements put together."""
    stacked = [np.stack(xs) if flag else xs[0] for xs, flag in zip(zip(*each, strict=True), flags, strict=True)]
    return program.vmap([0 if flag else None for flag in flags], size=len(each)), stacked


def assert_batched(what: str, program: wg.Program, each: list[list[Array]], flags: list[bool], *, singular: Singular = "no") -> None:
    results = interpreted(*batched(program, each, flags))
    for k, inputs in enumerate(each):
        assert_agree(what, [y[k] for y in results], interpreted(program, inputs), noise_of(program, inputs), singular=singular)


@check("vmap", one_in=2)
def vmap(case: Case) -> None:
    if case.inputs:
        assert_batched("vmap against a loop", case.program, *batch_of(case))


@check("vmap-of-derivatives", one_in=8, needs="differentiable")
def vmap_of_derivatives(case: Case) -> None:
    """A sum in a derivative has no order: where it overflows, inf - inf may come before or after (seed 3642)."""
    each, flags = batch_of(case)
    rng = np.random.default_rng([5, case.seed])
    dots = [[direction(rng, x) for x in case.x_dots] for _ in each]
    bars = [[direction(rng, y) for y in case.y_bars] for _ in each]
    assert_batched("vmap of the JVP", case.jvp, [[*a, *b] for a, b in zip(each, dots, strict=True)], [*flags, *[True] * len(case.x_dots)], singular="infinite")
    assert_batched("vmap of the VJP", case.vjp, [[*a, *b] for a, b in zip(each, bars, strict=True)], [*flags, *[True] * len(case.y_bars)], singular="infinite")


@check("derivatives-of-vmap", one_in=8, needs="differentiable")
def derivatives_of_vmap(case: Case) -> None:
    """The JVP of the batched program is that of each batch element."""
    each, flags = batch_of(case)
    batched = case.program.vmap([0 if flag else None for flag in flags], size=2)
    rng, n = np.random.default_rng([6, case.seed]), len(case.outputs)
    moving = [flags[i] for i in case.moving]
    dots = [[direction(rng, x) for x in case.x_dots] for _ in each]
    dots[1] = [b if flag else a for a, b, flag in zip(*dots, moving, strict=True)]

    def stacked(rows: list[list[Array]], chosen: list[bool]) -> list[Array]:
        return [np.stack(xs) if flag else xs[0] for xs, flag in zip(zip(*rows, strict=True), chosen, strict=True)]

    made = interpreted(batched.jvp(), [*stacked(each, flags), *stacked(dots, moving)])
    for k, (inputs, x_dots) in enumerate(zip(each, dots, strict=True)):
        given = [*inputs, *x_dots]
        assert_agree("JVP of the batched program", [y[k] for y in made], interpreted(case.jvp, given), noise_of(case.jvp, given), singular=case.singular)
    bars = [[direction(rng, y) for y in case.y_bars] for _ in each]
    # the cotangent of what all batch elements share is a sum, which is compared elsewhere
    kept = [*range(n), *(n + i for i, flag in enumerate(moving) if flag)]
    made = interpreted(batched.vjp(), [*stacked(each, flags), *stacked(bars, [True] * len(case.asked))])
    for k, (inputs, y_bars) in enumerate(zip(each, bars, strict=True)):
        given = [*inputs, *y_bars]
        expected, noisy = interpreted(case.vjp, given), noise_of(case.vjp, given)
        assert_agree(
            "VJP of the batched program",
            [made[i][k] for i in kept],
            [expected[i] for i in kept],
            lambda s, noisy=noisy: [noisy(s)[i] for i in kept],
            singular=case.singular,
        )
