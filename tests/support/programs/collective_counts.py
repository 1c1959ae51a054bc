"""How many collectives a program has: those of what each device runs here, and those in a text that JAX has written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

import wengert as wg
from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.process_groups import is_collective

LOOPS = (hlo.WhileOp, core.WhileOp, core.ForOp)


class Count(NamedTuple):
    """Collectives, one for each operand: all of them, and those inside of loops."""

    everywhere: int
    in_loops: int


def collectives(module: Operation) -> Count:
    """The collectives that ``@main`` has, those of functions at each of their calls."""
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}
    depths = list(_depths(functions, functions["main"].body.block, 0))
    return Count(len(depths), sum(depth > 0 for depth in depths))


def _depths(functions: dict[str, FuncOp], block: Block, depth: int) -> Iterator[int]:
    """The number of loops around each collective."""
    for op in block.ops:
        if isinstance(op, CallOp):
            yield from _depths(functions, functions[op.callee.string_value()].body.block, depth)
        elif is_collective(op):
            yield from [depth] * len(op.operands)
        else:
            for region in op.regions:
                yield from _depths(functions, region.block, depth + isinstance(op, LOOPS))


def on_devices(program: wg.SpmdProgram) -> Count:
    """The collectives of what each device runs, as it is compiled."""
    return collectives(program.local.apply("to-core,simplify,cse,dce").module)


def more(ours: Count, theirs: Count) -> bool:
    """Whether there are more in either place."""
    return any(one > other for one, other in zip(ours, theirs, strict=True))
