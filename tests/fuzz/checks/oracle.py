"""What JAX and XLA say of a program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import wengert as wg
from fuzz.case import Case
from fuzz.checks.check import Family
from fuzz.execution import assert_executes

check = Family()


XLA_DIFFERS = re.compile(r'lgamma|count_leading_zeros|stablehlo.add"?\([^\n]*xi1>|stablehlo.add [^\n]*i1>')
"""What XLA without optimisation computes otherwise: lgamma of narrow floats cancels at 1 and 2, no bits before a negative number are -32, and true + true
is false."""


@check("jax-parse", one_in=5, oracle=True)
def jax_parse(case: Case) -> None:
    """JAX's parser takes the program as it is printed."""
    from fuzz.xla.oracle import parse

    parse(case.text, "the generated text")
    parse(case.program.text(), "the printed text")


@check("jax-parse-derivatives", one_in=10, needs="differentiable", oracle=True)
def jax_parse_derivatives(case: Case) -> None:
    from fuzz.xla.oracle import parse

    for name, program in (("JVP", case.jvp), ("VJP", case.vjp), ("VJP by adjoints", case.direct)):
        if not any(op.name.startswith("core.tape") for op in program.module.walk()):
            parse(program.text(), f"the {name}")


@check("xla", one_in=25, oracle=True, executes=True)
def xla(case: Case) -> None:
    from fuzz.xla.oracle import NotThereError

    if XLA_DIFFERS.search(case.text):
        return
    try:
        assert_executes("interpreted against XLA", _by_xla, case.program, case.inputs, loose=4, flushing=True)
    except NotThereError:
        return


@check("xla-vjp", one_in=60, needs="differentiable", oracle=True, executes=True)
def xla_vjp(case: Case) -> None:
    from fuzz.xla.oracle import NotThereError

    if XLA_DIFFERS.search(case.text) or any(op.name.startswith("core.tape") for op in case.vjp.module.walk()):
        return
    given = [*case.inputs, *case.y_bars]
    try:
        assert_executes("VJP interpreted against XLA", _by_xla, case.vjp, given, loose=4, flushing=True)
    except NotThereError:
        return


def _by_xla(program: wg.Program, inputs: Sequence[Any]) -> Any:
    from fuzz.xla.oracle import execute

    return execute(program.text(), inputs)
