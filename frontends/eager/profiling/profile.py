"""Profiles of define-by-run code: every operation, every node of a backward pass and every named block, with the time that it took.

Operations are not instrumented, so a program that is not profiled pays nothing: a profile asks the interpreter (``sys.setprofile``) to be told of calls, and
notes those of the few functions that every operation goes through. That makes Python slower while it listens, as any profiler of this kind does; kernels are
not slowed down. A backward pass runs as it does otherwise: what is compiled is one event.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from itertools import count
from pathlib import Path
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any, Self

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.gradients.pull import pull
from wengert.eager.graph import Entry
from wengert.eager.operations import joining
from wengert.eager.operations.memory import inplace, views
from wengert.eager.profiling.events import EventList, FunctionEvent
from wengert.eager.recording import dispatch
from wengert.eager.recording.record import Output, Record

Names = Callable[[FrameType], tuple[Any, str, list[Any], int]]
"""What a frame does: the thing itself, its name, its operands, and its number on the tape."""


def _operation(frame: FrameType) -> tuple[Any, str, list[Any], int]:
    given = frame.f_locals
    op = given["op"]
    operands = given["operands"] if "operands" in given else [given[name] for name in ("x", "y", "other") if name in given]
    return op, f"aten::{op.name}", list(operands), -1


def _node(frame: FrameType) -> tuple[Any, str, list[Any], int]:
    record = frame.f_locals["record"]
    return record, record.name(), list(frame.f_locals["cotangents"]), record.number


def _piece(frame: FrameType) -> tuple[Any, str, list[Any], int]:
    return frame.f_locals["self"], f"compiled backward of {len(frame.f_locals['records'])} nodes", list(frame.f_locals["cotangents"]), -1


def _composite(frame: FrameType) -> tuple[Any, str, list[Any], int]:
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return frame.f_code, f"aten::{frame.f_code.co_name}", [frame.f_locals.get(name) for name in names], -1


def _code(function: Any) -> CodeType:
    return function.__code__


def _number_of(made: Any) -> int:
    """The number of the node of what an operation has made; -1 where it was not recorded."""
    results = listed(made)
    node = getattr(results[0], "source", None) if results else None
    return node.number if type(node) is Record else node.record.number if type(node) is Output else -1


_WATCHED: dict[CodeType, Names] = {
    **{
        _code(f): _operation
        for f in (dispatch.unary, dispatch.binary, dispatch.single, dispatch.apply_many, views.see, inplace.change, inplace.change_many, joining.taken_apart)
    },
    _code(pull): _node,
    _code(Entry.run): _piece,
    _code(Entry.record): _piece,
}
_COMPOSITE = frozenset(("wengert.nn.functional", "wengert.nn.layers", "wengert.nn.loss_functions", "wengert.nn.windows"))
"""Modules whose functions are events themselves, around the operations that they are made of."""


class _Current:
    """The profile that is listening."""

    profile: profile | None = None


class profile:  # noqa: N801  (the name under which it is known)
    """A profile of what runs until the end of the block, in this thread.

    Args:
        enabled: without it nothing is noted.
        record_shapes: notes the shapes of operands.
        options: others of PyTorch's, for devices and tools that there are none of here.

    >>> import wengert.eager as eager
    >>> x = eager.ones(3)
    >>> with eager.autograd.profiler.profile() as p:
    ...     with eager.autograd.profiler.record_function("twice"):
    ...         y = (x * 2).sin()
    >>> [(e.name, [inner.name for inner in e.cpu_children]) for e in p.function_events]
    [('twice', ['aten::mul', 'aten::sin']), ('aten::mul', []), ('aten::sin', [])]
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **options: Any):
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.function_events = EventList()
        self._open: list[tuple[Any, FunctionEvent]] = []
        self._numbers = count(1)
        self._threads: dict[int, int] = {}
        """Where the operations ran that nodes are of, by the number of the node."""
        self._before: Any = None
        self._kinds: dict[CodeType, Names | None] = dict(_WATCHED)

    def __enter__(self) -> Self:
        if self.enabled:
            if _Current.profile is not None:
                raise AutogradError("profiles do not nest: one is listening already")
            _Current.profile = self
            self._before = sys.getprofile()
            sys.setprofile(self._told)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            sys.setprofile(self._before)
            _Current.profile = None
            while self._open:
                self.close(self._open[-1][0])
            self.function_events.sort(key=lambda e: e.start_us)
            self.function_events._populate_cpu_children()  # pyright: ignore[reportPrivateUsage]

    def _told(self, frame: FrameType, event: str, argument: Any) -> None:
        """A function was called, or returns."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        try:
            names = self._kinds[code]
        except KeyError:
            public = frame.f_globals.get("__name__") in _COMPOSITE and not code.co_name.startswith(("_", "<"))
            names = self._kinds[code] = _composite if public else None
        if names is None:
            return
        if event == "return":
            self.close(frame, _number_of(frame.f_locals.get("made")) if names is _operation else -1)
            return
        thing, name, operands, number = names(frame)
        if self._open and self._open[-1][1].name == name and names is _operation and getattr(thing, "name", "") in name:
            return  # the same operation on its way to the general case
        shapes = [list(x.array.shape) for x in operands if hasattr(x, "array")] if self.record_shapes else []
        self.open(frame, name, shapes, number)

    def open(self, key: Any, name: str, shapes: list[list[int]] | None = None, number: int = -1) -> None:
        """An event begins; ``key`` is what ends it."""
        event = FunctionEvent(next(self._numbers), name, threading.get_ident(), perf_counter_ns() / 1e3, 0.0, shapes or [], number)
        event.fwd_thread = self._threads.get(number)
        self._open.append((key, event))

    def close(self, key: Any, number: int = -1) -> None:
        """The event of this key ends, and what began inside of it and did not end; ``number`` is that of the node that it has put on the tape."""
        now = perf_counter_ns() / 1e3
        if not any(own is key for own, _ in self._open):
            return
        while self._open:
            own, event = self._open.pop()
            event.end_us = now
            self.function_events.append(event)
            if own is key:
                if number >= 0:
                    event.sequence_nr, self._threads[number] = number, event.thread
                return

    # -- what was seen

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events summed up by name, or by name and shapes."""
        return self.function_events.key_averages(group_by_input_shape)

    def table(self, **options: Any) -> str:
        """The table of all events: see :meth:`EventList.table`."""
        return self.function_events.table(**options)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as JSON for ``chrome://tracing`` and Perfetto."""
        events = [
            {"name": e.name, "ph": "X", "ts": e.start_us, "dur": e.cpu_time_total, "tid": e.thread, "pid": 0, "args": {"Input Dims": e.input_shapes}}
            for e in self.function_events
        ]
        Path(path).write_text(json.dumps({"traceEvents": events}))


def profiler_enabled() -> bool:
    """Whether a profile is listening."""
    return _Current.profile is not None


class record_function(ContextDecorator):  # noqa: N801  (the name under which it is known)
    """A block of code, or a function, that is an event of its own in profiles.

    Args:
        name: of the event.
        args: taken for compatibility.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self._profile: profile | None = None

    def __enter__(self) -> Self:
        self._profile = _Current.profile
        if self._profile is not None:
            self._profile.open(self, self.name)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._profile is not None:
            self._profile.close(self)
            self._profile = None
