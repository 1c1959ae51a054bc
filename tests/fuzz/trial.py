"""One program put to its checks: what comes of it, in a form that travels between processes."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fuzz.case import Case, in_wide_arithmetic
from fuzz.checks.check import Check
from fuzz.checks.every_check import CHECKS
from fuzz.execution import Amplified
from fuzz.generator import Program
from fuzz.judgement import Difference, VanishedError, comparisons
from fuzz.orders import has_orders
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.agreement.agreement import Mismatch
from wengert.runtime.errors import UnsupportedOpError

REFUSALS = re.compile(
    r"has no derivative rule|has no adjoint|has no batching rule|is not implemented by the interpreter|is not supported"
    r"|StableHLO has no|no plain StableHLO|cannot be written as plain StableHLO|cannot be batched"
)
"""What a documented refusal says: the op is named, and that there is no rule for it."""


@dataclass(frozen=True)
class Finding:
    """A check that a program does not pass."""

    check: str
    what: str
    """In one line, the same for the same fault."""
    details: str = ""

    @property
    def fault(self) -> str:
        """The finding without numbers and names that differ from program to program."""
        return f"{self.check}: {re.sub(r'[0-9]+', 'N', self.what)}"


class Rounding(str):
    """Why a difference is no finding, though a check does not hold: the program amplifies rounding, or leaves the range of a format."""


@dataclass
class Outcome:
    """What came of one program."""

    seed: int
    checks: int = 0
    seconds: float = 0.0
    finding: Finding | None = None
    refusals: tuple[str, ...] = ()
    rounding: tuple[str, ...] = ()
    """Differences that are no findings."""
    program: Program | None = None
    """Where there is a finding, the reduced program."""
    times: dict[str, float] = field(default_factory=dict)


def chosen(seed: int, oracle: bool = True, share: float = 1.0) -> list[Check]:
    """The checks that a seed is put to; of all but the first, a share."""
    return [c for i, c in enumerate(CHECKS) if i == 0 or ((oracle or not c.oracle) and _mixed(seed, i) * c.one_in < share)]


def _mixed(seed: int, number: int) -> float:
    """A number between 0 and 1 that the seed and the check's number determine."""
    x = (seed * 0x9E3779B97F4A7C15 + (number + 1) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    x = ((x ^ (x >> 30)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return ((x ^ (x >> 31)) & 0xFFFFFFFF) / 2**32


def attempt(case: Case, check: Check) -> Finding | str | None:
    """None if the check holds, a text if the program is refused by name or only amplifies rounding, else what is wrong."""
    try:
        if check.concerns(case):
            with comparisons():
                check.run(case)
    except Amplified as reason:
        return Rounding(reason)
    except Mismatch as mismatch:
        if not check.executes and holds_in_wide_arithmetic(case, check, mismatch):
            return Rounding(f"{mismatch.what}: not in wide arithmetic")
        return Finding(check.name, mismatch.what, mismatch.details)
    except (DiagnosticError, UnsupportedOpError) as refusal:
        text = str(refusal).split("\n", 1)[0]
        if REFUSALS.search(text) and check.name not in ("round-trip",):
            return re.sub(r"^\S+ error: ", "", text)
        return Finding(check.name, re.sub(r"^\S+ error: ", "", text), str(refusal)[:1500])
    except Exception as error:  # whatever leaves a public function
        return finding_of(check.name, error)
    return None


def holds_in_wide_arithmetic(case: Case, check: Check, mismatch: Mismatch) -> bool:
    """Whether a check that does not hold does where all floats are long doubles: what differs then is rounding, or the range of a format.

    A mistake in what a program or a derivative means is as large there. Of several comparisons the one that failed is made again.
    """
    again = mismatch if isinstance(mismatch, Difference) else None
    try:
        with in_wide_arithmetic(), comparisons(again):
            check.run(Case(Program(case.text, tuple(case.inputs), case.seed, case.smooth)))
    except VanishedError:
        return True
    except Exception:  # a Mismatch, or what no wide arithmetic is there for
        return False
    return again is None


def finding_of(name: str, error: Exception) -> Finding:
    """An exception as a finding: its type, where it was raised, and the first line of what it says."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rsplit('/', 1)[-1]}: {last.name}"
    text = str(error).splitlines()[0][:120] if str(error) else ""
    return Finding(name, f"{type(error).__name__} in {place}: {text}", "".join(traceback.format_exception(error))[-1500:])


def put_to_test(program: Program, checks: Sequence[Check], begins: Callable[[str], None] = lambda name: None) -> Outcome:
    """Makes the checks in turn, up to the first that does not hold; ``begins`` is told the name of each.

    What a sort gives is left open where NaNs come to a comparator that is no order of them, so that such a program has no findings.
    """
    started = time.perf_counter()
    outcome, case = Outcome(program.seed or 0), Case(program)
    refusals: dict[str, None] = {}
    for check in checks:
        begins(check.name)
        before = time.perf_counter()
        outcome_of_check = attempt(case, check)
        outcome.checks += 1
        outcome.times[check.name] = time.perf_counter() - before
        if isinstance(outcome_of_check, Rounding):
            outcome.rounding += (outcome_of_check,)
        elif isinstance(outcome_of_check, str):
            refusals[outcome_of_check] = None
        elif outcome_of_check is not None:
            if has_orders(program):
                outcome.finding = outcome_of_check
            else:
                refusals["a comparator is no strict weak order of what it meets"] = None
            break
    outcome.refusals = tuple(refusals)
    outcome.seconds = time.perf_counter() - started
    return outcome
