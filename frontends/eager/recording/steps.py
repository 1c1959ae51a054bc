"""Steps over numbered values, and their ops: a straight line with checkpoints in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad import CheckpointOp
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.gradients.derive import Step, write_steps
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.places import Place
from wengert.eager.recording.program import Array, Type, module_of, private_function


def _barrier(b: OpBuilder, operands: Sequence[Value], _: Any) -> Sequence[Value]:
    return b.create(hlo.OptimizationBarrierOp, operands, [x.type for x in operands]) if operands else ()


BARRIER = Operation("barrier", "BarrierBackward", _barrier)


class Steps:
    """Steps over numbered values, with what comes in from outside.

    Attributes:
        inputs: the values that no step makes, by number.
        constants: Python numbers that operations were given, by number.
        steps: in the order in which they ran.
        handed_on: values that a custom function's step hands on, under other numbers.
        regions: the first step of each checkpoint and the first after it, inner checkpoints before outer ones.
    """

    def __init__(self) -> None:
        self.inputs: dict[int, Type] = {}
        self.constants: dict[int, Array] = {}
        self.steps: list[Step] = []
        self.regions: list[tuple[int, int]] = []
        self.handed_on: set[int] = set()
        self.count = 0

    def new(self) -> int:
        """A new value."""
        self.count += 1
        return self.count - 1

    def input(self, type: Type) -> int:
        """A new value that comes in."""
        number = self.new()
        self.inputs[number] = type
        return number

    def constant(self, value: float, dtype: np.dtype[Any]) -> int:
        """A new value that is always the same."""
        number = self.new()
        self.constants[number] = np.asarray(value, dtype)
        return number

    def append(self, operation: Operation, params: Any, operands: Sequence[int], count: int, place: Place | None, constant: bool = False) -> tuple[int, ...]:
        """A new step; the numbers of its results."""
        results = tuple(self.new() for _ in range(count))
        self.steps.append(Step(operation, params, tuple(operands), results, place, constant))
        return results

    def unused(self) -> list[int]:
        """The values that steps make and none takes."""
        taken = {i for step in self.steps for i in step.operands}
        return [i for step in self.steps for i in step.results if i not in taken]

    # -- checkpoints

    def open_barrier(self) -> int:
        """The steps from here on compute something again, until :meth:`close_barrier` is called with what this returns."""
        self.steps.append(Step(BARRIER, None, (), ()))
        return len(self.steps) - 1

    def close_barrier(self, start: int) -> None:
        """Makes the steps since then take what comes from before through a barrier, so that nobody finds out that it is all known."""
        again = self.steps[start + 1 :]
        own = {i for step in again for i in step.results}
        before = [i for i in dict.fromkeys(i for step in again for i in step.operands) if i not in own and i not in self.constants]
        behind = {i: self.new() for i in before}
        self.steps[start] = Step(BARRIER, None, tuple(before), tuple(behind.values()))
        self.steps[start + 1 :] = [replace(step, operands=tuple(behind.get(i, i) for i in step.operands)) for step in again]

    def grouped(self, wanted: Collection[int]) -> list[Step]:
        """The steps with one step for each outermost checkpoint, if these values are wanted at the end."""
        return self._grouped(0, len(self.steps), set(wanted))

    def _grouped(self, start: int, stop: int, wanted: set[int]) -> list[Step]:
        """From the last step to the first, so that it is known of every value whether a later step takes it."""
        steps: list[Step] = []
        taken = set(wanted)
        here = {end: begin for begin, end in self.regions if start <= begin < end <= stop and (begin, end) != (start, stop)}
        while stop > start:
            step = self.steps[stop - 1]
            if stop in here:
                step = self._region(here[stop], stop, taken)
                stop = here[stop]
            else:
                stop -= 1
            taken.update(step.operands)
            steps.append(step)
        return steps[::-1]

    def _region(self, start: int, stop: int, taken: set[int]) -> Step:
        """A checkpoint as one step, whose results are what is taken of it."""
        made = [i for step in self.steps[start:stop] for i in step.results]
        results = tuple(i for i in made if i in taken)
        inside = self._grouped(start, stop, set(results))
        own = set(made)
        operands = tuple(dict.fromkeys(i for step in inside for i in step.operands if i not in own and i not in self.constants))

        def emit(b: OpBuilder, given: Sequence[Value], _: Any) -> Sequence[Value]:
            def body(inner: OpBuilder, arguments: Sequence[Value]) -> list[Value]:
                values = dict(zip(operands, arguments, strict=True))
                self._write_constants(inner, inside, values)
                write_steps(inner, inside, values)
                return [values[i] for i in results]

            function = private_function(b, "checkpoint", [v.type for v in given], body)
            return b.create(CheckpointOp, given, list(function.function_type.outputs), {"callee": SymbolRefAttr(function.sym_name.data)})

        return Step(Operation("checkpoint", "CheckpointBackward", emit), None, operands, results)

    # -- as IR

    def _write_constants(self, b: OpBuilder, steps: Sequence[Step], values: dict[int, Value]) -> None:
        for i in dict.fromkeys(i for step in steps for i in step.operands):
            if i in self.constants:
                values[i] = b.constant(self.constants[i])

    def write(self, b: OpBuilder, arguments: Sequence[Value], wanted: Collection[int]) -> dict[int, Value]:
        """Writes the ops of all steps for these inputs; all values by number but those that stay inside of a checkpoint. What is
        wanted does not stay inside."""
        values: dict[int, Value] = dict(zip(self.inputs, arguments, strict=True))
        steps = self.grouped(wanted)
        self._write_constants(b, steps, values)
        values.update((i, b.constant(self.constants[i])) for i in wanted if i in self.constants)
        write_steps(b, steps, values)
        return values

    def module(self, outputs: Sequence[int]) -> ModuleOp:
        """The steps as ``@main``, from the inputs to these values."""

        def body(b: OpBuilder, arguments: Sequence[Value]) -> list[Value]:
            values = self.write(b, arguments, outputs)
            return [values[i] for i in outputs]

        return module_of(list(self.inputs.values()), body)
