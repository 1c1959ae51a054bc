"""Summarises the outcomes of a comparison: geometric means of figures relative to the first strategy, and the programs that are worst.

Only programs count for which both derivatives are right. A mean is over those whose derivatives are equal, too: a strategy without an effect on half of
the programs has half of the effect. Where a figure is zero for one of the two there is no finite ratio, and the program is no part of that mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wengert.lab.compare.outcome import FIGURES, Outcome
from wengert.lab.tables import count, seconds, size, table

WORST = 3
MEASURED, TIE = ("seconds", "compile_seconds"), 1.05
"""Measured figures, and the ratio up to which two of them are called a tie."""
TITLES = {"ops": "ops", "flops": "flops", "kept": "kept", "arena": "arena", "seconds": "time", "compile_seconds": "compile"}
"""The columns' titles."""


@dataclass(frozen=True)
class Pair:
    """An outcome beside that of the first strategy for the same program."""

    first: Outcome
    other: Outcome

    def ratio(self, figure: str) -> float | None:
        """The figure in units of the first strategy's; infinite where that is zero and this is not; None where one is not known or both are zero."""
        mine, theirs = self.other.figure(figure), self.first.figure(figure)
        if mine is None or theirs is None or (mine == 0 and theirs == 0):
            return None
        return mine / theirs if theirs else math.inf


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a figure's ratios for one strategy, over so many programs (NaN over none)."""

    strategy: str
    figure: str
    value: float
    programs: int


def pairs(outcomes: Sequence[Outcome], first: str) -> list[Pair]:
    """The right outcomes of the other strategies, where that of the first one is right too."""
    right = {outcome.key: outcome for outcome in outcomes if outcome.status == "right"}
    others = (outcome for outcome in right.values() if outcome.strategy != first)
    return [Pair(base, other) for other in others if (base := right.get((other.program, other.precision, first))) is not None]


def means(outcomes: Sequence[Outcome], strategies: Sequence[str]) -> list[Mean]:
    """The means of every strategy but the first, figure by figure."""
    return [_mean(pairs(outcomes, strategies[0]), strategy, figure) for strategy in strategies[1:] for figure in FIGURES]


def _mean(pairs: Sequence[Pair], strategy: str, figure: str) -> Mean:
    ratios = [ratio for pair in pairs if pair.other.strategy == strategy and (ratio := pair.ratio(figure)) is not None]
    logs = [math.log(ratio) for ratio in ratios if ratio > 0 and math.isfinite(ratio)]
    return Mean(strategy, figure, math.exp(math.fsum(logs) / len(logs)) if logs else math.nan, len(logs))


def worst(outcomes: Sequence[Outcome], first: str, figure: str) -> list[Pair]:
    """The programs, at most three, where the figure of another strategy is above that of the first one by most; ties and equal derivatives are left out."""
    least = TIE if figure in MEASURED else 1
    ratios = [(ratio, pair) for pair in pairs(outcomes, first) if not pair.other.equal_to and (ratio := pair.ratio(figure)) is not None and ratio > least]
    return [pair for _, pair in sorted(ratios, key=lambda one: one[0], reverse=True)[:WORST]]


# -- as text


def outcome_table(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each outcome."""
    rows = [[f"{o.program} {o.precision}", o.strategy, _verdict(o), _error(o), *(_cell(o, figure) for figure in FIGURES)] for o in outcomes]
    return table(["program", "strategy", "derivative", "error", *TITLES.values()], rows)


def _verdict(outcome: Outcome) -> str:
    return f"= {outcome.equal_to}" if outcome.equal_to and outcome.status == "right" else outcome.status


def _error(outcome: Outcome) -> str:
    return "-" if outcome.error is None else f"{outcome.error:.1e}"


def _cell(outcome: Outcome, figure: str) -> str:
    value = outcome.figure(figure)
    if value is None:
        return "-"
    if figure in MEASURED:
        return seconds(value)
    return size(int(value)) if figure in ("kept", "arena") else count(int(value))


def count_lines(outcomes: Sequence[Outcome], strategies: Sequence[str]) -> Iterator[str]:
    """``mine: 2 right, 1 refused``, and where it has no effect."""
    for strategy in strategies:
        of = [outcome for outcome in outcomes if outcome.strategy == strategy]
        counts = Counter(outcome.status for outcome in of)
        yield f"{strategy}: " + ", ".join(f"{number} {status}" for status in ("right", "wrong", "refused", "failed") if (number := counts[status]))
        equal = [outcome for outcome in of if outcome.equal_to]
        if equal:
            names = ", ".join(f"{outcome.program} {outcome.precision}" for outcome in equal)
            which = "all programs" if len(equal) == len(of) else f"{len(equal)} of {len(of)} programs: {names}"
            yield f"{strategy}: no effect after clean-up (the derivative is that of {equal[0].equal_to}) on {which}"


def mean_table(outcomes: Sequence[Outcome], strategies: Sequence[str]) -> list[str]:
    """The means as a table, a line for each strategy."""
    compared = means(outcomes, strategies)
    rows = [[strategy, *(_mean_cell(mean) for mean in compared if mean.strategy == strategy)] for strategy in strategies[1:]]
    title = f"geometric means, in units of {strategies[0]} (over so many programs)"
    return [title, *table(["strategy", *TITLES.values()], rows)] if rows else []


def _mean_cell(mean: Mean) -> str:
    return f"{mean.value:.3g} ({mean.programs})" if mean.programs else "-"


def worst_line(pair: Pair, figure: str) -> str:
    """``gmm_diag f64 mine: flops 1.2 k instead of 800 (1.5 times)``."""
    ratio = pair.ratio(figure)
    times = f" ({ratio:.3g} times)" if ratio is not None and math.isfinite(ratio) else ""
    other = pair.other
    return f"{other.program} {other.precision} {other.strategy}: {TITLES[figure]} {_cell(other, figure)} instead of {_cell(pair.first, figure)}{times}"
