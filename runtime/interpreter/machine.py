"""Running programs: every function is prepared once, as a list of steps over a frame of slots.

A slot holds the array of one SSA value. Regions use the slots of the function they stand in, so that the values which
they capture are simply there. There is one frame per function because StableHLO has no recursion (it is refused). A
slot is emptied after the last use of its value in its block; what is updated then may be updated in place (``in_place``).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from wengert.dialects.facts import Work, facts_of
from wengert.ir.tensor_types import DYNAMIC, bytes_of_type, dtype_of, element, shape_of_type
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.in_place import Step, update_function, updating_step
from wengert.runtime.interpreter.rules import Function, Nullary, RegionFunction, TakingFunction, rule_of
from wengert.runtime.memory import excess

_VIEWS = frozenset(f"stablehlo.{name}" for name in ("constant", "broadcast_in_dim", "reshape", "transpose", "slice", "reverse"))
"""Ops whose results may be views of what they are given."""

_RETURNS = ("func.return", "stablehlo.return")
_SCALARS = (*_RETURNS, "stablehlo.constant", "chlo.constant")
"""Ops on scalars that may stand among those on arrays."""


class Machine:
    """The functions of a module, prepared when they are first called."""

    def __init__(self, module: Operation | None, counter: Counter | None = None):
        self.counter = counter
        self.generator = np.random.default_rng(0)
        self._functions: dict[str, func.FuncOp] = {}
        if isinstance(module, ModuleOp):
            self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._prepared: dict[tuple[str, bool], RegionFunction] = {}
        self._open: list[str] = []

    def names(self) -> list[str]:
        """The names of the module's functions."""
        return list(self._functions)

    def definition(self, name: str) -> func.FuncOp | None:
        """The function of this name."""
        return self._functions.get(name)

    def frame(self, counter: Counter | None) -> Frame:
        """The slots of one function."""
        return Frame(self, counter)

    def function(self, name: str, *, counting: bool, caller: Operation | None = None) -> RegionFunction:
        """The function of this name, prepared."""
        key = (name, counting)
        if key not in self._prepared:
            definition = self._functions.get(name)
            if definition is None or name in self._open or not definition.body.blocks:
                problem = "calls itself" if name in self._open else "is not defined in this module"
                raise UnsupportedOpError(caller or self._functions[name], f"@{name} {problem}")
            self._open.append(name)
            self._prepared[key] = self.frame(self.counter if counting else None).region(definition.body)
            self._open.pop()
        return self._prepared[key]


class Frame:
    """The slots of one function, and the preparation of its blocks: the scope that its ops run in."""

    def __init__(self, machine: Machine, counter: Counter | None):
        self.machine = machine
        self.counter = counter
        self.generator = machine.generator
        self.values: list[Any] = []
        self.tapes: dict[int, Any] = {}
        self._slots: dict[SSAValue, int] = {}

    def slot(self, value: SSAValue) -> int:
        """The value's slot."""
        if value not in self._slots:
            self._slots[value] = len(self.values)
            self.values.append(None)
        return self._slots[value]

    def callee(self, op: Operation, name: str) -> RegionFunction:
        """The function of this name in the module."""
        return self.machine.function(name, counting=self.counter is not None, caller=op)

    def region(self, region: Region) -> RegionFunction:
        """The region as a function of its arguments."""
        code = self._code(region)
        return code.counted if self.counter else code.run

    def loop_region(self, region: Region) -> TakingFunction:
        """The region as a function that takes its arguments out of a list."""
        return self._code(region).take

    def _code(self, region: Region) -> _Code:
        if len(region.blocks) != 1:
            raise ValueError(f"a region must have one block, found {len(region.blocks)}")
        return _Code(self, region.block)

    def scalar_region(self, region: Region) -> RegionFunction:
        """The region on scalars as a function of arrays, applied to each element."""
        function = self.uncounted_region(region)
        return _spread(function) if self._is_elementwise(region) else _looped(function, region)

    def reader(self, value: SSAValue) -> Nullary:
        """A function that gives what a value is at the moment."""
        slot = self.slot(value)
        return lambda: self.values[slot]

    def uncounted_region(self, region: Region) -> RegionFunction:
        """The region, which is counted as a part of the op that owns it."""
        counter, self.counter = self.counter, None
        function = self.region(region)
        self.counter = counter
        return function

    def _is_elementwise(self, region: Region) -> bool:
        """Whether every op computes element by element, so that the region may be run on whole arrays."""

        def accepts(op: Operation) -> bool:
            if isinstance(op, func.CallOp):
                callee = self.machine.definition(op.callee.string_value())
                return callee is not None and self._is_elementwise(callee.body)
            return facts_of(type(op)).work is Work.ELEMENTS or op.name in _SCALARS

        return all(accepts(op) for op in region.block.ops)

    def function(self, op: Operation) -> Function:
        """The function that computes the op."""
        rule = rule_of(type(op))
        if rule is None:
            raise UnsupportedOpError(op, "is not implemented by the interpreter")
        try:
            return rule(op, self)
        except KeyError as missing:
            raise UnsupportedOpError(op, f"has a type or an attribute that is not supported: {missing.args[0]}") from None

    def update(self, op: Operation) -> Function | None:
        """The function that computes the op in the memory of its first operand, which nobody needs any more; None if there is none."""
        return update_function(op, self)


