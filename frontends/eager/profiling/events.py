"""Events of a profile: spans of time with a name, inside of each other, and their sums by name. Times are in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class _Spent(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def cpu_time_total(self) -> float: ...
    @property
    def self_cpu_time_total(self) -> float: ...
    @property
    def input_shapes(self) -> Any: ...


@dataclass(eq=False)
class FunctionEvent:
    """One run of an operation, of a node of the graph of gradients, or of a block that was given a name.

    Attributes:
        id: its number.
        name: ``aten::mul``, the name of a node, or what :class:`record_function` was given.
        thread: where it ran.
        start_us, end_us: when, in microseconds from an arbitrary origin.
        input_shapes: those of its operands, if they were asked for.
        sequence_nr: of a node, its number on the tape, and of the operation that made it; -1 otherwise.
        fwd_thread: of a node, where the operation ran that made it, if that is in the profile.
        node_id: taken for compatibility.
    """

    id: int
    name: str
    thread: int
    start_us: float
    end_us: float
    input_shapes: list[list[int]] = field(default_factory=list[list[int]])
    sequence_nr: int = -1
    fwd_thread: int | None = None
    node_id: int = 0
    cpu_children: list[FunctionEvent] = field(default_factory=list["FunctionEvent"], repr=False)
    """The events directly inside of it."""
    cpu_parent: FunctionEvent | None = field(default=None, repr=False)
    count: int = 1
    device_time_total: float = 0
    """There is no other device."""

    @property
    def key(self) -> str:
        """What it is summed up under."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """How long it took."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self) -> float:
        """The same without what ran inside of it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)


class FunctionEventAvg:
    """Events of one name (and of the same shapes, where these count) summed up."""

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.device_time_total = 0.0
        self.input_shapes: Any = None

    @property
    def cpu_time(self) -> float:
        """The mean time of one."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, other: _Spent) -> FunctionEventAvg:
        """Adds an event, or other events summed up."""
        self.key = self.key or other.key
        self.input_shapes = other.input_shapes if self.input_shapes is None else self.input_shapes
        count, total, own = other.count, other.cpu_time_total, other.self_cpu_time_total
        self.count += count
        self.cpu_time_total += total
        self.self_cpu_time_total += own
        return self


class EventList(list[Any]):
    """Events, or sums of them, with the table that shows them."""

    def __init__(self, events: Iterable[Any] = ()):
        super().__init__(events)

    def _populate_cpu_children(self) -> None:
        """Finds which event ran inside of which: the innermost of its thread that lasts as long."""
        for thread in {e.thread for e in self}:
            around: list[FunctionEvent] = []
            for event in sorted((e for e in self if e.thread == thread), key=lambda e: (e.start_us, -e.end_us)):
                while around and (event.start_us >= around[-1].end_us or event.end_us > around[-1].end_us):
                    around.pop()
                if around:
                    around[-1].cpu_children.append(event)
                    event.cpu_parent = around[-1]
                around.append(event)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events summed up by name, or by name and shapes."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.name, str(event.input_shapes)) if group_by_input_shape else event.name
            sums.setdefault(key, FunctionEventAvg()).add(event)
        return EventList(sums.values())

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each moment once."""
        return sum(e.self_cpu_time_total for e in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The table of the events.

        Args:
            sort_by: ``cpu_time_total``, ``self_cpu_time_total``, ``count`` and the like, the largest first; by default the order in time.
            row_limit: the most rows; -1 for all.
            max_src_column_width: taken for compatibility; no source lines are shown.
            max_name_column_width: how wide the names may be.
            header: a line above.
            top_level_events_only: leaves out what ran inside of other events.

        Raises:
            AttributeError: there is nothing of that name to sort by.
        """
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None) is not None)]
        if sort_by is not None:
            rows.sort(key=_by(sort_by), reverse=True)
        total = self.self_cpu_time_total
        shaped = any(e.input_shapes for e in rows)
        cells: list[tuple[str, ...]] = [("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls", *(("Input Shapes",) if shaped else ()))]
        for e in rows if row_limit < 0 else rows[:row_limit]:
            share = e.self_cpu_time_total / total if total else 0.0
            times = (e.self_cpu_time_total, e.cpu_time_total, e.cpu_time_total / max(e.count, 1))
            cells.append(
                (_cut(e.key, max_name_column_width), f"{share:.2%}", *map(format_time, times), str(e.count), *((str(e.input_shapes or ""),) if shaped else ()))
            )
        return "\n".join([*([header] if header else []), *_aligned(cells), f"Self CPU time total: {format_time(total)}"])

    def __str__(self) -> str:
        return self.table()


def _by(name: str) -> Callable[[Any], float]:
    return lambda event: getattr(event, name)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 3] + "..."


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))) for row in rows]
    return [rule, lines[0], rule, *lines[1:], rule]


def format_time(microseconds: float) -> str:
    """A time in the unit that fits it."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"
