"""The report of a gradient check: its findings, argument by argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wengert.lab.check.culprit import Culprit
from wengert.lab.check.declared_rules import WrongRule
from wengert.lab.plain import plain

Verdict = Literal["ok", "MISMATCH", "at a kink", "unsettled", "skipped"]
Outcome = Literal["ok", "MISMATCH", "not settled"]


@dataclass(frozen=True)
class Finding:
    """One comparison: what was compared with what, where it was worst, and within which bound."""

    test: str
    verdict: Verdict
    error: float = 0.0
    bound: float = 0.0
    where: str = ""
    left: str = ""
    right: str = ""
    step: float | None = None
    rounding: float | None = None
    """By how much rounding was seen to move what is compared, where the bound rests on that; None where it rests on the precision alone."""

    def __str__(self) -> str:
        measured = "" if self.rounding is None else f" (rounding moves it by {self.rounding:.1e})"
        text = f"{self.test}: {self.verdict}, error {self.error:.1e}, bound {self.bound:.1e}{measured}"
        if self.verdict == "ok":
            return text
        at = f" at {self.where}" if self.where else ""
        step = f", step {self.step:.1e}" if self.step is not None else ""
        return f"{text}{at}: {self.left}, {self.right}{step}"


@dataclass(frozen=True)
class ArgumentCheck:
    """The findings for one argument."""

    argument: str
    type: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        lines = [f"{self.argument:24} {self.type:24} {self.verdict}" + (f": {self.reason}" if self.reason else "")]
        return "\n".join(lines + [f"    {finding}" for finding in self.findings])


@dataclass(frozen=True)
class CheckReport:
    """The outcome of a check; true if all derivatives were seen to be right."""

    program: str
    backend: str
    seed: int
    precision: str
    arguments: tuple[ArgumentCheck, ...]
    culprit: Culprit | WrongRule | None = None
    command: str = ""
    strategy: str = "transpose"
    unexamined: int = 0
    """How many ops of a long program there was no time to examine by themselves."""

    @property
    def outcome(self) -> Outcome:
        """MISMATCH if any derivative is wrong, else "not settled" if a test of any argument could not decide, else ok."""
        verdicts = {a.verdict for a in self.arguments}
        return "MISMATCH" if "MISMATCH" in verdicts else "not settled" if "unsettled" in verdicts else "ok"

    @property
    def ok(self) -> bool:
        """Whether nothing mismatches and everything was decided."""
        return self.outcome == "ok"

    def __bool__(self) -> bool:
        return self.ok

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {**plain(self), "outcome": self.outcome, "ok": self.ok}

    def __str__(self) -> str:
        how = "" if self.strategy == "transpose" else f", strategy {self.strategy}"
        lines = [f"gradient check of {self.program} on backend {self.backend}, seed {self.seed}, rounding of {self.precision}{how}"]
        lines += [str(argument) for argument in self.arguments]
        if isinstance(self.culprit, WrongRule):
            lines.append(f"declared derivative that disagrees by itself: {self.culprit}")
        elif self.culprit is not None:
            lines.append(f"first op whose own derivative disagrees: {self.culprit}")
        elif self.unexamined:
            lines.append(f"no op that was examined disagrees by itself; there was no time for {self.unexamined} more")
        elif self.outcome == "MISMATCH":
            lines.append("every op and declared derivative agrees with differences by itself: the mistake lies in how they are put together")
        lines.append(self._closing())
        return "\n".join(lines)

    def _closing(self) -> str:
        bad = [a.argument for a in self.arguments if a.verdict == "MISMATCH"]
        if bad:
            return f"MISMATCH in {', '.join(bad)}" + (f"\nagain: {self.command}" if self.command else "")
        unsettled = [a.argument for a in self.arguments if a.verdict == "unsettled"]
        if unsettled:
            return f"NOT SETTLED in {', '.join(unsettled)}: values or differences there are not finite, or lost in rounding; try other inputs"
        open_questions = [a.argument for a in self.arguments if a.verdict == "at a kink"]
        return "ok" + (f" (not decided by differences: {', '.join(open_questions)})" if open_questions else "")
