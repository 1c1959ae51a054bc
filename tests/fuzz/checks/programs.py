"""What must be true of the program itself: it runs, prints, and computes the same when it is optimised or compiled."""

from __future__ import annotations

import wengert as wg
from fuzz.case import Case, interpreted_module
from fuzz.checks.check import Family
from fuzz.execution import assert_executes
from fuzz.execution import compiled as compiled_code
from fuzz.judgement import assert_agree
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.lab.agreement.agreement import Mismatch

check = Family()


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


@check("verified-derivatives", one_in=3, needs="differentiable")
def verified_derivatives(case: Case) -> None:
    """Derivatives and core forms are well typed, and what is printed of derivatives is read again as what it was."""
    verify(case.program.core_module)
    for program in (case.jvp, case.vjp, case.direct):
        verify(program.module)
        verify(program.core_module)
        verify(program.optimized_module)
        text = program.text()
        if wg.parse(text).text() != text:
            raise Mismatch("printed text of a derivative changes when it is parsed and printed again")


@check("optimised")
def optimised(case: Case) -> None:
    """Core form and optimisation change nothing."""
    from wengert.runtime.derived.derivation import runnable

    assert_agree("optimised core form, interpreted", interpreted_module(runnable(case.program.optimized_module), case.inputs), case.outputs, case.noisy)


@check("compiled", executes=True)
def compiled(case: Case) -> None:
    assert_executes("compiled", compiled_code, case.program, case.inputs)


@check("compiled-best", one_in=6, executes=True)
def compiled_best(case: Case) -> None:
    assert_executes("compiled with opt=best", lambda program, inputs: program.compile()(*inputs), case.program, case.inputs)
