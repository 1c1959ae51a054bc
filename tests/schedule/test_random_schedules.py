"""Random schedules on the nests of random programs: what is not refused gives the interpreter's results."""

from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_kernels import inputs_of, programs
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.schedule import Cut, Parallel, Piece, Schedule, ScheduleAttr, Version
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.tensor_types import f32
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.schedule.legality import check
from wengert.transforms.schedule.placement import Placement


def proposals(draw, op: NestOp, schedule: Schedule):
    """Changes of a schedule, one after the other; each may or may not be possible."""
    count = len(op.extents)
    schedule = yield replace(schedule, order=tuple(draw(st.permutations(range(count)))) if draw(st.booleans()) else ())
    if draw(st.booleans()):
        loop = draw(st.integers(0, count - 1))
        schedule = yield replace(schedule, cut=Cut(loop, draw(st.integers(1, op.extents[loop])), draw(st.booleans())))
    if draw(st.booleans()):
        schedule = yield replace(schedule, parallel=Parallel(draw(st.integers(1, 3)), 50000))
        schedule = yield replace(schedule, owned=draw(st.integers(1, 9)), parallel=Parallel(1, 50000))
    schedule = yield replace(schedule, lanes=draw(st.sampled_from([1, 2, 4, 8, 16])))
    schedule = yield replace(schedule, tiled=True)
    schedule = yield replace(schedule, interleave=draw(st.sampled_from([1, 2, 4])))
    schedule = yield replace(schedule, accumulators=draw(st.sampled_from([1, 2, 4])))
    placement = Placement.scheduled(op, schedule)
    if guards := [guard for guard, _ in placement.guards]:
        guard = draw(st.sampled_from(guards))
        schedule = yield replace(schedule, version=Version((guard,)) if draw(st.booleans()) else Version((), (guard,)))
    last = placement.extents[-1]
    cuts = sorted({0, last, *draw(st.lists(st.integers(0, last), max_size=3))})
    schedule = yield replace(schedule, pieces=tuple([Piece(a, b, draw(st.booleans())) for a, b in pairwise(cuts)]))
    yield replace(schedule, remainder=draw(st.sampled_from(["masked", "repeated"])))


def possible(op: NestOp, schedule: Schedule, strict: bool) -> bool:
    try:
        check(op, schedule, strict=strict, in_place=False, parallel=True)
    except DiagnosticError as error:
        reason = error.diagnostic.message
    else:
        return True
    assert "the schedule asks for" in reason
    return False


def drawn(draw, op: NestOp, strict: bool) -> Schedule:
    """A random schedule that is not refused."""
    schedule = Schedule()
    if not op.extents or 0 in op.extents:
        return schedule
    changes = proposals(draw, op, schedule)
    proposal = next(changes)
    try:
        while True:
            if possible(op, proposal, strict):
                schedule = proposal
            proposal = changes.send(schedule)
    except StopIteration:
        return schedule


@st.composite
def scheduled(draw, element, strict: bool):
    """A program with a schedule for each of its nests."""
    module = draw(programs(element)) if element is not None else draw(programs())
    kernels = parse_pipeline("to-core,fuse,collapse-loops").applied(module)
    for op in kernels.walk():
        if isinstance(op, NestOp):
            op.properties["schedule"] = ScheduleAttr(drawn(draw, op, strict))
    return module, kernels


def same(pair: tuple[ModuleOp, ModuleOp], seed: int, tolerance: float, *, strict: bool = False) -> None:
    module, kernels = pair
    kernels.verify()
    arrays = inputs_of(module, seed)
    for op in kernels.walk():
        if isinstance(op, NestOp):
            for name in Schedule.__struct_fields__:
                if getattr(op.schedule.data, name) != getattr(Schedule(), name):
                    event(name)
    for actual, expected in zip(compile(kernels, strict=strict)(*arrays), run(module, arrays), strict=True):
        scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(scheduled(None, strict=False), st.integers(0, 10))
def test_f64(pair: tuple[ModuleOp, ModuleOp], seed: int) -> None:
    same(pair, seed, 1e-9)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(scheduled(f32, strict=False), st.integers(0, 10))
def test_f32(pair: tuple[ModuleOp, ModuleOp], seed: int) -> None:
    same(pair, seed, 2e-3)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(scheduled(None, strict=True), st.integers(0, 10))
def test_strict(pair: tuple[ModuleOp, ModuleOp], seed: int) -> None:
    """With reassociation off the order of sums is what it was, up to the rounding of the interpreter's."""
    same(pair, seed, 1e-9, strict=True)