class _Code:
    """One block: its steps, and the slots that each step is the last to use."""

    def __init__(self, frame: Frame, block: Block):
        self.values, self.counter, self.block = frame.values, frame.counter, block
        self.args = [frame.slot(a) for a in block.args]
        self.ops = [op for op in block.ops if not _ends(op)]
        self.operands = [[frame.slot(v) for v in op.operands] for op in self.ops]
        self.results = [[frame.slot(r) for r in op.results] for op in self.ops]
        self.returned = [frame.slot(v) for op in block.ops if _ends(op) for v in op.operands]
        self.dying = _last_uses(block, self.ops, frame)
        own = {slot for slots in (self.args, *self.results) for slot in slots}
        self.own_returned = sorted(set(self.returned) & own)
        in_place = frame.counter is None or frame.counter.allows_updates
        updates = [
            frame.update(op) if in_place and op.operands and frame.slot(op.operands[0]) in dying else None
            for op, dying in zip(self.ops, self.dying[1:], strict=True)
        ]
        self.updating = [update is not None for update in updates]
        self.steps = [self._step(frame, op, results, update) for op, results, update in zip(self.ops, self.results, updates, strict=True)]
        self.paired = list(zip(self.steps, self.dying[1:], strict=True))

    def _step(self, frame: Frame, op: Operation, results: Sequence[int], update: Function | None) -> Step:
        if op.name not in _VIEWS:
            _check_memory(op)
        operands = [frame.slot(v) for v in op.operands]
        if update is not None:
            return updating_step(frame.values, frame.function(op), update, operands, results[0])
        return _step(frame.values, frame.function(op), operands, results)

    def run(self, *arguments: Any) -> tuple[Any, ...]:
        """Executes the block."""
        values = self.values
        for slot, value in zip(self.args, arguments, strict=True):
            values[slot] = value
        return self._run()

    def take(self, arguments: list[Any]) -> tuple[Any, ...]:
        """Executes the block on arguments that nothing but the list refers to any more, as far as the caller is concerned."""
        values = self.values
        for i, slot in enumerate(self.args):
            values[slot] = arguments[i]
        arguments.clear()
        return self._run() if self.counter is None else self._counted(self.counter)

    def _run(self) -> tuple[Any, ...]:
        values = self.values
        for slot in self.dying[0]:
            values[slot] = None
        for step, dying in self.paired:
            step()
            for slot in dying:
                values[slot] = None
        returned = tuple([values[slot] for slot in self.returned])
        for slot in self.own_returned:
            values[slot] = None
        return returned

    def counted(self, *arguments: Any) -> tuple[Any, ...]:
        """Executes the block and counts what it does."""
        values, counter = self.values, self.counter
        assert counter is not None
        for slot, value in zip(self.args, arguments, strict=True):
            values[slot] = value
        return self._counted(counter)

    def _counted(self, counter: Counter) -> tuple[Any, ...]:
        values = self.values
        counter.entered(self.block, [values[slot] for slot in self.args])
        for slot in self.args:
            counter.hold(values[slot])
        self._drop(self.dying[0], counter)
        for op, step, operands, results, dying, updating in zip(self.ops, self.steps, self.operands, self.results, self.dying[1:], self.updating, strict=True):
            step()
            counter.executed(op, [values[slot] for slot in results], [values[slot] for slot in operands])
            for slot in results:
                counter.hold(values[slot])
            if updating:
                counter.rewritten(values[results[0]])
            self._drop(dying, counter)
        returned = tuple([values[slot] for slot in self.returned])
        self._drop(self.own_returned, counter)
        return returned

    def _drop(self, slots: Sequence[int], counter: Counter) -> None:
        for slot in slots:
            counter.drop(self.values[slot])
            self.values[slot] = None


