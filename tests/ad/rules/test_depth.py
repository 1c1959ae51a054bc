"""Loops and branches nested in each other: what a derivative of them is made of, and how much is copied on the way, by the depth."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.growth import branches_nested, loops_nested, whiles_nested
from xdsl.ir import Block, Operation, SSAValue

import wengert as wg
from wengert.ir import construction
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.ad.forward import activity
from wengert.transforms.ad.forward.lengths import Lengths

FAMILIES = {"loops": loops_nested, "branches": branches_nested, "loops of unknown length": whiles_nested}


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    """The blocks that activity is propagated through, one entry for each walk."""
    seen: list[Block] = []
    walk = activity.active_values

    def noted(block: Block, active: object, known: object = None) -> object:
        seen.append(block)
        return walk(block, active, known)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(activity, "active_values", noted)
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_activity_looks_into_a_body_a_few_times_at_any_depth(family: str, visits: list[Block]) -> None:
    wg.parse(FAMILIES[family](16)).vjp()
    assert visits
    assert max(visits.count(block) for block in set(visits)) <= 3


@pytest.mark.parametrize("family", ["loops", "branches"])
def test_ops_are_copied_a_few_times_at_any_depth(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = 0
    copy = construction.copy_op

    def counted(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
        nonlocal copies
        copies += 1
        return copy(op, values)

    monkeypatch.setattr(construction, "copy_op", counted)
    counts: list[int] = []
    for depth in (8, 16, 32):
        before = copies
        str(wg.parse(FAMILIES[family](depth)).vjp())
        counts.append(copies - before)
    assert counts[2] - counts[1] <= 2.3 * (counts[1] - counts[0]), "a level adds as many copies as the one before it"


def test_loops_of_unknown_length_record_a_number_of_tapes_that_grows_with_the_cube_of_the_depth() -> None:
    """Each loop hands on the tapes of those inside, whose number grows with the square."""
    created = [str(wg.parse(whiles_nested(depth)).vjp()).count("core.tape_create") for depth in (4, 8, 16)]
    assert created[2] <= 10 * created[1] <= 100 * created[0]


def test_the_derivative_of_loops_of_unknown_length_is_that_of_differences() -> None:
    program, x, step = wg.parse(whiles_nested(4)), np.float64(0.3), 1e-6
    _, x_bar = program.vjp()(x, np.float64(1))
    ends = [float(np.asarray(program(x + sign * step)[0])) for sign in (1, -1)]
    np.testing.assert_allclose(x_bar, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_tapes_of_equal_names_are_in_one_group() -> None:
    a, b, c = Block(arg_types=[tensor((), i64)] * 3).args
    lengths = Lengths()
    lengths.set(a, lengths.name("loop"))
    lengths.set(c, lengths.name("loop"))
    assert lengths.groups([a, b, c]) == [0, 1, 0]
