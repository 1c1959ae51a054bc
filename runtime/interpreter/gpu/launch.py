"""Launches: a kernel on the buffers that the host gives it, one batch of work-groups after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects.gpu import FuncOp, LaunchFuncOp, LaunchOp
from wengert.dialects.gpu import ModuleOp as DeviceModule
from wengert.dialects.gpu.atomics import AtomicRMWOp, GenericAtomicRMWOp
from wengert.dialects.gpu.targets import ROCDLTargetAttr
from wengert.ir.symbols import symbol_name, symbols_of
from wengert.ir.traversal import all_ops
from wengert.runtime.errors import ExecutionError, UnsupportedOpError
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.gpu import accesses, collectives, control, matrices
from wengert.runtime.interpreter.gpu.batch import Array, Batch, Sizes, value_name
from wengert.runtime.interpreter.gpu.code import Code
from wengert.runtime.interpreter.gpu.memory import GlobalBuffer, Tracked, private_buffer, workgroup_buffer
from wengert.runtime.interpreter.gpu.races import Races
from wengert.runtime.interpreter.gpu.scalars import constant
from wengert.runtime.interpreter.rules import Nullary, Scope, Variadic, evaluates, evaluates_in_scope
from wengert.runtime.interpreter.written_bytes import address

LANES = 1 << 14
"""About so many threads run at once."""
STEPS = (accesses, collectives, control, matrices)
"""The modules that register what ops of kernels do."""


@evaluates(arith.ConstantOp)
def host_constant(op: arith.ConstantOp) -> Nullary:
    """A number of the host's program, such as the size of a grid."""
    value = constant(op)[0]
    return lambda: value


@evaluates_in_scope(LaunchFuncOp)
def launch_func(op: LaunchFuncOp, scope: Scope) -> Variadic:
    """Runs the kernel that the op names."""
    kernel = _kernel(op)
    body = kernel.body.block
    given, counter = len(kernel.function_type.inputs), scope.counter
    prepared = Kernel(op, body, body.args[:given], kernel.workgroup_buffers, kernel.private_buffers)

    def run(*operands: Any) -> tuple[Any, ...]:
        prepared.run(_sizes(operands[:3]), _sizes(operands[3:6]), operands[6:], counter)
        return ()

    return run


@evaluates_in_scope(LaunchOp)
def launch(op: LaunchOp, scope: Scope) -> Variadic:
    """Runs the body of the op, which may use what is around it."""
    body = op.body.block
    captured, counter = _captured(op), scope.counter
    reads = [scope.reader(value) for value in captured]
    prepared = Kernel(op, body, captured, op.workgroup_buffers, op.private_buffers, body.args[:12])

    def run(*operands: Any) -> tuple[Any, ...]:
        prepared.run(_sizes(operands[:3]), _sizes(operands[3:6]), [read() for read in reads], counter)
        return ()

    return run


def _sizes(values: Sequence[Any]) -> Sizes:
    return cast(Sizes, tuple(int(value) for value in values))


def _kernel(op: LaunchFuncOp) -> FuncOp:
    """The kernel that a launch names; an error if only its machine code is there."""
    host: Operation | None = op.parent_op()
    while host is not None and not isinstance(host, ModuleOp):
        host = host.parent_op()
    module = symbols_of(host.body.block).get(op.module_name) if host is not None else None
    if not isinstance(module, DeviceModule):
        raise UnsupportedOpError(op, f"launches a kernel of @{op.module_name}, of which only what a device loads is there")
    return cast(FuncOp, symbols_of(module.body.block)[op.kernel_name])


def _captured(op: LaunchOp) -> list[SSAValue]:
    """The values that a body uses and does not define."""
    used: dict[SSAValue, None] = {}
    for inner in op.body.walk():
        for value in inner.operands:
            block = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if block is None or not op.body.is_ancestor(block):
                used[value] = None
    return list(used)


def _functions(op: Operation) -> Mapping[str, Operation]:
    """The functions that a kernel may call: those of its own module."""
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, ModuleOp | DeviceModule):
        parent = parent.parent_op()
    ops = parent.regions[0].block.ops if parent is not None else ()
    return {cast(str, symbol_name(function)): function for function in ops if isinstance(function, func.FuncOp)}


def _subgroup(body: Block) -> int:
    """The threads of a subgroup: 64 if the kernel is compiled for AMD's devices alone, else 32."""
    function = body.parent_op()
    module = function.parent_op() if function is not None else None
    targets = module.targets if isinstance(module, DeviceModule) else None
    return 64 if targets is not None and all(isinstance(target, ROCDLTargetAttr) for target in targets) else 32


