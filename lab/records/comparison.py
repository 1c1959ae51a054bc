"""Compares two sets of records, task by task: times with a verdict that knows of noise, counts exactly, and what was refused or wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wengert.lab.plain import plain
from wengert.lab.records.record import COUNTS, Record
from wengert.lab.records.verdict import EFFECT, ENOUGH_RECORDS, Timing, Verdict, between_runs, judge, quartile
from wengert.lab.tables import count, seconds, size, table

BYTES = ("bytes", "moved", "kept", "arena", "peak")


@dataclass(frozen=True)
class Pair:
    """The records of one task in both sets.

    Attributes:
        a, b: the records, in the order in which they were taken; the last one's counts are compared.
        verdict: of the times; None where one side has none.
    """

    a: tuple[Record, ...]
    b: tuple[Record, ...]
    verdict: Verdict | None
    effect: float = EFFECT

    @property
    def name(self) -> str:
        """The task, for people."""
        return self.b[-1].name

    @property
    def status(self) -> tuple[str, str]:
        """How it ended, before and after."""
        return self.a[-1].result.status, self.b[-1].result.status

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """The counts that differ."""
        a, b = self.a[-1].result.counts, self.b[-1].result.counts
        return {name: (a[name], b[name]) for name in COUNTS if name in a and name in b and a[name] != b[name]}

    @property
    def regressions(self) -> list[str]:
        """What has become worse by at least the minimum effect; empty if nothing has."""
        worse: list[str] = []
        if self.status[0] == "ok" and self.status[1] != "ok":
            worse.append(f"{self.status[1]}: {self.b[-1].result.reason}")
        if self.verdict is not None and self.verdict.kind == "slower":
            worse.append(str(self.verdict))
        return worse + [f"{name} {_change(name, *values)}" for name, values in self.counts.items() if values[1] > values[0] * (1 + self.effect)]

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {
            "task": self.b[-1].task,
            "name": self.name,
            "records": {side: [record.id for record in records] for side, records in (("a", self.a), ("b", self.b))},
            "status": list(self.status),
            "time": plain(self.verdict),
            "counts": {name: list(values) for name, values in self.counts.items()},
            "regressions": self.regressions,
        }


@dataclass(frozen=True)
class Comparison:
    """Two sets of records.

    Attributes:
        a, b: what they are called.
        pairs: the tasks that are in both.
        only_a, only_b: the names of the others.
        notes: in what the environments differ.
        floor: the least difference of times that is told from the noise between runs, as a part; None where that is not known.
    """

    a: str
    b: str
    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    floor: float | None = None

    @property
    def regressions(self) -> tuple[Pair, ...]:
        """The tasks of which something has become worse."""
        return tuple(pair for pair in self.pairs if pair.regressions)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "notes": list(self.notes),
            "floor": self.floor,
            "pairs": [pair.to_json() for pair in self.pairs],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "regressions": len(self.regressions),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from self.notes
        if self.notes:
            yield ""
        if self.pairs:
            yield from table(["task", "A", "B", "B/A", "99 % interval", "yardstick", "time", "counts"], [_cells(pair) for pair in self.pairs])
            yield ""
        for side, names in (("A", self.only_a), ("B", self.only_b)):
            if names:
                yield f"only in {side}: {len(names)} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        yield from self._summary()

    def _summary(self) -> Iterator[str]:
        verdicts = [pair.verdict for pair in self.pairs if pair.verdict is not None and pair.verdict.kind != "too few samples"]
        kinds = ("slower", "faster", "no difference seen")
        if verdicts:
            mean = math.exp(math.fsum(math.log(verdict.ratio) for verdict in verdicts) / len(verdicts))
            counted = ", ".join(f"{sum(v.kind == kind for v in verdicts)} {kind}" for kind in kinds)
            yield f"times of {len(verdicts)} tasks: {counted}; geometric mean of B/A {mean:.3g}"
            if self.floor is not None:
                yield f"runs differ among each other so much that differences below {100 * self.floor:.2g} % are not told; three runs of each side tell more"
        yield f"regressions: {len(self.regressions)} of {len(self.pairs)} tasks"
        for pair in self.regressions:
            yield f"  {pair.name}: {'; '.join(pair.regressions)}"


def compare(
    a: Sequence[Record], b: Sequence[Record], names: tuple[str, str] = ("A", "B"), effect: float = EFFECT, sides: tuple[str, str] = ("A", "B")
) -> Comparison:
    """The comparison of two sets of records, task by task.

    Args:
        a: the records; several of one task count together.
        b: those that are compared with them.
        names: what the sets are called.
        effect: the least difference that counts, as a part.
        sides: what notes call them.
    """
    first, second = _by_task(a), _by_task(b)
    pairs = [Pair(tuple(first[task]), tuple(second[task]), _verdict(first[task], second[task], effect), effect) for task in second if task in first]
    only_a, only_b = (tuple(known[task][-1].name for task in known if task not in other) for known, other in ((first, second), (second, first)))
    floor = _floor(pairs)
    return Comparison(*names, tuple(_told(pairs, effect, floor)), only_a, only_b, tuple(_notes(a, b, sides)), floor)


def _by_task(records: Sequence[Record]) -> dict[str, list[Record]]:
    by_task: dict[str, list[Record]] = {}
    for record in records:
        by_task.setdefault(record.task, []).append(record)
    return by_task


def _verdict(a: Sequence[Record], b: Sequence[Record], effect: float) -> Verdict | None:
    sides = [[Timing(record.result.samples, record.result.yardstick) for record in side if record.result.samples] for side in (a, b)]
    return judge(sides[0], sides[1], effect=effect) if all(sides) else None


def _floor(pairs: Sequence[Pair]) -> float | None:
    """The least difference that is told from the noise between runs, as a part: three deviations of how far runs differ, which all tasks together tell.
    None where each task has records enough to tell it itself, or there are too few tasks."""
    timed = [pair for pair in pairs if pair.verdict is not None]
    if all(min(len(pair.a), len(pair.b)) >= ENOUGH_RECORDS for pair in timed):
        return None
    deviation = between_runs([pair.verdict for pair in timed if pair.verdict is not None])
    return None if deviation is None else math.expm1(3 * deviation)


def _told(pairs: Sequence[Pair], effect: float, floor: float | None) -> list[Pair]:
    """The pairs with verdicts that the noise between runs allows."""
    if floor is None or floor <= effect:
        return list(pairs)
    return [replace(pair, verdict=pair.verdict.at_least(floor)) if pair.verdict is not None else pair for pair in pairs]


# -- environments


_FACTS: dict[str, Callable[[Record], str]] = {
    "processor": lambda r: f"{r.environment.machine.processor} ({r.environment.machine.target})",
    "cores": lambda r: str(r.environment.machine.cores),
    "threads": lambda r: str(r.environment.threads),
    "machine": lambda r: r.environment.machine.name,
    "commit": lambda r: _short(r.environment.commit) or "none",
    "wengert": lambda r: _short_in(r.environment.wengert),
    "plug-ins": lambda r: " ".join(f"{source}@{hash[:8]}" for source, hash in r.environment.plugins.items()) or "none",
    "variables": lambda r: " ".join(f"{name}={value}" for name, value in r.environment.variables.items()) or "none",
}


def environment_facts(records: Sequence[Record]) -> dict[str, str]:
    """What a note about environments may name: facts as text, several where records differ."""
    facts = {name: _joined([fact(record) for record in records]) for name, fact in _FACTS.items()}
    versions = [record.environment.versions for record in records]
    names = dict.fromkeys(name for known in versions for name in known)
    return {**facts, **{name: _joined([known.get(name, "none") for known in versions]) for name in names}}


def _notes(a: Sequence[Record], b: Sequence[Record], sides: tuple[str, str]) -> Iterator[str]:
    """A line for each fact in which two sets differ, and for loads that do."""
    if not a or not b:
        return
    first, second = environment_facts(a), environment_facts(b)
    for name in dict.fromkeys([*first, *second]):
        before, after = first.get(name, "none"), second.get(name, "none")
        if before != after:
            yield f"{name}: {before} ({sides[0]}), {after} ({sides[1]})"
    loads = [[record.load for record in side if not math.isnan(record.load)] for side in (a, b)]
    if all(loads):
        means = [math.fsum(side) / len(side) for side in loads]
        if max(means) > 1.5 * min(means) + 0.5:
            yield f"load: {means[0]:.2g} ({sides[0]}), {means[1]:.2g} ({sides[1]}): a busy machine is slower for that reason alone"


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _short(commit: str) -> str:
    """The first twelve digits of a commit."""
    name, dash, dirty = commit.partition("-")
    return f"{name[:12]}{dash}{dirty}"


def _short_in(version: str) -> str:
    """A version with a short commit."""
    version, space, commit = version.partition(" ")
    return f"{version}{space}{f'({_short(commit[1:-1])})' if commit else ''}"


# -- cells


def _cells(pair: Pair) -> list[str]:
    a, b, verdict = _typical(pair.a), _typical(pair.b), pair.verdict
    times = [seconds(time) if time is not None else "-" for time in (a, b)]
    known = verdict is not None and verdict.kind != "too few samples"
    ratio = [f"{verdict.ratio:.3f}", f"{verdict.low:.3f} to {verdict.high:.3f}", f"{verdict.relative:.3f}"] if known and verdict is not None else ["-"] * 3
    before, after = pair.status
    kind = verdict.kind if verdict is not None else "-"
    changed = ", ".join(f"{name} {_change(name, *values)}" for name, values in pair.counts.items()) or "same"
    return [pair.name, *times, *ratio, kind if before == after == "ok" else f"{before} -> {after}" if before != after else after, changed]


def _typical(records: Sequence[Record]) -> float | None:
    """The lower quartile of all samples, which the verdict compares."""
    samples = [sample for record in records for sample in record.result.samples]
    return quartile(samples) if samples else None


def _change(name: str, before: int, after: int) -> str:
    show = size if name in BYTES else count
    ratio = f" ({after / before:.3g} times)" if before else ""
    return f"{show(before)} -> {show(after)}{ratio}"
