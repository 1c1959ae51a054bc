"""The clauses ``schedule<...>`` and ``gpu_schedule<...>`` in the text of an op."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.kernel.gpu_schedule import GpuScheduleAttr
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer


def read_clause(reader: Reader, state: OpState, kind: type[ScheduleAttr | ProductScheduleAttr]) -> None:
    """Reads ``schedule<lanes = 8>`` if it comes next."""
    if reader.accept_word("schedule"):
        with reader.foreign("schedule"):
            state.properties["schedule"] = kind(kind.parse_parameter(reader))  # pyright: ignore[reportArgumentType]


def read_gpu_clause(reader: Reader, state: OpState) -> None:
    """Reads ``gpu_schedule<threads = [0], group = 256>`` if it comes next."""
    if reader.accept_word("gpu_schedule"):
        with reader.foreign("gpu_schedule"):
            state.properties["gpu_schedule"] = GpuScheduleAttr(GpuScheduleAttr.parse_parameter(reader))


def write_clauses(op: Operation, writer: Writer) -> None:
    """What these read, each on a line of its own."""
    for name in ("schedule", "gpu_schedule"):
        schedule = op.properties.get(name)
        if isinstance(schedule, ScheduleAttr | ProductScheduleAttr | GpuScheduleAttr):
            writer.write(f"{writer.indent}    {name}<{schedule.data}>")
