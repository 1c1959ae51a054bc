"""Peak live bytes, from the text alone.

A value lives from the op that makes it to its last use in its block; a use by a region of an op is a use by that op. The arguments of a function
belong to its caller and live throughout; constants belong to the program and count nothing, as in all counts. While an op runs, its operands and
its results are both live (nothing is computed in place). This is what the interpreter's counter measures, except that it knows which results share
an array with an operand.

Inside a loop the carried values that an iteration replaces exist twice: the ones the loop was entered with, which the
enclosing block still holds, and those of the iteration. What a tape holds is not known from the text and counts nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from wengert.dialects import core, stablehlo
from wengert.transforms.analysis.opcost import is_constant
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

Functions = dict[str, FuncOp]
LOOPS = (stablehlo.WhileOp, core.ForOp, core.WhileOp)
"""Loops: the body is the last region, and the carried values are its last arguments."""
BRANCHES = (stablehlo.CaseOp, stablehlo.IfOp, core.CaseOp)


def _bytes(value: SSAValue) -> int:
    return bytes_of(STATIC, value)


def peak_bytes(module: ModuleOp, entry: str = "main") -> int:
    """The largest number of bytes that are live at once while the entry function runs, its arguments included."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    block = functions[entry].body.block
    return sum(map(_bytes, block.args)) + _peak(block, (), functions)


def _peak(block: Block, owned: tuple[SSAValue, ...], functions: Functions) -> int:
    """The peak of what the block makes, and of those of its arguments that nobody else holds."""
    dying = last_uses(block)
    counted = set(owned)
    live = sum(map(_bytes, owned))
    peak = live
    for op in block.ops:
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            break
        if is_constant(op):
            continue
        counted.update(op.results)
        live += sum(map(_bytes, op.results))
        peak = max(peak, live - sum(map(_bytes, op.results)) + inside_peak(op, functions), live)
        ended = counted.intersection(dying.get(op, ()))
        live -= sum(map(_bytes, ended))
        counted -= ended
    return peak


def inside_peak(op: Operation, functions: Functions) -> int:
    """The peak of what an op's regions or callee make while it runs."""
    if isinstance(op, LOOPS):
        return max(_peak(region.block, replaced(op, region.block), functions) for region in op.regions)
    if isinstance(op, BRANCHES):
        return max((_peak(region.block, (), functions) for region in op.regions if region.blocks), default=0)
    if isinstance(op, CallOp) and op.callee.string_value() in functions:
        callee = functions[op.callee.string_value()]
        return _peak(callee.body.block, (), functions) if callee.body.blocks else 0
    return 0


def replaced(loop: Operation, block: Block) -> tuple[SSAValue, ...]:
    """The arguments of a loop's block that nobody else holds: the iteration, and what an iteration before has made of the carried values."""
    body = loop.regions[-1].block
    last = body.last_op
    assert last is not None
    carried = body.args[len(body.args) - len(last.operands) :]
    passed_on = {i for i, (value, argument) in enumerate(zip(last.operands, carried, strict=True)) if value is argument}
    made = tuple(argument for i, argument in enumerate(block.args[len(block.args) - len(carried) :]) if i not in passed_on)
    return (block.args[0], *made) if isinstance(loop, core.ForOp) else made


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """The values that die with each op of a block: those it is the last to use, and its own results that nobody uses.

    Values that the block returns outlive it; so do values from outside.
    """
    last: dict[SSAValue, Operation] = {value: op for op in block.ops for value in op.results}
    for op in block.ops:
        for nested in op.walk():
            for value in nested.operands:
                if value in last or (value.owner is block):
                    last[value] = op
    dying: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        if not op.has_trait(IsTerminator, value_if_unregistered=False):
            dying.setdefault(op, []).append(value)
    return dying
