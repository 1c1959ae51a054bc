"""What must be true of compiled derivatives and batches."""

from __future__ import annotations

from fuzz.case import Case, noise_of
from fuzz.checks.batching import assert_batched, batch_of
from fuzz.checks.check import Family
from wengert.lab.agreement.agreement import assert_agree

check = Family()


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
