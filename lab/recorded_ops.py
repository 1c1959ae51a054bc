"""The ops of a program with the values that reach them, those in loops and branches included, each as a program of its own.

Of a long program they come in the order in which most is learned soonest, and there is a limit to how long they are looked at: a rule that is wrong is mostly
wrong for the first op of its kind.
"""

from __future__ import annotations

import time
from collections import Counter as Counts
from collections.abc import Generator, Hashable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects.stablehlo import ConstantOp
from wengert.ir.location.places import describe
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.ir.unregistered import written_name
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine
from wengert.runtime.interpreter.rules import Function
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
MANY = 500
"""Ops from which on a program is a long one."""
SECONDS = 20.0
"""How long the ops of a long program are looked at."""
_PLAIN = ("stablehlo.constant", "func.return", "stablehlo.return")


class _Recorder(Machine):
    """The interpreter, which notes what every op is given when it is first run."""

    def __init__(self, module: ModuleOp):
        super().__init__(module)
        self.given: dict[Operation, list[Any]] = {}

    def frame(self, counter: Counter | None) -> Frame:
        return _RecordingFrame(self, counter)


class _RecordingFrame(Frame):
    machine: _Recorder

    def function(self, op: Operation) -> Function:
        exact = super().function(op)
        if op.name in _PLAIN:
            return exact
        given, readers = self.machine.given, [self.reader(value) for value in read_values(op)]

        def noted(*operands: Any) -> Any:
            if op not in given:
                given[op] = [np.array(read()) for read in readers]
            return exact(*operands)

        return noted

    def update(self, op: Operation) -> Function | None:
        return None


def ops_with_values(module: ModuleOp, inputs: Sequence[Array]) -> Generator[tuple[Operation, ModuleOp, list[Array]]]:
    """The ops of a module that read and compute tensors, each with a module that is the op alone and the values that reach it, in the order of the text; an
    op with regions comes behind those in its regions. The values are those of :func:`read_values`.

    What the interpreter cannot run has no values, and is left out.
    """
    recorder = _Recorder(module)
    try:
        with np.errstate(all="ignore"):
            recorder.function("main", counting=False)(*[np.asarray(x)[()] for x in inputs])
    except Exception:  # then the ops before are what there is
        pass
    for op in _in_order(list(_inside_out(module))):
        values = recorder.given.get(op)
        if values is not None and _fit(read_values(op), values) and all(isinstance(r.type, TensorType) for r in op.results) and op.results:
            yield op, single_op_program(op, read_values(op)).module, values


def pieces(module: ModuleOp, inputs: Sequence[Array], size: int) -> Generator[tuple[ModuleOp, list[Array]]]:
    """Stretches of so many ops of ``@main``, each as a program of its own with the values that reach it: its results are what ops behind the stretch use.

    Stretches that read or leave what is no tensor are left out, and what the interpreter cannot run.
    """
    recorder = _Recorder(module)
    try:
        with np.errstate(all="ignore"):
            recorder.function("main", counting=False)(*[np.asarray(x)[()] for x in inputs])
    except Exception:  # then the stretches before are what there is
        pass
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    values: dict[SSAValue, Array] = {}
    for op, given in recorder.given.items():
        values.update(zip(read_values(op), given, strict=True))
    ops = [op for op in main.body.block.ops if not isinstance(op, ReturnOp | ConstantOp)]
    for first in range(0, len(ops), size):
        stretch = ops[first : first + size]
        inside = set(stretch)
        taken = dict.fromkeys(v for op in stretch for v in read_values(op) if v.owner not in inside)
        left = [r for op in stretch for r in op.results if not r.uses or any(_outermost(use.operation, main) not in inside for use in r.uses)]
        if left and all(v in values and _fits(v, values[v]) for v in taken) and all(isinstance(r.type, TensorType) for r in left):
            yield _program_of(stretch, list(taken), left), [values[v] for v in taken]


def _outermost(op: Operation, function: FuncOp) -> Operation:
    """The op of a function's body that an op is in."""
    while (parent := op.parent_op()) is not None and parent is not function:
        op = parent
    return op


class Patience:
    """A limit on how long the ops of a program are looked at.

    Attributes:
        left: how many ops were not looked at; 0 as long as there is time.
    """

    def __init__(self, module: ModuleOp):
        self._ops = sum(1 for _ in _inside_out(module))
        self._ends = time.monotonic() + SECONDS if self._ops > MANY else float("inf")
        self._looked = self.left = 0

    def ends(self) -> bool:
        """Whether there is no more time for one more op."""
        if time.monotonic() > self._ends:
            self.left = self._ops - self._looked
            return True
        self._looked += 1
        return False


def _in_order(ops: list[Operation]) -> list[Operation]:
    """The ops as they are; of many, first one of each name, then further ones of other types and attributes, then those that differ in their values alone."""
    if len(ops) <= MANY:
        return ops
    alike, kinds = Counts[Hashable](), Counts[str]()
    ranks: dict[Operation, tuple[int, int]] = {}
    for op in ops:
        form = _form(op)
        if not alike[form]:
            kinds[op.name] += 1
        ranks[op] = (alike[form], kinds[op.name])
        alike[form] += 1
    return sorted(ops, key=ranks.__getitem__)


def _form(op: Operation) -> Hashable:
    """What an op is but for the values that it reads."""
    if op.regions:
        return id(op)
    return (op.name, *(v.type for v in op.operands), *sorted(op.properties.items(), key=lambda item: item[0]))


def read_values(op: Operation) -> list[SSAValue]:
    """The values that an op reads, but for constants, which are a part of what the op is: the number of iterations of a loop, say."""
    return [value for value in operands_of(op) if not isinstance(value.owner, ConstantOp)]


def _inside_out(module: ModuleOp) -> Generator[Operation]:
    def walk(op: Operation) -> Generator[Operation]:
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    yield from walk(inner)
        if not isinstance(op, FuncOp | ModuleOp):
            yield op

    return walk(module)


def _fit(operands: Sequence[SSAValue], values: Sequence[Array]) -> bool:
    """Whether values have the types of operands: those that an op's region on scalars is run on, as whole arrays, have not."""
    return all(_fits(operand, value) for operand, value in zip(operands, values, strict=True))


def _fits(operand: SSAValue, value: Array) -> bool:
    if not isinstance(operand.type, TensorType):
        return False
    type: TensorType[Any] = cast(Any, operand).type
    return shape_of_type(type) == value.shape and dtype_of(type.element_type) == value.dtype


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
    return Program(_program_of([op], operands, op.results), name=f"{written_name(op)} at {describe(op.location)}")


def _program_of(ops: Sequence[Operation], operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> ModuleOp:
    """Some ops as the body of ``@main``."""
    block = Block(arg_types=[v.type for v in operands])
    values: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for op in ops:
        for value in operands_of(op):
            if value not in values and isinstance(value.owner, Operation):
                constant = value.owner.clone()
                block.add_op(constant)
                values[value] = constant.results[0]
        copy = op.clone(values)
        block.add_op(copy)
        values.update(zip(op.results, copy.results, strict=True))
    block.add_op(ReturnOp(*[values[r] for r in results]))
    kind = FunctionType.from_lists([v.type for v in operands], [r.type for r in results])
    root = ops[0].get_toplevel_object()
    others = [f.clone() for f in root.ops if isinstance(f, FuncOp) and f.sym_name.data != "main"] if isinstance(root, ModuleOp) else []
    module = ModuleOp([FuncOp("main", kind, Region(block), "public"), *others])
    return parse_pipeline("symbol-dce").run(module) if others else module
