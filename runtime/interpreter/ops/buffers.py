"""Kernel-level programs on buffers, run on real memory: a memref is an array that lies in the bytes that the ops say.

Two values that were given the same memory while both are needed spoil each other here as they would in machine code. Whatever may not be read is filled with
:data:`POISON`, which is a large negative number or NaN as a float, and marked as not written: fresh memory, scratch memory, and before every run of a region
its arena and the buffers that it has to write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.core.control import TapeType
from wengert.dialects.kernel import MatmulOp, NestOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import Space, bytes_of, space_of, value_type
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.runtime.interpreter.rules import EVALUATION_RULES, Binary, Nullary, RegionFunction, Scope, Unary, Variadic, evaluates, evaluates_in_scope
from wengert.runtime.interpreter.written_bytes import POISON, allocate, copy_marks, mark

Array = np.ndarray[Any, np.dtype[Any]]
_HANDLE = np.dtype(np.int64)
_handles = count(1)


def fresh(memref: Attribute) -> Array:
    """New memory for a buffer of this type."""
    return _typed(allocate(bytes_of(memref)), memref)


def split_arguments(function: FuncOp) -> tuple[list[Attribute], list[Attribute]]:
    """The memrefs of a function's inputs, and of its results."""
    types = function.function_type.inputs.data
    return [t for n, t in enumerate(types) if not ops.is_result(function, n)], [t for n, t in enumerate(types) if ops.is_result(function, n)]


def _typed(memory: Array, memref: Attribute) -> Array:
    """Bytes as what a memref of this type holds; the handle of a tape is two integers."""
    type: Any = value_type(memref)
    return memory.view(_HANDLE) if isinstance(type, TapeType) else memory.view(dtype_of(type.element_type)).reshape(shape_of_type(type))


def _bytes(array: Array) -> Array:
    """The bytes of an array, in its memory."""
    return array.reshape(-1).view(np.uint8)


def _poison(arrays: Sequence[Array]) -> None:
    for array in arrays:
        _bytes(array)[...] = POISON
        mark(array, written=False)


def _copy(source: Array, target: Array) -> None:
    _bytes(target)[...] = _bytes(source).copy()
    copy_marks(source, target)


@evaluates(ops.AllocOp)
def alloc(op: ops.AllocOp) -> Nullary:
    """New memory."""
    type = op.memref.type
    return lambda: fresh(type)


@evaluates(ops.ViewOp)
def view(op: ops.ViewOp) -> Unary:
    """The same memory."""
    at, size, type = int_of(op.offset), bytes_of(op.memref.type), op.memref.type
    return lambda source: _typed(_bytes(source)[at : at + size], type)


@evaluates(ops.GlobalOp)
def constant(op: ops.GlobalOp) -> Nullary:
    """Memory that is written once."""
    array = np.array(elements.to_numpy(op.value), order="C")
    array.flags.writeable = False
    return lambda: array


@evaluates(ops.CopyOp)
def copy(op: ops.CopyOp) -> Binary:
    """Copies bytes."""

    def run(source: Array, target: Array) -> tuple[Any, ...]:
        _copy(source, target)
        return ()

    return run


@evaluates_in_scope(ops.LaunchOp)
def launch(op: ops.LaunchOp, scope: Scope) -> Variadic:
    """Runs the kernel on what the buffers hold, and writes its results when all are known (they share no memory with the buffers)."""
    kernel = EVALUATION_RULES[type(op.kernel)](op.kernel, scope)
    count, results = len(op.ins), len(op.outs)
    kept = not isinstance(op.kernel, NestOp | MatmulOp)
    read, write = [_reader(value, scope, kept=kept) for value in op.ins], [_writer(value, scope) for value in op.outs]

    def run(*buffers: Array) -> tuple[Any, ...]:
        _poison(buffers[count + results :])
        computed = kernel(*[get(buffer) for get, buffer in zip(read, buffers, strict=False)])
        values = (computed,) if results == 1 else computed
        for put, buffer, value in zip(write, buffers[count:], values, strict=False):
            put(buffer, value)
        return ()

    return run


def _reader(buffer: SSAValue, scope: Scope, *, kept: bool) -> Callable[[Array], Any]:
    """A function that reads what a buffer holds: an array, or the tape of a handle. ``kept``: the kernel may keep it, on a tape or in its result."""
    if isinstance(value_type(buffer.type), TapeType):
        return lambda array: scope.tapes[int(array[0])]
    return (lambda array: array.copy()[()]) if kept else (lambda array: array[()])