def _check_memory(op: Operation) -> None:
    """Refuses an op whose results this machine cannot hold."""
    for result in op.results:
        if result.type.__class__ is TensorType:
            type = cast("TensorType[Any]", result.type)
            missing = "" if DYNAMIC in shape_of_type(type) else excess(bytes_of_type(type))
            if missing:
                raise UnsupportedOpError(op, f"needs {missing}, for its result of type {type}")


def _ends(op: Operation) -> bool:
    return op.name in _RETURNS or op.has_trait(IsTerminator, value_if_unregistered=False)


def _step(values: list[Any], function: Function, operands: Sequence[int], results: Sequence[int]) -> Step:
    """Applies the function to slots and stores what it returns; the usual numbers of operands are written out for speed."""
    if len(results) != 1:
        return _many_results(values, function, operands, results)
    (target,) = results
    if len(operands) == 1:
        (first,) = operands

        def unary() -> None:
            values[target] = function(values[first])

        return unary
    if len(operands) == 2:
        first, second = operands

        def binary() -> None:
            values[target] = function(values[first], values[second])

        return binary
    if not operands:

        def nullary() -> None:
            values[target] = function()

        return nullary
    read = itemgetter(*operands)

    def step() -> None:
        values[target] = function(*read(values))

    return step


def _many_results(values: list[Any], function: Function, operands: Sequence[int], results: Sequence[int]) -> Step:
    def step() -> None:
        for target, value in zip(results, function(*[values[i] for i in operands]), strict=True):
            values[target] = value

    return step


def _last_uses(block: Block, ops: Sequence[Operation], frame: Frame) -> list[list[int]]:
    """The slots of this block's values that are no longer needed: at its start, then after each of the ops."""
    last: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
    for number, op in enumerate(ops, 1):
        last.update(dict.fromkeys(op.results, number))
        for nested in op.walk():
            last.update((v, number) for v in nested.operands if v in last)
    dying: list[list[int]] = [[] for _ in range(len(ops) + 1)]
    kept = set(block.last_op.operands) if block.last_op is not None else set[SSAValue]()
    for value, number in last.items():
        if value not in kept:
            dying[number].append(frame.slot(value))
    return dying


def _looped(function: RegionFunction, region: Region) -> RegionFunction:
    """A function of scalars applied to arrays element by element."""
    terminator = region.block.last_op
    assert terminator is not None
    dtypes = [_dtype(v) for v in terminator.operands]

    def loop(*operands: Any) -> tuple[Any, ...]:
        arrays = np.broadcast_arrays(*operands)
        results = [np.empty(arrays[0].shape, dtype) for dtype in dtypes]
        for i in np.ndindex(*arrays[0].shape):
            for result, value in zip(results, function(*[x[i] for x in arrays]), strict=True):
                result[i] = value
        return tuple(r[()] for r in results)

    return loop


def _spread(function: RegionFunction) -> RegionFunction:
    """The function with its results brought to the common shape of its arguments, where it does not depend on them."""

    def spread(*operands: Any) -> tuple[Any, ...]:
        extents = np.broadcast_shapes(*[np.shape(x) for x in operands])
        return tuple([r if np.shape(r) == extents else np.broadcast_to(r, extents) for r in function(*operands)])

    return spread


def _dtype(value: SSAValue) -> np.dtype[Any]:
    return dtype_of(element(value))
