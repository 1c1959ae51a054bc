"""What must be true of compiled derivatives and batches."""

from __future__ import annotations

from fuzz.case import Case
from fuzz.checks.batching import batch_of, batched
from fuzz.checks.check import Family
from fuzz.execution import assert_executes, compiled

check = Family()


@check("compiled-jvp", one_in=6, needs="differentiable", executes=True)
def compiled_jvp(case: Case) -> None:
    given = [*case.inputs, *case.x_dots]
    assert_executes("compiled JVP", compiled, case.jvp, given)


@check("compiled-vjp", one_in=3, needs="differentiable", executes=True)
def compiled_vjp(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_executes("compiled VJP", compiled, case.vjp, given)


@check("compiled-direct", one_in=8, needs="differentiable", executes=True)
def compiled_direct(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_executes("compiled VJP by adjoints", compiled, case.direct, given)


@check("compiled-vmap", one_in=8, executes=True)
def compiled_vmap(case: Case) -> None:
    if case.inputs:
        each, flags = batch_of(case)
        assert_executes("compiled vmap", compiled, *batched(case.program, each, flags))
