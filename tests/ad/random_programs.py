"""Random programs that are smooth where they are evaluated: a hypothesis strategy, or made by any other choices.

A program grows from its arguments, op by op: each op takes operands from a pool of values that there are so far. Values stay
bounded since what grows is squashed by a sine; kinks are avoided since what is compared is made distinct by a ramp; trips are
bounded since counters are. Loops and branches refer to the values outside of them, and hold ops of the same kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ad.random_control_steps import CONTROL_STEPS
from ad.random_growth import Choices, Grower, Steps
from ad.random_tensor_steps import TENSOR_STEPS
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import f64, i32, rank, tensor

Draw = Callable[[st.SearchStrategy[Any]], Any]


class DrawnChoices:
    """Choices that hypothesis draws, and shrinks."""

    def __init__(self, draw: Draw):
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def permutation(self, n: int) -> list[int]:
        return self.draw(st.permutations(range(n)))


@dataclass(frozen=True, repr=False)
class RandomProgram:
    """A module and inputs for its @main."""

    module: ModuleOp
    inputs: list[np.ndarray[Any, np.dtype[Any]]]
    seed: int

    def __repr__(self) -> str:
        """Short: xDSL would show every op with all that it refers to."""
        return f"RandomProgram(seed={self.seed})"


@st.composite
def programs(draw: Draw, largest: int = 12) -> RandomProgram:
    """Programs of up to so many ops at the top, with loops and branches two deep."""
    return random_program(DrawnChoices(draw), largest)


def random_program(choices: Choices, largest: int = 12) -> RandomProgram:
    """A program of up to so many ops at the top, with loops and branches two deep."""
    extents = [tuple(choices.integer(1, 3) for _ in range(choices.integer(0, 2))) for _ in range(choices.integer(1, 3))]
    types = [tensor(e, f64) for e in extents] + [tensor((), i32)]
    block = Block(arg_types=types)
    g = Grower(Steps(TENSOR_STEPS, CONTROL_STEPS), choices, OpBuilder(block), list(block.args[:-1]), [block.args[-1]], 2)
    g.grow(choices.integer(2, largest))
    results = [g.pool[-1], *(g.any_value() for _ in range(choices.integer(0, 2)))]
    block.add_op(ReturnOp(*results))
    main = FuncOp("main", (types, [r.type for r in results]), Region([block]), "public")
    seed = choices.integer(0, 2**16)
    rng = np.random.default_rng(seed)
    inputs = [np.asarray(rng.uniform(-1.2, 1.2, e)) for e in extents]
    return RandomProgram(ModuleOp([main]), [*inputs, np.array(choices.integer(0, 3), np.int32)], seed)


def of_one_number(program: RandomProgram) -> RandomProgram:
    """The same program with the sum of the squares of its results as its one result."""
    module = program.module.clone()
    (main,) = module.ops
    assert isinstance(main, FuncOp)
    block = main.body.block
    end = block.last_op
    assert end is not None
    results = list(end.operands)
    end.detach()
    end.drop_all_references()
    b = OpBuilder(block)
    squares = [b.reduce_sum(b.multiply(y, y), list(range(rank(y)))) for y in results]
    total = squares[0]
    for square in squares[1:]:
        total = b.add(total, square)
    block.add_op(ReturnOp(total))
    types = list(main.function_type.inputs)
    main.properties["function_type"] = FunctionType.from_lists(types, [total.type])
    return RandomProgram(module, program.inputs, program.seed)
