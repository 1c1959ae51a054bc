"""The ops of a program with the values that reach them, those in loops and branches included, each as a program of its own."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.stablehlo import ConstantOp
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.lab.check.culprit import operands_of as read_by
from wengert.lab.check.culprit import single_op_program
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine
from wengert.runtime.interpreter.rules import Function

Array = np.ndarray[Any, np.dtype[Any]]
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
    for op in _inside_out(module):
        values = recorder.given.get(op)
        if values is not None and _fit(read_values(op), values) and all(isinstance(r.type, TensorType) for r in op.results) and op.results:
            yield op, single_op_program(op, read_values(op)).module, values


def read_values(op: Operation) -> list[SSAValue]:
    """The values that an op reads, but for constants, which are a part of what the op is: the number of iterations of a loop, say."""
    return [value for value in read_by(op) if not isinstance(value.owner, ConstantOp)]


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
