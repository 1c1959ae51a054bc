"""The log of a run in Chrome's trace event format (JSON object format, complete events), which ui.perfetto.dev and chrome://tracing open.

Source: "Trace Event Format", Google, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Event:
    """A run of a kernel: its number (-1 for the whole call), and when it began and how long it took, in seconds."""

    kernel: int
    start: float
    seconds: float


class Timed(Protocol):
    """A kernel in a trace."""

    @property
    def name(self) -> str: ...
    @property
    def line(self) -> tuple[str, int]: ...
    @property
    def reverse(self) -> bool: ...
    @property
    def runs(self) -> int: ...
    @property
    def flops(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def predicted(self) -> float: ...


def chrome_trace(title: str, events: Sequence[Event], kernels: Sequence[Timed]) -> dict[str, Any]:
    """The events as a dictionary for JSON; times in microseconds, as the format has them."""
    named: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": title}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "kernels"}},
    ]
    return {"traceEvents": [*named, *(_event(event, kernels) for event in events)], "displayTimeUnit": "ns", "otherData": {"title": title}}


def _event(event: Event, kernels: Sequence[Timed]) -> dict[str, Any]:
    place = {"ph": "X", "pid": 1, "tid": 1, "ts": 1e6 * event.start, "dur": 1e6 * event.seconds}
    if event.kernel < 0:
        return {"name": "call", "cat": "call", **place, "args": {}}
    k = kernels[event.kernel]
    each = max(k.runs, 1)
    args = {
        "source": f"{k.line[0]}:{k.line[1]}" if k.line[1] else "",
        "flops": k.flops // each,
        "bytes": k.bytes // each,
        "predicted_us": 1e6 * k.predicted / each,
    }
    return {"name": k.name, "cat": "reverse" if k.reverse else "forward", **place, "args": args}