def _written(body: Block) -> set[SSAValue] | None:
    """The buffers that a kernel writes; None if it hands buffers to functions, so that nobody knows."""
    buffers: set[SSAValue] = set()
    for op in all_ops(cast(Operation, body.parent_op())):
        if isinstance(op, memref.StoreOp | AtomicRMWOp | GenericAtomicRMWOp):
            buffers.add(op.memref)
        elif isinstance(op, func.CallOp) and any(isinstance(value.type, MemRefType) for value in op.operands):
            return None
    return buffers


class Kernel:
    """A kernel that is prepared to run. ``inputs`` are what a launch gives, ``ids`` the arguments of a ``gpu.launch`` for numbers and sizes."""

    def __init__(
        self,
        op: LaunchFuncOp | LaunchOp,
        body: Block,
        inputs: Sequence[SSAValue],
        workgroup: Sequence[BlockArgument],
        private: Sequence[BlockArgument],
        ids: Sequence[BlockArgument] = (),
    ):
        self.op, self.inputs = op, inputs
        self._code = code = Code(_functions(body.first_op or op))
        self._slots, self._ids = code.slots(inputs), code.slots(ids)
        self._buffers = [
            (code.slot(value), value_name(value), cast("MemRefType[Any]", value.type), make)
            for values, make in ((workgroup, workgroup_buffer), (private, private_buffer))
            for value in values
        ]
        self._body = code.block(body)
        self._subgroup = _subgroup(body)
        written = _written(body)
        self._writes = [isinstance(value.type, MemRefType) and (written is None or value in written) for value in inputs]

    def run(self, grid: Sizes, block: Sizes, arguments: Sequence[Any], counter: Counter | None = None) -> None:
        """Runs all work-groups of the grid. Raises KernelFaultError if the kernel does what has no meaning."""
        if min(grid) < 1 or min(block) < 1:
            raise ExecutionError(self.op, f"has no threads: its grid is {grid}, its work-groups {block}")
        values = self._values(arguments)
        groups, at_once = prod(grid), max(1, LANES // prod(block))
        for first in range(0, groups, at_once):
            batch = Batch(grid, block, first, min(at_once, groups - first), self._code.size, self._subgroup, counter)
            for slot, value in zip(self._slots, values, strict=True):
                batch.values[slot] = value
            self._number(batch)
            for slot, name, type, make in self._buffers:
                batch.values[slot] = make(name, type, batch)
            self._body.run(batch, None)

    def _number(self, batch: Batch) -> None:
        """Binds the numbers and sizes that the body of a ``gpu.launch`` takes."""
        numbers = [number(axis) for number in (batch.block_id, batch.thread_id) for axis in range(3)]
        sizes = [np.array([extent]) for extent in (*batch.grid, *batch.block)]
        for slot, value in zip(self._ids, [*numbers, *sizes], strict=False):
            batch.values[slot] = value

    def _values(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments as kernels see them: buffers, and numbers that are the same in all lanes."""
        arrays = [argument if isinstance(value.type, MemRefType) else None for value, argument in zip(self.inputs, arguments, strict=True)]
        tracked = _tracked(arrays, self._writes)
        values: list[Any] = []
        for value, argument, array, place in zip(self.inputs, arguments, arrays, tracked, strict=True):
            values.append(np.asarray(argument).reshape(1) if array is None else GlobalBuffer(value_name(value), array, place))
        return values


def _tracked(arrays: Sequence[Array | None], writes: Sequence[bool]) -> list[Tracked | None]:
    """Where the accesses to each buffer are kept: buffers that overlap have one place, those that nobody writes have none."""
    result: list[Tracked | None] = [None] * len(arrays)
    spans = sorted((address(array), array.nbytes, number) for number, array in enumerate(arrays) if array is not None and array.size)
    for group in _overlapping(spans):
        numbers = [number for _, _, number in group]
        if any(writes[number] for number in numbers):
            start, end = group[0][0], max(at + count for at, count, _ in group)
            unit = min(cast(Array, arrays[number]).itemsize for number in numbers)
            races = Races(-(-(end - start) // unit))
            for at, _, number in group:
                result[number] = Tracked(races, (at - start) // unit, cast(Array, arrays[number]).itemsize // unit)
    return result


def _overlapping(spans: Sequence[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """Spans of memory (where, how many bytes, whose), sorted, in groups of those that overlap."""
    groups: list[list[tuple[int, int, int]]] = []
    end = -1
    for span in spans:
        if span[0] >= end:
            groups.append([])
        groups[-1].append(span)
        end = max(end, span[0] + span[1])
    return groups