def _writer(buffer: SSAValue, scope: Scope) -> Callable[[Array, Any], None]:
    def put(array: Array, value: Any) -> None:
        array[...] = value
        mark(array)

    def keep(array: Array, tape: Any) -> None:
        array[0] = handle = next(_handles)
        mark(array)
        scope.tapes[handle] = tape

    return keep if isinstance(value_type(buffer.type), TapeType) else put


@evaluates_in_scope(ops.ForOp)
def for_(op: ops.ForOp, scope: Scope) -> Variadic:
    """Runs the body as often as the count says."""
    body = scope.region(op.body)

    def run(count: Array, *buffers: Array) -> tuple[Any, ...]:
        loop = _LoopBuffers(op, buffers)
        for iteration in range(int(count)):
            loop.first[...] = iteration
            mark(loop.first)
            loop.run(body)
            loop.swap()
        return loop.finish()

    return run


@evaluates_in_scope(ops.WhileOp)
def while_(op: ops.WhileOp, scope: Scope) -> Variadic:
    """Runs the body as long as the condition writes that it holds."""
    condition, body = scope.region(op.condition), scope.region(op.body)

    def run(*buffers: Array) -> tuple[Any, ...]:
        loop = _LoopBuffers(op, buffers)
        while loop.run(condition).first[()]:
            loop.run(body)
            loop.swap()
        return loop.finish()

    return run


class _LoopBuffers:
    """The buffers of a loop while it runs."""

    def __init__(self, op: ops.ForOp | ops.WhileOp, operands: Sequence[Array]):
        left = iter(operands)
        self.constants, initial, self.homes, spare = ([next(left) for _ in group] for group in (op.constants, op.initial, op.outs, op.spare))
        self.arena = next(left)
        self.first = fresh(op.body.block.args[0].type)
        self.now = [fresh(a.type) if space_of(a.type) is Space.STACK else home for a, home in zip(op.now(), self.homes, strict=True)]
        unused = iter(spare)
        self.next = [fresh(a.type) if space_of(a.type) is Space.STACK else next(unused) for a in op.next()]
        self.swapped = [number for number, (a, end) in enumerate(zip(op.now(), op.written(), strict=True)) if a is not end]
        for source, target in zip(initial, self.now, strict=True):
            _copy(source, target)

    def run(self, region: RegionFunction) -> _LoopBuffers:
        """Runs a region, which finds nothing where it has to write."""
        _poison([*self.next, self.arena])
        region(self.first, *self.constants, *self.now, *self.next, self.arena)
        return self

    def swap(self) -> None:
        """Swaps the copies: what was written is what is read next."""
        for number, place in enumerate(self.swapped):
            self.now[place], self.next[number] = self.next[number], self.now[place]

    def finish(self) -> tuple[Any, ...]:
        """Brings what was carried to where it belongs."""
        for source, target in zip(self.now, self.homes, strict=True):
            _copy(source, target)
        return ()


@evaluates_in_scope(ops.CaseOp)
def case(op: ops.CaseOp, scope: Scope) -> Variadic:
    """Runs the branch that the index picks, the last one where it is out of range."""
    branches = [scope.region(branch) for branch in op.branches]
    last, results = len(branches) - 1, slice(len(op.ins), len(op.ins) + len(op.outs))

    def run(index: Array, *buffers: Array) -> tuple[Any, ...]:
        _poison([*buffers[results], *buffers[results.stop :]])
        branches[int(index) if 0 <= index <= last else last](*buffers)
        return ()

    return run


@evaluates_in_scope(ops.StripLoopOp)
def strip_loop(op: ops.StripLoopOp, scope: Scope) -> Variadic:
    """Runs the body on one strip of each buffer after another."""
    body, steps = scope.region(op.body), ints(op.steps)
    types = [argument.type for argument in op.body.block.args[: len(steps)]]

    def run(*buffers: Array) -> tuple[Any, ...]:
        arena = buffers[len(steps) :]
        for iteration in range(int_of(op.iterations)):
            _poison(arena)
            starts = [iteration * step * buffer.itemsize for buffer, step in zip(buffers, steps, strict=False)]
            strips = zip(buffers, starts, types, strict=False)
            body(*[_typed(_bytes(buffer)[at : at + bytes_of(type)], type) for buffer, at, type in strips], *arena)
        return ()

    return run
