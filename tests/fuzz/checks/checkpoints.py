"""What must be true of derivatives that keep other values than the default: of loops a few states, within a budget of memory."""

from __future__ import annotations

import numpy as np

from fuzz.case import Case, interpreted, noise_of
from fuzz.checks.check import Family
from fuzz.execution import assert_executes
from fuzz.judgement import assert_agree

check = Family()
POLICIES = ("sqrt", "binomial-1", "binomial-2", "binomial-3")


def has_loops(case: Case) -> bool:
    """Whether what is differentiated has loops."""
    return any(op.name in ("core.for", "core.while") for op in case.program.optimized_module.walk())


@check("states-of-loops", one_in=2, needs="differentiable")
def states_of_loops(case: Case) -> None:
    """A loop that keeps a few states has the same derivative, and so has the derivative of that."""
    if not has_loops(case):
        return
    bars = range(len(case.outputs), len(case.outputs) + len(case.moving))
    given = [*case.inputs, *case.y_bars]
    noisy = noise_of(case.vjp, given)
    for policy in np.random.default_rng([5, case.seed]).permutation(POLICIES)[:2]:
        derivative = case.program.vjp(case.moving, case.asked, residuals=str(policy))
        assert_agree(f"VJP by {policy}", interpreted(derivative, given), case.reverse, noisy, singular=case.singular)
        assert_executes(f"VJP by {policy}, compiled", lambda program, inputs: program.compile()(*inputs), derivative, given)
    along = [*given, *case.x_dots]
    plain, other = case.vjp.jvp(case.moving, bars), derivative.jvp(case.moving, bars)
    k = len(case.vjp.signature.results)
    assert_agree(
        f"forward over VJP by {policy}",
        interpreted(other, along)[k:],
        interpreted(plain, along)[k:],
        lambda seed: noise_of(plain, along)(seed)[k:],
        singular=case.singular if case.singular != "infinite" else case.singular_in((plain, along), (other, along)),
    )
