"""Places of a vector that go in even steps are slices and transpositions of it; any others are gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import f64, i64, tensor
from wengert.runtime.program import Program
from wengert.transforms.ad.jacobians.places import numbers, read, steps_of

GRID = np.arange(24).reshape(2, 3, 4)
FLAT = GRID.reshape(-1)
EVEN = {
    "all": GRID,
    "transposed": GRID.transpose(1, 0, 2),
    "a part": GRID[1:, :2, 1:3].transpose(2, 1, 0),
    "every other": FLAT[1::2],
    "one": FLAT[5:6],
    "each of some three times": np.repeat(GRID[0, :, 1], 3),
}
UNEVEN = {"backwards": FLAT[::-1], "a gap": np.array([0, 1, 2, 5]), "steps that overlap": np.array([0, 1, 2, 1, 2, 3]), "over an edge": np.array([3, 4, 7, 8])}


def program_of(places: Any) -> Program:
    """The elements at these places of a vector of 24, and the places."""
    block = Block(arg_types=[tensor([24], f64)])
    b = OpBuilder(block)
    results = [read(b, block.args[0], places), numbers(b, places, i64)]
    block.add_op(ReturnOp(*results))
    return Program(ModuleOp([FuncOp("main", ([block.args[0].type], [value.type for value in results]), Region([block]))]))


@pytest.mark.parametrize("name", [*EVEN, *UNEVEN])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_what_is_read(name: str, backend: str):
    places = np.reshape((EVEN | UNEVEN)[name], -1).astype(np.int64)
    program = program_of(places)
    x = np.random.default_rng(0).standard_normal(24)
    elements, there = program.compile(backend)(x)
    np.testing.assert_array_equal(elements, x[places])
    np.testing.assert_array_equal(there, places)
    assert ("gather" in str(program)) == (name in UNEVEN)


def test_loops_are_the_widest_steps_first():
    steps = steps_of(GRID.transpose(1, 0, 2).reshape(-1))
    assert steps is not None
    assert (steps.base, steps.extents, steps.strides) == (0, (3, 2, 4), (4, 12, 1))
    assert steps_of(np.array([0, 1, 2, 5])) is None
