"""Finding the op whose own derivative is wrong.

The program is run op by op in the interpreter. Every op with float operands is made a program of its own, whose JVP is
examined at the values that reach it. The first one to fail is named. (``wengert.lab.check.declared_rules`` does the same for functions
with derivatives of their own.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.ir.locations import describe
from wengert.ir.unregistered import written_name
from wengert.lab.check.declared_rules import Examine
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Culprit:
    """An op that fails a check by itself."""

    op: str
    place: str
    finding: str

    def __str__(self) -> str:
        return f"{self.op} at {self.place}: {self.finding}"


def find_culprit(program: Program, inputs: Sequence[Array], examine: Examine) -> Culprit | None:
    """The first op of a program that fails the examination at the values that reach it, or None."""
    main = program.core_module.body.block.first_op
    assert isinstance(main, FuncOp)
    block = main.body.block
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, ReturnOp):
            break
        taken = operands_of(op)
        alone = single_op_program(op, taken)
        reaching = [values[v] for v in taken]
        values.update(zip(op.results, alone.compile("interpreter")(*reaching), strict=True))
        if any(p.differentiable for p in alone.signature.arguments) and any(p.differentiable for p in alone.signature.results):
            finding = examine(alone, reaching)
            if finding is not None:
                return Culprit(op.name, describe(op.location), finding)
    return None


def operands_of(op: Operation) -> list[SSAValue]:
    """The values that an op reads, those that its regions capture included, each once."""
    inside = {id(o) for o in op.walk()}
    taken: dict[SSAValue, None] = dict.fromkeys(op.operands)
    for nested in op.walk():
        for value in nested.operands:
            owner = value.owner
            holder = owner if isinstance(owner, Operation) else owner.parent_op()
            if holder is None or id(holder) not in inside:
                taken.setdefault(value)
    return list(taken)


def single_op_program(op: Operation, operands: Sequence[SSAValue]) -> Program:
    """A program that is one op, its operands the arguments and its results the results, with the functions of its module that it calls.

    What the op reads and is not among these operands has to be made by constants, which are in the program too.
    """
    block = Block(arg_types=[v.type for v in operands])
    values: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value in operands_of(op):
        if value not in values and isinstance(value.owner, Operation):
            constant = value.owner.clone()
            block.add_op(constant)
            values[value] = constant.results[0]
    copy = op.clone(values)
    block.add_ops([copy, ReturnOp(*copy.results)])
    kind = FunctionType.from_lists([v.type for v in operands], [r.type for r in copy.results])
    root = op.get_toplevel_object()
    others = [f.clone() for f in root.ops if isinstance(f, FuncOp) and f.sym_name.data != "main"] if isinstance(root, ModuleOp) else []
    module = ModuleOp([FuncOp("main", kind, Region(block), "public"), *others])
    if others:
        module = parse_pipeline("symbol-dce").run(module)
    return Program(module, name=f"{written_name(op)} at {describe(op.location)}")
