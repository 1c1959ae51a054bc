"""What must be true of every program: the table of checks, each named.

A check takes a case and raises a Mismatch; any other exception but a documented refusal is a finding too. Cheap checks are made of every program,
the others of a share that the seed determines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from fuzz.agreement import Mismatch, Singular, assert_agree
from fuzz.case import Case, direction, interpreted, noise_of
from wengert.ir.printing.printer import print_module

Array = np.ndarray[Any, np.dtype[Any]]
NARROW = re.compile(r"[x<](bf16|f16|f32|f[468]E\w+)>")
"""A type of floats, or of complex numbers, of fewer than 64 bits."""


@dataclass(frozen=True)
class Check:
    """A property of programs; ``one_in`` says of which share it is tested."""

    name: str
    run: Callable[[Case], None]
    one_in: int = 1
    needs: str = "any"
    """Of which programs: any, differentiable ones, or smooth ones."""
    oracle: bool = False
    """Whether JAX is asked."""

    def concerns(self, case: Case) -> bool:
        return self.needs == "any" or (case.is_differentiable and (self.needs != "smooth" or case.smooth))


CHECKS: list[Check] = []


def check(name: str, one_in: int = 1, needs: str = "any", oracle: bool = False) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def register(run: Callable[[Case], None]) -> Callable[[Case], None]:
        CHECKS.append(Check(name, run, one_in, needs, oracle))
        return run

    return register


# -- the program itself


@check("interpret")
def interpret(case: Case) -> None:
    """It is accepted and runs."""
    assert case.outputs is not None


@check("round-trip")
def round_trip(case: Case) -> None:
    """What is printed, pretty or generic, parses to the program that it was."""
    for generic in (False, True):
        text = print_module(case.program.module, generic=generic)
        again = wg.parse(text)
        if print_module(again.module, generic=generic) != text:
            raise Mismatch(f"printed text changes when it is parsed and printed again (generic={generic})")
        if not again.module.is_structurally_equivalent(case.program.module):
            raise Mismatch(f"printed text parses to another program (generic={generic})")


@check("optimised")
def optimised(case: Case) -> None:
    """Core form and optimisation change nothing."""
    from wengert.runtime.derivation import runnable
    from wengert.runtime.interpreter import run

    assert_agree("optimised core form, interpreted", run(runnable(case.program.optimized_module), case.inputs), case.outputs, case.noisy)


@check("compiled")
def compiled(case: Case) -> None:
    assert_agree("compiled", case.program.compile(opt="fast")(*case.inputs), case.outputs, case.noisy)


@check("compiled-best", one_in=6)
def compiled_best(case: Case) -> None:
    assert_agree("compiled with opt=best", case.program.compile()(*case.inputs), case.outputs, case.noisy)


# -- first derivatives


@check("jvp-primal", needs="differentiable")
def jvp_primal(case: Case) -> None:
    assert_agree("primal of the JVP", case.forward[: len(case.outputs)], case.outputs, case.noisy)


@check("vjp-primal", needs="differentiable")
def vjp_primal(case: Case) -> None:
    assert_agree("primal of the VJP", case.reverse[: len(case.outputs)], case.outputs, case.noisy)


@check("strategies", needs="differentiable")
def strategies(case: Case) -> None:
    """The two strategies of reverse mode agree."""
    given = [*case.inputs, *case.y_bars]
    assert_agree(
        "VJP by adjoints against VJP by transposition",
        interpreted(case.direct, given),
        case.reverse,
        noise_of(case.vjp, given),
        singular=case.singular if case.singular != "infinite" else case.singular_in((case.direct, given)),
        sums_of=case.y_bars,
    )


@check("duality", needs="differentiable")
def duality(case: Case) -> None:
    """<y_bar, y_dot> = <x_bar, x_dot>"""
    n = len(case.outputs)
    rows, columns = noise_of(case.jvp, [*case.inputs, *case.x_dots]), noise_of(case.vjp, [*case.inputs, *case.y_bars])

    def both(forward: Any, reverse: Any) -> list[Array]:
        return [np.asarray(pairing(case.y_bars, forward[n:]) - pairing(case.x_dots, reverse[n:]))]

    parts = [*zip(case.y_bars, case.forward[n:], strict=True), *zip(case.x_dots, case.reverse[n:], strict=True)]
    if not all(np.isfinite(np.asarray(y, complex)).all() for _, y in parts):
        return
    size = sum(float(np.abs(np.asarray(x, complex) * np.asarray(y, complex)).sum()) for x, y in parts)
    precision = min((float(np.finfo(np.float64).eps), *(_eps(x) for x, _ in parts)), key=lambda e: -e)
    difference = both(case.forward, case.reverse)[0]
    if abs(difference) <= 64 * precision * size:
        return
    assert_agree("the VJP is not the transpose of the JVP", [difference], [np.zeros(())], lambda k: both(rows(k), columns(k)), loose=4)


def pairing(xs: list[Array], ys: Any) -> float:
    """Re(sum of x y), without conjugation."""
    return float(sum((np.asarray(x, complex) * np.asarray(y, complex)).real.sum() for x, y in zip(xs, ys, strict=True)))


def _eps(x: Array) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(x.dtype).eps)


@check("linearize", one_in=3, needs="differentiable")
def linearize(case: Case) -> None:
    """The program split at a point gives the same results, tangents and cotangents."""
    from wengert.runtime.interpreter import run

    linear, n = case.program.linearize(), len(case.outputs)

    def call(program: wg.Program, operands: Any) -> Any:
        return run(_runnable(program), [np.asarray(x) for x in operands])

    primal = call(linear.primal, case.inputs)
    assert_agree("primal of the linearization", primal[:n], case.outputs, case.noisy)
    residuals = linear.residuals(case.inputs, primal[:n], primal[n:])
    given = [*case.inputs, *case.x_dots]
    pushed = linear.push(residuals, case.x_dots, call=call)
    assert_agree("tangents of the linearization", list(pushed), case.forward[n:], _tail(noise_of(case.jvp, given), n), singular=case.singular)
    given = [*case.inputs, *case.y_bars]
    pulled = linear.pull(residuals, case.y_bars, call=call)
    assert_agree("cotangents of the linearization", list(pulled), case.reverse[n:], _tail(noise_of(case.vjp, given), n), singular=case.singular)


def _tail(noisy: Any, n: int) -> Any:
    return lambda k: noisy(k)[n:]


def _runnable(program: wg.Program) -> Any:
    from fuzz.case import lowered

    return lowered(program)


@check("differences", needs="smooth")
def differences(case: Case) -> None:
    """Where differences on both sides agree, they are the derivative."""
    n, step = len(case.outputs), 1e-5
    if NARROW.search(case.text):
        return  # such a step is lost in rounding

    def moved(h: float) -> list[Array]:
        shifted = list(case.inputs)
        for i, x_dot in zip(case.moving, case.x_dots, strict=True):
            shifted[i] = np.asarray(case.inputs[i] + h * x_dot, case.inputs[i].dtype)
        outputs = interpreted(case.program, shifted)
        return [outputs[j] for j in case.asked]

    centre, y_dots = [case.outputs[j] for j in case.asked], case.forward[n:]
    steps = {h: moved(h) for h in (-step, step, -step / 4, step / 4)}
    noise = [[case.noisy(seed)[j] for j in case.asked] for seed in range(3)]
    for k, y_dot in enumerate(y_dots):
        if y_dot.dtype not in (np.float64, np.complex128):
            continue
        with np.errstate(all="ignore"):
            quotients = [(steps[h][k] - centre[k]) / h for h in steps]
            middle = (steps[step][k] - steps[-step][k]) / (2 * step)
            scale = 1 + np.abs(middle) + np.abs(centre[k])
            rounding = np.max([np.abs(run[k] - centre[k]) for run in noise], axis=0) / step
            smooth = np.all([np.abs(q - middle) <= 2e-3 * scale for q in quotients], axis=0) & np.isfinite(middle) & (rounding <= 2e-3 * scale)
            wrong = smooth & ~(np.abs(y_dot - middle) <= 1e-2 * scale) & np.isfinite(y_dot)
        if wrong.any():
            raise Mismatch("the JVP is not the derivative", f"tangent {k}: {y_dot[wrong][:4]}, differences {middle[wrong][:4]}")


# -- second derivatives


@check("second-order", one_in=4, needs="differentiable")
def second_order(case: Case) -> None:
    """Forward over reverse and reverse over forward make the same product of the Hessian with a vector; so does the other strategy of each."""
    rng, n = np.random.default_rng([3, case.seed]), len(case.outputs)
    given = [*case.inputs, *case.y_bars]
    bars = range(n, n + len(case.moving))
    over_reverse = case.vjp.jvp(wrt=case.moving, of=bars)
    expected = interpreted(over_reverse, [*given, *case.x_dots])
    k = len(case.vjp.signature.results)
    noisy = noise_of(over_reverse, [*given, *case.x_dots])
    assert_agree("primal of forward over reverse", expected[:k], case.reverse, noise_of(case.vjp, given))
    dots = range(n, n + len(case.asked))
    along = [*case.inputs, *case.x_dots, *case.y_bars]
    over_forward = case.jvp.vjp(wrt=case.moving, of=dots)
    second = interpreted(over_forward, along)
    j = len(case.jvp.signature.results)
    assert_agree("primal of reverse over forward", second[:j], case.forward, noise_of(case.jvp, [*case.inputs, *case.x_dots]))
    noisy_second = noise_of(over_forward, along)

    def either(seed: int) -> Any:
        return noisy(seed)[k:] if seed % 2 else noisy_second(seed)[j:]

    def singular(*runs: tuple[wg.Program, list[Array]]) -> Singular:
        return case.singular if case.singular != "infinite" else case.singular_in(*runs)

    first = (over_reverse, [*given, *case.x_dots])
    what = "reverse over forward against forward over reverse"
    assert_agree(what, second[j:], expected[k:], either, singular=singular(first, (over_forward, along)))
    mode = case.direct.jvp(wrt=case.moving, of=bars)
    moved = (mode, [*given, *case.x_dots])
    assert_agree("forward over the adjoints", interpreted(*moved)[k:], expected[k:], _tail(noisy, k), singular=singular(first, moved))
    again = [direction(rng, y) for i, y in enumerate(case.reverse) if i in bars]
    twice = [(v.vjp(wrt=case.moving, of=bars, strategy=s), [*given, *again]) for v, s in ((case.vjp, "transpose"), (case.direct, "direct"))]
    results = [interpreted(*run)[k:] for run in twice]
    assert_agree("reverse over reverse, by adjoints", results[1], results[0], _tail(noise_of(*twice[0]), k), singular=singular(*twice))


# -- batching


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


def assert_batched(
    what: str, program: wg.Program, each: list[list[Array]], flags: list[bool], *, backend: str = "interpreter", singular: Singular = "no"
) -> None:
    batched = program.vmap([0 if flag else None for flag in flags], size=len(each))
    stacked = [np.stack(xs) if flag else xs[0] for xs, flag in zip(zip(*each, strict=True), flags, strict=True)]
    results = interpreted(batched, stacked) if backend == "interpreter" else batched.compile(opt="fast")(*stacked)
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


# -- compiled derivatives


@check("compiled-jvp", one_in=6, needs="differentiable")
def compiled_jvp(case: Case) -> None:
    given = [*case.inputs, *case.x_dots]
    assert_agree("compiled JVP", case.jvp.compile(opt="fast")(*given), case.forward, noise_of(case.jvp, given))


@check("compiled-vjp", one_in=3, needs="differentiable")
def compiled_vjp(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_agree("compiled VJP", case.vjp.compile(opt="fast")(*given), case.reverse, noise_of(case.vjp, given))


@check("compiled-direct", one_in=8, needs="differentiable")
def compiled_direct(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_agree(
        "compiled VJP by adjoints",
        case.direct.compile(opt="fast")(*given),
        case.reverse,
        noise_of(case.vjp, given),
        singular=case.singular,
        sums_of=case.y_bars,
    )


@check("compiled-vmap", one_in=8)
def compiled_vmap(case: Case) -> None:
    if case.inputs:
        assert_batched("compiled vmap against a loop", case.program, *batch_of(case), backend="cpu")


# -- JAX as an oracle

XLA_DIFFERS = re.compile(r'lgamma|count_leading_zeros|stablehlo.add"?\([^\n]*xi1>|stablehlo.add [^\n]*i1>')
"""What XLA without optimisation computes otherwise: lgamma of narrow floats cancels at 1 and 2, no bits before a negative number are -32, and
true + true is false."""


@check("jax-parse", one_in=5, oracle=True)
def jax_parse(case: Case) -> None:
    """JAX's parser takes the program as it is printed."""
    from fuzz.oracle import parse

    parse(case.text, "the generated text")
    parse(case.program.text(), "the printed text")


