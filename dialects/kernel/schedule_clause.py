"""The clause ``schedule<...>`` in the text of an op."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.parser_operations import OpState, Reader


def read_clause(reader: Reader, state: OpState, kind: type[ScheduleAttr | ProductScheduleAttr]) -> None:
    """Reads ``schedule<lanes = 8>`` if it comes next."""
    if reader.accept_word("schedule"):
        with reader.foreign("schedule"):
            state.properties["schedule"] = kind(kind.parse_parameter(reader))  # pyright: ignore[reportArgumentType]


def clause_text(op: Operation) -> str:
    """What :func:`read_clause` reads; empty if the op has no schedule."""
    schedule = op.properties.get("schedule")
    return f"schedule<{schedule.data}>" if isinstance(schedule, ScheduleAttr | ProductScheduleAttr) else ""
