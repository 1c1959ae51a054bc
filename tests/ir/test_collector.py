"""The garbage collector around compiler stages: paused inside, as it was outside, and never in the way of what a user does with it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType

import pytest

from wengert.ir.collector import paused


class Node:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True, scope="module")
def _no_old_garbage() -> None:
    gc.collect()


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    gc.collect(1)  # not what is old: the heap of a whole run of tests takes seconds to look through
    yield
    gc.set_threshold(*thresholds)
    gc.enable() if enabled else gc.disable()


@pytest.fixture
def imported() -> Iterator[None]:
    """What a stage leaves behind that imports as many modules as the first of a process."""
    yield
    for name in [name for name in sys.modules if name.startswith("imported_in_a_stage_")]:
        del sys.modules[name]


def import_many() -> None:
    for number in range(30):
        name = f"imported_in_a_stage_{number}"
        sys.modules[name] = ModuleType(name)


def garbage(count: int = 2000) -> list[weakref.ref[Node]]:
    return [weakref.ref(Node()) for _ in range(count)]


def generations(node: object) -> list[int]:
    return [number for number in range(3) if any(tracked is node for tracked in gc.get_objects(generation=number))]


def test_nothing_is_collected_inside():
    gc.enable()
    with paused():
        assert not gc.isenabled()
        lost = garbage(5000)
        assert all(node() is not None for node in lost)
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled():
    gc.disable()
    with paused():
        lost = garbage()
    assert not gc.isenabled()
    assert all(node() is not None for node in lost)


def test_it_is_enabled_again_after_an_error():
    gc.enable()
    with pytest.raises(ValueError, match="inside"), paused():
        raise ValueError("inside")
    assert gc.isenabled()


def test_stages_nest():
    gc.enable()
    with paused():
        with paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_a_stage_made_counts_as_old_and_is_not_looked_through():
    gc.enable()
    before = [generation["collections"] for generation in gc.get_stats()]
    with paused():
        kept, lost = Node(), garbage()
    assert [generation["collections"] for generation in gc.get_stats()] == before
    assert generations(kept) == [2]
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert not any(node() is not None for node in lost)
    assert kept.me is kept


def test_what_the_last_stage_lost_is_collected_at_its_end():
    gc.enable()
    with paused():
        kept = [Node() for _ in range(2000)]
    watched = [weakref.ref(node) for node in kept]
    with paused(last=True):
        del kept
        lost = garbage()
        alive = [Node() for _ in range(2000)]
    assert not any(node() is not None for node in lost)
    assert all(node() is not None for node in watched), "what earlier stages made is not looked through"
    assert alive[0].me is alive[0]


def test_short_stages_leave_the_counters_to_the_collector():
    gc.enable()
    before = gc.get_stats()[0]["collections"]
    with paused():
        lost = garbage(3)
    assert gc.get_stats()[0]["collections"] == before
    gc.collect()
    assert not any(node() is not None for node in lost)


@pytest.mark.usefixtures("imported")
def test_after_many_imports_objects_of_the_last_stage_count_as_old_and_are_not_looked_through():
    gc.enable()
    before = [generation["collections"] for generation in gc.get_stats()]
    with paused(last=True):
        import_many()
        kept, lost = Node(), garbage()
    assert [generation["collections"] for generation in gc.get_stats()] == before
    assert generations(kept) == [2]
    assert gc.get_freeze_count() == 0
    assert all(node() is not None for node in lost)
    gc.collect()
    assert not any(node() is not None for node in lost)
    assert kept.me is kept


def test_what_a_user_froze_stays_frozen():
    gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        assert frozen > 0
        with paused():
            lost = garbage()
        assert gc.get_freeze_count() == pytest.approx(frozen, rel=0.01)
        assert not any(node() is not None for node in lost)
    finally:
        gc.unfreeze()


def test_everything_is_looked_through_now_and_then(monkeypatch: pytest.MonkeyPatch):
    """Objects that one stage kept and that were lost later are old by then; stages count what they made and have it found."""
    monkeypatch.setattr("wengert.ir.collector._FULL_AFTER", 10_000)
    gc.enable()
    kept = [Node() for _ in range(10)]
    gc.collect()
    assert generations(kept[0]) == [2]
    watched = [weakref.ref(node) for node in kept]
    del kept
    for _ in range(20):
        with paused():
            garbage(2000)
    assert not any(node() is not None for node in watched)
