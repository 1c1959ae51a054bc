"""Measures rows: symbols at a point, times of whole plans in turns, and errors against a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.corpus import array_error
from wengert.lab.inputs import random_inputs
from wengert.lab.measure import measure_times
from wengert.lab.strategies.plan import JacobianFunction
from wengert.lab.strategies.row import Measured, Row
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.program import Array

SLOWER = 8
"""Rows whose predicted time is more than so many times the smallest one are not measured: more than the model's error in both."""
INTERPRETED_FLOPS = 10**8
"""The reference is interpreted if that takes no more than this."""


def with_values(row: Row, inputs: Sequence[Array]) -> Row:
    """A row with the values of its symbols at these inputs, counted by the interpreter."""
    if row.problem or row.predicted is None or not (row.counted.symbols | row.predicted.seconds.symbols):
        return row
    from wengert.lab.costs.calibration import values_of  # brings the interpreter, which choices without symbols do not need

    program = row.plan.program
    arrays = [*inputs, *random_inputs(program.signature, 0)[len(inputs) :]]
    values = values_of(program, arrays, row.costs.unknowns)
    return replace(row, values={**values, **_in_order(row, values), **row.values})


def _in_order(row: Row, values: Mapping[str, int]) -> dict[str, int]:
    """Values for symbols that only the compiled program has, where loops of one place could not be told apart: those of the program, in order."""
    assert row.predicted is not None
    alone = row.predicted.seconds.symbols - values.keys()
    rest = values.keys() - row.predicted.seconds.symbols
    assigned: dict[str, int] = {}
    for kind in {_kind(name) for name in alone}:
        mine, theirs = (sorted((name for name in names if _kind(name) == kind), key=_number) for names in (alone, rest))
        if len(mine) == len(theirs):
            assigned |= {name: values[other] for name, other in zip(mine, theirs, strict=True)}
    return assigned


def _kind(name: str) -> str:
    """What a symbol is for: the iterations of a loop, or how often a branch of this number was taken."""
    return f"{name[0]}{name.partition('_')[2]}"


def _number(name: str) -> int:
    return int(name[1:].partition("_")[0])


def measured(rows: Sequence[Row], inputs: Sequence[Array]) -> tuple[Mapping[str, Row], str]:
    """Rows by name, with what was measured at a point, errors included; and what these are measured against."""
    functions, refused = _compiled(rows, inputs)
    if not functions:
        return refused, ""
    blocks, reference = _reference(functions, inputs)
    errors = [_error(function(*inputs), blocks) for _, function in functions]
    return {**refused, **_with_times(functions, inputs, errors)}, reference


def timed(rows: Sequence[Row], inputs: Sequence[Array]) -> Mapping[str, Row]:
    """The rows that can be compiled and run, by name, with their times at a point; errors are not measured."""
    functions, _ = _compiled(rows, inputs)
    return _with_times(functions, inputs, [nan] * len(functions))


def _compiled(rows: Sequence[Row], inputs: Sequence[Array]) -> tuple[list[tuple[Row, JacobianFunction]], dict[str, Row]]:
    """Rows as functions that run at a point, and those that do not, by name, with the reason."""
    functions: list[tuple[Row, JacobianFunction]] = []
    refused: dict[str, Row] = {}
    for row in rows:
        try:
            function = row.compile()
            function(*inputs)
            functions.append((row, function))
        except (DiagnosticError, InputError, ExecutionError, UnsupportedOpError) as error:
            refused[row.name] = replace(row, refused=str(error).strip().splitlines()[0])
    return functions, refused


def _with_times(functions: Sequence[tuple[Row, JacobianFunction]], inputs: Sequence[Array], errors: Sequence[float]) -> dict[str, Row]:
    """Functions are timed in turns: 25 rounds, fewer where these take more than 0.3 s for each row."""
    times = measure_times([partial(function, *inputs) for _, function in functions], rounds=25, budget=0.3)
    pairs = zip(functions, times, errors, strict=True)
    return {row.name: replace(row, measured=Measured(time, function.compile_seconds, error)) for (row, function), time, error in pairs}


def near(rows: Sequence[Row], slower: float) -> list[Row]:
    """The rows that are predicted to take no more than so many times what the fastest takes, or whose time is not known."""
    numbers = [row.seconds.constant if row.seconds is not None else None for row in rows]
    least = min((float(number) for number in numbers if number is not None), default=0.0)
    return [row for row, number in zip(rows, numbers, strict=True) if number is None or float(number) <= slower * least]


def _reference(functions: Sequence[tuple[Row, JacobianFunction]], inputs: Sequence[Array]) -> tuple[Sequence[Array], str]:
    """The blocks by the interpreter, of the row with the fewest flops; by the first row, compiled, where that takes too long."""
    exact = [pair for pair in functions if not pair[0].plan.off]
    row, function = min(exact or functions, key=lambda pair: float(pair[0].flops.constant or 0))
    if float(row.flops.constant or 0) <= INTERPRETED_FLOPS and row.plan.calls <= 64:
        return row.compile("interpreter")(*inputs), f"{row.name} in the interpreter"
    return function(*inputs), f"{row.name}, compiled"


def _error(blocks: Sequence[Any], reference: Sequence[Array]) -> float:
    return max((array_error(a, b) for a, b in zip(blocks, reference, strict=True)), default=0.0)
