"""The rows of the cost report: a program, its counts, its compiled costs and its times, as cells of a table and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.time_model import Prediction, predicted
from wengert.lab.measure import Measurement
from wengert.lab.plain import plain
from wengert.lab.tables import count, size, table
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import ProgramCost
from wengert.transforms.analysis.symbolic.polynomial import Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


@dataclass(frozen=True)
class Row:
    """One program of the report, and how many runs of it a full derivative takes (1 for the primal)."""

    name: str
    runs: int
    program: Program
    cost: ProgramCost
    unknowns: Unknowns
    values: Mapping[str, Number] = field(default_factory=dict[str, Number])
    """Values of symbols, which are put into all figures."""
    measured: Measurement | None = None
    strategy: str = "transpose"

    @cached_property
    def compiled(self) -> CompiledCost | None:
        """The costs of the compiled program; None if it cannot be compiled."""
        try:
            return compiled(self.program, self.unknowns)
        except (DiagnosticError, InputError):
            return None

    @cached_property
    def predicted(self) -> Prediction | None:
        """The time of one run by the machine model."""
        return predicted(self.program, self.compiled).at(self.values) if self.compiled is not None else None

    @property
    def predicted_total(self) -> Polynomial | None:
        """The seconds of all runs."""
        return self.predicted.seconds * self.runs if self.predicted is not None else None

    @property
    def measured_total(self) -> float | None:
        """The seconds of all runs at the measured minimum."""
        return self.runs * self.measured.minimum if self.measured else None


def check_symbols(names: Iterable[str], symbols: Collection[str]) -> None:
    """Raises an InputError, which lists the symbols of the costs, for a name that is none of them."""
    for name in names:
        if name not in symbols:
            known = f"the symbols are: {', '.join(symbols)}" if symbols else "there is no symbol"
            raise InputError(f"{name} is no symbol of these costs; {known}")


def amount(figure: Polynomial) -> str:
    """A count, or a polynomial as it is."""
    number = figure.constant
    return count(int(number)) if number is not None else str(figure)


def amount_of_bytes(figure: Polynomial) -> str:
    """Bytes, or a polynomial as it is."""
    number = figure.constant
    return size(int(number)) if number is not None else f"{figure} B"


def fusion_of(row: Row) -> str:
    """A line on what fusion has removed from a program."""
    assert row.compiled is not None
    ops, launches = row.cost.count.at(row.values).constant, row.compiled.launches.at(row.values).constant
    before, after = row.cost.bytes.at(row.values).constant, row.compiled.total("bytes").at(row.values).constant
    if ops is None or launches is None or not before or after is None:
        return ""
    in_all = f"{count(int(ops))} op{'s' * (ops != 1)} in {count(int(launches))} launch{'es' * (launches != 1)}"
    return f"{row.name}: {in_all}, which move{'s' * (launches == 1)} {size(int(after))} of {size(int(before))}"


def memory_table(rows: Sequence[Row]) -> list[str]:
    """The memory of the compiled programs by what it holds, the measured peaks, and what fusion has removed."""
    columns = [row for row in rows if row.compiled is not None]
    if not columns:
        return ["no compiled program: memory and times are not known"]
    memories = [row.compiled.memory for row in columns if row.compiled is not None]
    lines = [["inputs", *(size(m.inputs) for m in memories)], ["results", *(size(m.results) for m in memories)]]
    lines += [["constants", *(size(m.constants) for m in memories)], ["arena", *(size(m.arena) for m in memories)]]
    lines += [["  kept", *(size(m.kept) for m in memories)], ["  temporaries", *(size(m.temporaries) for m in memories)]]
    lines += [["  gaps", *(size(m.gaps) for m in memories)], ["peak", *(size(m.total) for m in memories)]]
    tapes = [row.compiled.tape_bytes.at(row.values) for row in columns if row.compiled is not None]
    if any(tape != 0 for tape in tapes):
        lines.append(["on tapes", *map(amount_of_bytes, tapes)])
    if any(row.measured for row in columns):
        lines.append(["peak allocated", *(size(row.measured.peak_bytes) if row.measured else "" for row in columns)])
    lines.append(["peak without fusion", *(size(row.cost.peak_bytes) for row in columns)])
    return table(["memory", *(row.name for row in columns)], lines)


def row_json(row: Row) -> dict[str, Any]:
    """A row as what JSON holds."""
    c, compiled = row.cost, row.compiled
    return {
        "runs": row.runs,
        "ops": {name: figure(times) for name, times in sorted(c.ops.items())},
        "op_count": figure(c.count),
        **{name: figure(getattr(c, name)) for name in ("flops", "transcendentals", "bytes", "bytes_read", "bytes_written")},
        "live_bytes": c.peak_bytes,
        "uncounted": list(c.uncounted),
        "compiled": compiled_json(compiled) if compiled is not None else None,
        "predicted": row.predicted.to_json() if row.predicted is not None else None,
        "measured": plain(row.measured),
    }


def compiled_json(c: CompiledCost) -> dict[str, Any]:
    """The costs of a compiled program as what JSON holds."""
    memory = {**plain(c.memory), "gaps": c.memory.gaps, "peak": c.memory.total}
    names = ("kind", "place", "flops", "transcendentals", "bytes_read", "bytes_written")
    kernels = [{**{name: getattr(kernel, name) for name in names}, "times": figure(kernel.times)} for kernel in c.kernels]
    return {"launches": figure(c.launches), "tape_bytes": figure(c.tape_bytes), "bytes": figure(c.total("bytes")), "memory": memory, "kernels": kernels}


def figure(value: Polynomial) -> int | str:
    """An integer as a number, all else as text."""
    constant = value.constant
    return constant if isinstance(constant, int) else str(value)
