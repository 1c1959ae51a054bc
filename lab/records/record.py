"""A record: one task that was run once, somewhere, with what it counted and every sample of its time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any, Literal

from wengert.lab.plain import plain
from wengert.lab.records.environment import Environment
from wengert.lab.records.work import Work, digest

Status = Literal["ok", "refused", "wrong", "failed"]
COUNTS = ("ops", "flops", "transcendentals", "bytes", "launches", "moved", "kept", "arena", "peak")
"""The figures that are counted, not timed: the first four on core-level IR before fusion, the others of the compiled program (``moved``, ``kept``, ``arena``
and ``peak`` in bytes). Less is better in all of them."""


@dataclass(frozen=True)
class Result:
    """The outcome of a task.

    Attributes:
        status: ``ok``; ``refused``: a diagnostic says what is not covered, or what does not fit; ``wrong``: results are not the expected ones; ``failed``:
            any other exception, or the process ended.
        reason: why it is not ``ok``.
        counts: of :data:`COUNTS`; what is not known is not there.
        samples: seconds per call, one for each round, in the order in which they were taken.
        yardstick: seconds per call of the yardstick, in the same rounds (:mod:`wengert.lab.records.yardstick`).
        calls: how many calls each sample is the mean of.
        compile_seconds: making and compiling the derivative.
        predicted: seconds by the machine model; None where nothing is predicted.
        factor: the factor within which nine of ten predictions are.
        directions: how many runs a full first derivative takes (JVPs or VJPs); 1 for what computes all at once.
        values: the values of symbols at these inputs, such as iterations of loops.
        derived: the hash of the normalised IR that was run, after optimisation.
        norms: the Euclidean norm of each result.
        interference: what else the machine did while samples were taken (:mod:`wengert.lab.records.interference`).
        error, tolerance: the largest difference from expected results, and the largest that is right, where there are such.
    """

    status: Status
    reason: str = ""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    samples: tuple[float, ...] = ()
    calls: int = 0
    yardstick: tuple[float, ...] = ()
    compile_seconds: float | None = None
    predicted: float | None = None
    factor: float | None = None
    directions: int = 1
    values: dict[str, int] = field(default_factory=dict[str, int])
    derived: str = ""
    norms: tuple[float, ...] = ()
    interference: dict[str, float] = field(default_factory=dict[str, float])
    error: float | None = None
    tolerance: float | None = None

    @property
    def minimum(self) -> float | None:
        """The least sample."""
        return min(self.samples, default=None)

    @property
    def median(self) -> float | None:
        """The median sample."""
        return median(self.samples) if self.samples else None

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return plain(self)

    @staticmethod
    def of_json(fields: dict[str, Any]) -> Result:
        """The result that :meth:`to_json` wrote."""
        known: dict[str, Any] = dict(fields)
        known |= {"samples": tuple(fields["samples"]), "yardstick": tuple(fields["yardstick"]), "norms": tuple(map(float, fields["norms"]))}
        if fields["error"] is not None:
            known["error"] = float(fields["error"])
        return Result(**known)


@dataclass(frozen=True)
class Record:
    """A task that was run.

    Attributes:
        work: what was run.
        label: the program's name for people.
        sizes: the sizes by name, and other choices that made the program.
        result: what came of it.
        environment: where.
        load: how many processes wanted to run when it began, on average over a minute.
        taken: when, in UTC, as ISO 8601.
        run: the name of the run (one command) that it is of.
        id: a hash of all of it, so that records of several machines merge, each once.
    """

    work: Work
    label: str
    sizes: dict[str, int | str]
    result: Result
    environment: Environment
    load: float
    taken: str
    run: str
    id: str = ""

    def named(self) -> Record:
        """The same with its id."""
        fields = {**self.to_json(), "id": ""}
        return replace(self, id=digest(json.dumps(fields, sort_keys=True)))

    @property
    def task(self) -> str:
        """The name of the task: the same wherever the same is run."""
        return self.work.task

    @property
    def name(self) -> str:
        """``mlp n=64 reverse``."""
        sizes = "".join(f" {name}={value}" for name, value in self.sizes.items())
        return f"{self.label}{sizes} {self.work.mode}"

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON: everything but the program's text."""
        environment = {**self.environment.to_json(), "hash": self.environment.hash}
        return {
            "id": self.id,
            "task": self.task,
            "run": self.run,
            "taken": self.taken,
            "label": self.label,
            "sizes": dict(self.sizes),
            "work": plain(asdict(self.work)),
            "result": self.result.to_json(),
            "environment": environment,
            "load": plain(self.load),
        }

    @staticmethod
    def of_json(fields: dict[str, Any]) -> Record:
        """The record that :meth:`to_json` wrote."""
        known = {name: value for name, value in fields["environment"].items() if name != "hash"}
        return Record(
            work_of(fields["work"]),
            fields["label"],
            fields["sizes"],
            Result.of_json(fields["result"]),
            Environment.of_json(known),
            float(fields["load"]),
            fields["taken"],
            fields["run"],
            fields["id"],
        )


def work_of(fields: dict[str, Any]) -> Work:
    """The work with these fields as JSON holds them."""
    known: dict[str, Any] = {**fields, "wrt": tuple(fields["wrt"]), "of": tuple(fields["of"])}
    return Work(**known)


def latest(records: Sequence[Record]) -> list[Record]:
    """The last record of each task, in the order in which tasks first come."""
    last: dict[str, Record] = {}
    for record in records:
        last[record.task] = record
    return list(last.values())
