"""What must be true of a program's derivatives, of first and second order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from fuzz.case import Case, direction, interpreted, is_wide, noise_of
from fuzz.checks.check import Array, Family
from fuzz.judgement import assert_agree
from wengert.lab.agreement.agreement import Mismatch, Singular

check = Family()
NARROW = re.compile(r"[x<](bf16|f16|f32|f[468]E\w+)>")
"""A type of floats, or of complex numbers, of fewer than 64 bits."""


@check("jvp-primal", needs="differentiable")
def jvp_primal(case: Case) -> None:
    assert_agree("primal of the JVP", case.forward[: len(case.outputs)], case.outputs, case.noisy)


@check("vjp-primal", needs="differentiable")
def vjp_primal(case: Case) -> None:
    assert_agree("primal of the VJP", case.reverse[: len(case.outputs)], case.outputs, case.noisy)


@check("strategies", needs="differentiable")
def strategies(case: Case) -> None:
    """The two strategies of reverse mode agree, as far as either is sure: one may add a cotangent to large ones that the other has cancelled before."""
    given = [*case.inputs, *case.y_bars]
    noises = noise_of(case.direct, given), noise_of(case.vjp, given)
    assert_agree(
        "VJP by adjoints against VJP by transposition",
        interpreted(case.direct, given),
        case.reverse,
        lambda seed: noises[seed % 2](seed),
        singular=case.singular if case.singular != "infinite" else case.singular_in((case.direct, given)),
        sums_of=case.y_bars,
    )


@check("duality", needs="differentiable")
def duality(case: Case) -> None:
    """<y_bar, y_dot> = <x_bar, x_dot>"""
    n = len(case.outputs)
    rows, columns = noise_of(case.jvp, [*case.inputs, *case.x_dots]), noise_of(case.vjp, [*case.inputs, *case.y_bars])

    def pushed(forward: Any) -> Array:
        return np.asarray(pairing(case.y_bars, forward[n:]))

    def pulled(reverse: Any) -> Array:
        return np.asarray(pairing(case.x_dots, reverse[n:]))

    parts = [*zip(case.y_bars, case.forward[n:], strict=True), *zip(case.x_dots, case.reverse[n:], strict=True)]
    if not all(np.isfinite(np.asarray(y, complex)).all() for _, y in parts):
        return
    size = sum(float(np.abs(np.asarray(x, complex) * np.asarray(y, complex)).sum()) for x, y in parts)
    precision = min((float(np.finfo(np.float64).eps), *(_eps(x) for x, _ in parts)), key=lambda e: -e)
    by_rows, by_columns = pushed(case.forward), pulled(case.reverse)
    if abs(by_rows - by_columns) <= 64 * precision * size and not is_wide():
        return

    def noisy(seed: int) -> list[Array]:
        """The one with an error as large as the difference of both."""
        return [np.asarray(by_columns + (pushed(rows(seed)) - pulled(columns(seed))))]

    assert_agree("the VJP is not the transpose of the JVP", [by_rows], [by_columns], noisy, loose=4)


def pairing(xs: list[Array], ys: Any) -> np.longdouble:
    """Re(sum of x y), without conjugation."""
    return np.longdouble(sum((np.asarray(x).astype(np.clongdouble) * np.asarray(y).astype(np.clongdouble)).real.sum() for x, y in zip(xs, ys, strict=True)))


def _eps(x: Array) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(x.dtype).eps)


@check("linearize", one_in=3, needs="differentiable")
def linearize(case: Case) -> None:
    """The program split at a point gives the same results, tangents and cotangents."""
    linear, n = case.program.linearize(), len(case.outputs)
    primal = interpreted(linear.primal, case.inputs)
    assert_agree("primal of the linearization", primal[:n], case.outputs, case.noisy)
    residuals = linear.residuals(case.inputs, primal[:n], primal[n:])
    given = [*case.inputs, *case.x_dots]
    pushed = linear.push(residuals, case.x_dots, call=interpreted)
    assert_agree("tangents of the linearization", list(pushed), case.forward[n:], _tail(noise_of(case.jvp, given), n), singular=case.singular)
    given = [*case.inputs, *case.y_bars]
    pulled = linear.pull(residuals, case.y_bars, call=interpreted)
    assert_agree("cotangents of the linearization", list(pulled), case.reverse[n:], _tail(noise_of(case.vjp, given), n), singular=case.singular)


def _tail(noisy: Any, n: int) -> Any:
    return lambda k: noisy(k)[n:]


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
        if y_dot.dtype.itemsize < (16 if y_dot.dtype.kind == "c" else 8):
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


def _stays(what: str, case: Case, actual: Sequence[Array], expected: Sequence[Array], noisy: Any) -> None:
    """The results of a derivative are those of its derivative. Its tangents and cotangents are sums of products, which may be written as products of sums:
    the same but where an infinity is among the factors."""
    n = len(case.outputs)
    assert_agree(what, actual[:n], expected[:n], lambda seed: noisy(seed)[:n])
    assert_agree(f"{what}, its derivatives", actual[n:], expected[n:], _tail(noisy, n), singular=case.singular)


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
    _stays("primal of forward over reverse", case, expected[:k], case.reverse, noise_of(case.vjp, given))
    dots = range(n, n + len(case.asked))
    along = [*case.inputs, *case.x_dots, *case.y_bars]
    over_forward = case.jvp.vjp(wrt=case.moving, of=dots)
    second = interpreted(over_forward, along)
    j = len(case.jvp.signature.results)
    _stays("primal of reverse over forward", case, second[:j], case.forward, noise_of(case.jvp, [*case.inputs, *case.x_dots]))
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
    again = [direction(rng, case.reverse[i].astype(case.inputs[j].dtype)) for i, j in zip(bars, case.moving, strict=True)]
    twice = [(v.vjp(wrt=case.moving, of=bars, strategy=s), [*given, *again]) for v, s in ((case.vjp, "transpose"), (case.direct, "direct"))]
    results = [interpreted(*run)[k:] for run in twice]
    assert_agree("reverse over reverse, by adjoints", results[1], results[0], _tail(noise_of(*twice[0]), k), singular=singular(*twice))
