"""The gradient check: derivatives against differences and against each other, argument by argument.

For every float or complex argument, with directions drawn at random from a seed:

- *values*: the derivative programs compute the same outputs as the program;
- *differences*: the JVP along a direction against central differences of the program, element by element, within the
  bound that the differences themselves can vouch for (``wengert.lab.check.differences``);
- *dot product*: Re(sum(cotangents * JVP)) against Re(sum(VJP * direction)), which only rounding may part;
- *second order* (on request): the JVP of the VJP against differences of the VJP.

Where an argument sits on a kink, differences see two slopes and any value between them is a convention; this is said
and does not count as a mismatch. A test whose numbers are not finite decides nothing: the check is then *not settled*,
which is neither a mismatch nor a success.

Bounds begin with what rounding does to a short program: a multiple of the unit of rounding, and of the size of what is compared. In deep programs, or
ill-conditioned ones, rounding does more. Where such a bound is exceeded, how far rounding moves the results is measured (``wengert.lab.check.rounding``), and
the comparison is made again: with a bound that allows that, and with smaller steps of differences too. Where rounding moves what is compared by half of its
size, nothing is settled. Where a comparison fails nevertheless, functions that declare a derivative are checked one by one
(``wengert.lab.check.declared_rules``), then the ops, to find the first whose own derivative is wrong (``wengert.lab.check.culprit``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from wengert.lab.check.checker import Checker
from wengert.lab.check.culprit import find_culprit
from wengert.lab.check.declared_rules import Examine, find_wrong_rule
from wengert.lab.check.differences import Array
from wengert.lab.check.report import ArgumentCheck, CheckReport
from wengert.lab.inputs import Shapes, random_inputs, shaped
from wengert.runtime.arguments import bind
from wengert.runtime.derived.positions import Positions
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter

TESTS = ("values", "differences", "dot product", "second order")


def check(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    wrt: Positions = None,
    of: Positions = None,
    seed: int = 0,
    backend: str = "cpu",
    second_order: bool = False,
    tests: Iterable[str] = TESTS,
    strategy: str = "transpose",
    shapes: Shapes | None = None,
) -> CheckReport:
    """Checks the derivatives of a program at a point.

    Args:
        program: what to check.
        inputs: the point; drawn at random with the seed by default.
        wrt: the arguments to check; all by default, those that are not of a float or complex type are skipped.
        of: the results to differentiate; every float or complex one by default.
        seed: for directions, cotangents and default inputs.
        backend: what runs the program and its derivatives.
        second_order: whether to check the JVP of the VJP too.
        tests: the tests to make, of TESTS.
        strategy: the strategy, by name, that makes the derivatives which are checked.
        shapes: the shapes of the arguments of a program that leaves extents open, where there are no inputs to tell them.

    Raises:
        InputError: for positions or inputs that do not fit.
        DiagnosticError: for programs that cannot be differentiated.
    """
    program = shaped(program, inputs, shapes)
    arrays = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
    chosen, asked = program.resolve(wrt=wrt, of=of)
    wanted = set(tests) - (set() if second_order else {"second order"})
    checker = Checker(program, arrays, chosen, asked, seed, backend, wanted, strategy)
    positions = chosen if wrt is not None else range(len(program.signature.arguments))
    arguments = tuple(checker.argument(i) if i in chosen else _skipped(program.signature.arguments[i]) for i in positions)
    report = CheckReport(program.name, backend, seed, checker.precision, arguments, strategy=strategy)
    if report.outcome != "MISMATCH":
        return report
    examine = _examine(seed, wanted, strategy)
    rule = find_wrong_rule(program, arrays, examine)
    culprit, left = (rule, 0) if rule is not None else find_culprit(program, arrays, examine)
    return replace(report, culprit=culprit, unexamined=left)


def _examine(seed: int, tests: set[str], strategy: str) -> Examine:
    """The check of one op: the first mismatch as text."""

    def examine(program: Program, inputs: list[Array]) -> str | None:
        wrt, of = program.resolve()
        checker = Checker(program, inputs, wrt, of, seed, "interpreter", tests, strategy)
        for i in wrt:
            for finding in checker.argument(i).findings:
                if finding.verdict == "MISMATCH":
                    return f"operand {i}: {finding}"
        return None

    return examine


def _skipped(parameter: Parameter) -> ArgumentCheck:
    return ArgumentCheck(parameter.label, str(parameter.type), "skipped", reason="not of a float or complex type")
