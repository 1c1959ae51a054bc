"""Ops without a kernel: the callback by which compiled code runs them in the interpreter."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import InterpretOp
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.transforms.lower.buffers import Buffers, Space

Array = np.ndarray[Any, np.dtype[Any]]
Callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class _View:
    """One value of the program as an array over the memory that it lies in during a call."""

    def __init__(self, value: SSAValue, buffers: Buffers, inputs: int, outputs: int):
        type = cast("TensorType[Any]", value.type)
        self.shape = shape_of_type(type)
        self.dtype = dtype_of(type.element_type)
        self.bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        place = buffers.places[value]
        self.in_arena = place.space is Space.ARENA
        first = {Space.INPUT: 0, Space.OUTPUT: inputs, Space.CONSTANT: inputs + outputs, Space.ARENA: 0}[place.space]
        self.at = place.at if self.in_arena else 8 * (first + place.at)

    def array(self, table: int, arena: int) -> Array:
        """The array, valid during the call only."""
        if self.bytes == 0:
            return np.empty(self.shape, self.dtype)
        address = arena + self.at if self.in_arena else ctypes.c_void_p.from_address(table + self.at).value
        memory = (ctypes.c_char * self.bytes).from_address(cast(int, address))
        return np.frombuffer(memory, dtype=self.dtype).reshape(self.shape)


class Fallback:
    """Runs the interpreted ops of one program. Exceptions are kept per call, for the caller to raise."""

    def __init__(self, ops: tuple[InterpretOp, ...], buffers: Buffers, inputs: int, outputs: int):
        self._steps = [self._step(op, buffers, inputs, outputs) for op in ops]
        self._raised: dict[int, BaseException] = {}
        self.pointer = Callback(self._run)
        self.address = cast(int, ctypes.cast(self.pointer, ctypes.c_void_p).value)

    def _step(self, op: InterpretOp, buffers: Buffers, inputs: int, outputs: int) -> Callable[[int, int], None]:
        from wengert.runtime.interpreter import prepare  # imports scipy, which most programs do without

        block = op.body.block
        inner = block.first_op
        assert isinstance(inner, Operation)
        count = len(inner.operands)
        order = {arg: number for number, arg in enumerate(block.args)}
        captured = block.args[count:]
        call = prepare(inner, captured)
        views = [_View(value, buffers, inputs, outputs) for value in op.inputs]
        used = [views[order[operand]] for operand in inner.operands] + views[count:]
        results = [_View(value, buffers, inputs, outputs) for value in op.outputs]

        lock = threading.Lock() if inner.regions else nullcontext()  # prepared regions keep their values in one frame

        def step(table: int, arena: int) -> None:
            with lock:
                found = call(*[view.array(table, arena)[()] for view in used])
            for view, array in zip(results, found, strict=True):
                view.array(table, arena)[...] = array

        return step

    def _run(self, number: int, table: int, arena: int) -> int:
        try:
            self._steps[number](table, arena)
        except BaseException as error:  # the exception must not cross compiled code: the caller raises it again
            self._raised[table] = error
            return 1
        return 0

    def take(self, table: int) -> BaseException:
        """The exception of the call with this table, which failed."""
        return self._raised.pop(table, RuntimeError("compiled code failed without a reason"))
