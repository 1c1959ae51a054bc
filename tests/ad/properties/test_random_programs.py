"""Random programs: both strategies of reverse mode, duality, differences, optimisation, batching and compilation agree.

``WENGERT_RANDOM_PROGRAMS`` sets how many programs are tried (60 by default). A program that fails is shrunk to a few ops, and
printed with its seed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, note, settings
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime import cpu
from wengert.runtime.interpreter import run
from wengert.transforms.ad.derive import jvp, vjp
from wengert.transforms.core.to_core import to_core
from wengert.transforms.pipelines import OPTIMIZE, parse_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import Arrays, active_arguments, active_results, derived, differences, pairing, random_like
from batch_checks import check_derivatives
from random_programs import RandomProgram, programs

COUNT = int(os.environ.get("WENGERT_RANDOM_PROGRAMS", "60"))


def sampled(count: int) -> settings:
    """So many programs, the same ones every time unless more are asked for than usual."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.filter_too_much]
    return settings(
        max_examples=max(1, count),
        deadline=None,
        database=None,
        derandomize=COUNT <= 60,
        print_blob=True,
        suppress_health_check=checks,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )


def direct(module: ModuleOp) -> None:
    vjp(module, strategy="direct")


def assert_agree(actual: Arrays, expected: Arrays, tolerance: float, what: str) -> None:
    """Equal to rounding, relative to the largest element of all results."""
    scale = max([1.0, *(float(np.abs(e).max()) for e in expected if e.size)])
    for k, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert (a.shape, a.dtype) == (e.shape, e.dtype), what
        assert np.isfinite(e).all(), f"{what}: result {k} is not finite"
        if a.size:
            error = float(np.abs(np.asarray(a, float) - e).max())
            assert error <= tolerance * scale, f"{what}: result {k} differs by {error}, the largest element is {scale}"


def show(program: RandomProgram) -> None:
    verify(program.module)
    note(f"seed {program.seed}, inputs {program.inputs}")
    note(print_module(program.module))


@sampled(COUNT)
@given(programs())
def test_derivatives_agree(program: RandomProgram) -> None:
    show(program)
    module, inputs = program.module, program.inputs
    rng = np.random.default_rng(program.seed)
    outputs = run(module, inputs)
    n = len(outputs)
    active = active_arguments(module)
    x_dots = random_like([inputs[i] for i in active], rng)
    y_bars = random_like([outputs[j] for j in active_results(module)], rng)
    core_level = module.clone()
    to_core(core_level)
    assert_agree(run(core_level, inputs), outputs, 1e-12, "core level")
    forward = run(derived(core_level, jvp), [*inputs, *x_dots])
    transposed = derived(core_level, vjp)
    reverse = run(transposed, [*inputs, *y_bars])
    adjoint = derived(core_level, direct)
    assert_agree(forward[:n], outputs, 1e-12, "outputs of the JVP")
    assert_agree(reverse[:n], outputs, 1e-12, "outputs of the VJP")
    assert_agree(run(adjoint, [*inputs, *y_bars]), reverse, 1e-9, "the direct VJP against the transposed one")
    scale = 1.0 + sum(float(np.abs(x_bar).sum()) for x_bar in reverse[n:])
    assert abs(pairing(reverse[n:], x_dots) - pairing(y_bars, forward[n:])) <= 1e-9 * scale, "the VJP is the transpose of the JVP"
    assert_agree(forward[n:], differences(module, inputs, active, x_dots), 1e-4, "the JVP against differences")
    for made in (transposed, adjoint):
        fewer = parse_pipeline(OPTIMIZE).run(made.clone())
        verify(fewer)
        assert_agree(run(fewer, [*inputs, *y_bars]), reverse, 1e-9, "after optimisation")


@sampled(COUNT // 6)
@given(programs(8))
def test_compiled_derivatives(program: RandomProgram) -> None:
    show(program)
    module, inputs = program.module, program.inputs
    rng = np.random.default_rng(program.seed)
    y_bars = random_like([run(module, inputs)[j] for j in active_results(module)], rng)
    for mode in (vjp, direct):
        fewer = parse_pipeline(OPTIMIZE).run(derived(module, mode))
        expected = run(fewer, [*inputs, *y_bars])
        assert_agree(list(cpu.compile(fewer)(*inputs, *y_bars)), expected, 1e-9, "compiled")


@sampled(COUNT // 6)
@given(programs(6))
def test_batched_derivatives_agree(program: RandomProgram) -> None:
    """Batching and both modes commute, for batch elements that go different ways."""
    show(program)
    rng = np.random.default_rng(program.seed)
    *floats, count = program.inputs
    elements = [[a, *(np.asarray(rng.uniform(-1.2, 1.2, a.shape)) for _ in range(2))] for a in floats]
    flags = [True, *(bool(rng.integers(2)) for _ in floats)]
    check_derivatives(program.module, [*elements, [count, np.array(3, np.int32), np.array(0, np.int32)]], flags, rng, 1e-9)


@sampled(COUNT // 6)
@given(programs(6))
def test_second_derivatives_agree(program: RandomProgram) -> None:
    """Both strategies agree on the gradient of what either of them makes."""
    show(program)
    module, inputs = program.module, program.inputs
    rng = np.random.default_rng(program.seed)
    y_bars = random_like([run(module, inputs)[j] for j in active_results(module)], rng)
    for mode in (vjp, direct):
        gradient, given_inputs = derived(module, mode), [*inputs, *y_bars]
        outputs = run(gradient, given_inputs)
        bars = random_like([outputs[j] for j in active_results(gradient)], rng)
        expected = run(derived(gradient, vjp), [*given_inputs, *bars])
        assert_agree(run(derived(gradient, direct), [*given_inputs, *bars]), expected, 1e-8, "second derivatives")
