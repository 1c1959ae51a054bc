"""What must be true of a program whose extents are left open: for the shapes of the inputs it is the program that it was made of."""

from __future__ import annotations

import numpy as np

from fuzz.case import Case, interpreted, noise_of
from fuzz.checks.check import Family
from fuzz.checks.opened import opened
from fuzz.judgement import assert_agree
from wengert.ir.verification.verifier import verify

check = Family()


@check("open-extents", one_in=3)
def open_extents(case: Case) -> None:
    program = opened(case.program, np.random.default_rng([7, case.seed])).specialized_for(case.inputs)
    verify(program.module)
    assert_agree("with extents left open", interpreted(program, case.inputs), case.outputs, case.noisy)


@check("derivatives-of-open-extents", one_in=12, needs="differentiable")
def derivatives_of_open_extents(case: Case) -> None:
    program = opened(case.program, np.random.default_rng([8, case.seed]))
    given = [*case.inputs, *case.x_dots]
    forward = interpreted(program.jvp().specialized_for(given), given)
    assert_agree("JVP with extents left open", forward, case.forward, noise_of(case.jvp, given), singular=case.singular)
    given = [*case.inputs, *case.y_bars]
    reverse = interpreted(program.vjp().specialized_for(given), given)
    assert_agree("VJP with extents left open", reverse, case.reverse, noise_of(case.vjp, given), singular=case.singular)