@check("jax-parse-derivatives", one_in=10, needs="differentiable", oracle=True)
def jax_parse_derivatives(case: Case) -> None:
    from fuzz.oracle import parse

    for name, program in (("JVP", case.jvp), ("VJP", case.vjp), ("VJP by adjoints", case.direct)):
        if not any(op.name.startswith("core.tape") for op in program.module.walk()):
            parse(program.text(), f"the {name}")


@check("xla", one_in=25, oracle=True)
def xla(case: Case) -> None:
    from fuzz.oracle import NotThereError, execute

    if XLA_DIFFERS.search(case.text):
        return
    try:
        results = execute(case.program.text(), case.inputs)
    except NotThereError:
        return
    assert_agree("interpreted against XLA", results, case.outputs, noise_of(case.program, case.inputs, flushing=True), loose=4)


@check("xla-vjp", one_in=60, needs="differentiable", oracle=True)
def xla_vjp(case: Case) -> None:
    from fuzz.oracle import NotThereError, execute

    if XLA_DIFFERS.search(case.text) or any(op.name.startswith("core.tape") for op in case.vjp.module.walk()):
        return
    given = [*case.inputs, *case.y_bars]
    try:
        results = execute(case.vjp.text(), given)
    except NotThereError:
        return
    assert_agree("VJP interpreted against XLA", results, case.reverse, noise_of(case.vjp, given, flushing=True), loose=4)
