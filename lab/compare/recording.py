"""Outcomes of a comparison as records: tasks of the same names as those of sweeps."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.lab.compare.outcome import Outcome
from wengert.lab.compare.task import CompareTask
from wengert.lab.records.database import Database, now
from wengert.lab.records.environment import environment, load
from wengert.lab.records.record import Record, Result, Status
from wengert.lab.records.work import SYNONYMS, Work, arrays_hash, plugin_of, program_hash
from wengert.runtime.loading import load as load_program

STATUS: dict[str, Status] = {"right": "ok", "wrong": "wrong", "refused": "refused", "failed": "failed"}


def record_outcomes(database: Database, run: str, task: CompareTask, outcomes: Mapping[tuple[str, str, str], Outcome]) -> None:
    """Writes the outcomes of a task, one transaction each.

    Raises:
        DatabaseError: a record cannot be written.
        DiagnosticError, OSError: the task's program cannot be read, so that nothing came of it.
    """
    reference, program = task.program.reference(task.precision), load_program(task.program.path(task.precision))
    wrt, of = tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents))
    given = [*reference.inputs, *(reference.cotangents[j] for j in of)]
    hashes = program_hash(program), arrays_hash(given)
    for strategy in task.strategies:
        mode = SYNONYMS.get(strategy, strategy)
        work = Work(hashes[0], mode, wrt, of, given=hashes[1], plugin=plugin_of(mode))
        result = result_of(outcomes[task.program.name, task.precision, strategy])
        record = Record(work, task.program.name, {"dtype": task.precision}, result, environment(), load(), now(), run)
        database.add(record, program, given)


def result_of(outcome: Outcome) -> Result:
    """An outcome as a result."""
    known = {"ops": outcome.ops, "flops": outcome.flops, "kept": outcome.kept, "arena": outcome.arena}
    return Result(
        STATUS[outcome.status],
        outcome.reason,
        {name: value for name, value in known.items() if value is not None},
        outcome.samples,
        outcome.calls,
        outcome.yardstick,
        outcome.compile_seconds,
        norms=outcome.norms,
        derived=outcome.derived,
        error=outcome.error,
        tolerance=outcome.tolerance,
    )
