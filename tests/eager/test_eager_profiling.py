"""Profiles: which events there are, what is inside of what, sums, the table and the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wengert.eager as eager
import wengert.nn as nn
from wengert.eager.profiling import EventList, FunctionEvent, FunctionEventAvg, profile, profiler_enabled, record_function


def names(events: Any) -> list[Any]:
    return [(e.name, names(e.cpu_children)) for e in events if e.cpu_parent is None] if isinstance(events, EventList) else [e.name for e in events]


def test_operations_blocks_and_nodes_are_events() -> None:
    x = eager.ones(3, requires_grad=True)
    with profile(record_shapes=True) as p:
        assert profiler_enabled()
        with record_function("forward"):
            y = (x * 2 + eager.ones(2, 3)).sum()
        y.backward()
    assert not profiler_enabled()
    (forward,) = [e for e in p.function_events if e.name == "forward"]
    assert [e.name for e in forward.cpu_children] == ["aten::mul", "aten::add", "aten::sum"]
    assert [e.input_shapes for e in forward.cpu_children] == [[[3]], [[3], [2, 3]], [[2, 3]]]
    nodes = [e.name for e in p.function_events if "Backward" in e.name]
    assert nodes == ["SumBackward0", "AddBackward0", "MulBackward0"]
    assert all(e.sequence_nr >= 0 for e in p.function_events if "Backward" in e.name)
    assert forward.cpu_time_total >= sum(e.cpu_time_total for e in forward.cpu_children) > 0
    assert forward.self_cpu_time_total < forward.cpu_time_total


def test_functions_of_layers_are_events_around_their_operations() -> None:
    layer = nn.Linear(4, 2)
    with profile(record_shapes=True) as p:
        layer(eager.ones(3, 4)).relu()
    assert [(e.name, e.input_shapes) for e in p.function_events if e.cpu_parent is None] == [
        ("aten::linear", [[3, 4], [2, 4], [2]]),
        ("aten::relu", [[3, 2]]),
    ]


def test_sums_and_the_table() -> None:
    @record_function("mine")
    def run(x: Any) -> Any:
        return (x.sin() + x.sin()).exp()

    with profile(record_shapes=True) as p:
        run(eager.ones(2))
        run(eager.ones(5))
    averages = {e.key: e for e in p.key_averages()}
    assert {name: e.count for name, e in averages.items()} == {"mine": 2, "aten::sin": 4, "aten::add": 2, "aten::exp": 2}
    assert averages["aten::sin"].cpu_time == pytest.approx(averages["aten::sin"].cpu_time_total / 4)
    assert len(p.key_averages(group_by_input_shape=True)) == 8 - 1  # the block has no operands
    table = p.key_averages().table(sort_by="count", row_limit=1, header="most often")
    lines = table.splitlines()
    assert (lines[0], lines[4].split()[0], lines[4].split()[5]) == ("most often", "aten::sin", "4")
    assert len(lines) == 7
    assert str(p) == p.table()
    top = p.table(top_level_events_only=True)
    assert "mine" in top
    assert "aten::sin" not in top


def test_the_trace_is_json(tmp_path: Path) -> None:
    with profile() as p:
        eager.ones(2).sin()
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    (event,) = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert (event["name"], event["ph"]) == ("aten::sin", "X")


def test_events_by_hand() -> None:
    spans = [(0, 2, 1), (1, 2, 2), (1, 3, 3), (0, 9, 4)]
    events = EventList(FunctionEvent(id, "f", int(id == 4), start, end) for start, end, id in spans)
    events._populate_cpu_children()
    assert [[c.id for c in e.cpu_children] for e in events] == [[], [], [2], []]
    total = FunctionEventAvg().add(events[0]).add(events[2])
    total.add(total)
    assert (total.key, total.count, total.cpu_time_total, total.self_cpu_time_total) == ("f", 4, 8, 6)


def test_profiles_do_not_nest_and_may_be_off() -> None:
    with profile(), pytest.raises(eager.AutogradError, match="do not nest"):
        profile().__enter__()
    with profile(enabled=False) as p:
        eager.ones(2).sin()
    assert not p.function_events


def test_blocks_may_end_in_any_order() -> None:
    with profile() as p:
        outer = record_function("outer")
        outer.__enter__()
        with record_function("inner"):
            outer.__exit__(None, None, None)
    assert sorted(e.name for e in p.function_events) == ["inner", "outer"]
    with record_function("nobody listens"):
        pass
