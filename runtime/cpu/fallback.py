"""Runs ops without a kernel in the interpreter, called back by compiled code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import InterpretOp
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.runtime.tape_memory import out_of_memory

Array = np.ndarray[Any, np.dtype[Any]]


class _View:
    """The type of one value, to see its memory as an array."""

    def __init__(self, value: SSAValue):
        type = cast("TensorType[Any]", value.type)
        self.shape = shape_of_type(type)
        self.dtype = dtype_of(type.element_type)
        self.bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def array(self, address: int) -> Array:
        """The array at an address, valid during the call only."""
        if self.bytes == 0:
            return np.empty(self.shape, self.dtype)
        memory: Any = (ctypes.c_char * self.bytes).from_address(address)
        return np.frombuffer(memory, dtype=self.dtype).reshape(self.shape)


class Fallback:
    """Runs the interpreted ops of one program. Exceptions are kept per call, for the caller to raise; without one, memory has run out."""

    def __init__(self, ops: tuple[InterpretOp, ...]):
        self._steps = [_step(op) for op in ops]
        self._raised: dict[int, BaseException] = {}
        self._callable = self._run
        self.address = id(self._callable)

    def _run(self, number: int, buffers: int, table: int) -> bool:
        """Runs an op on an array of pointers; whether that went well."""
        try:
            self._steps[number](buffers)
        except BaseException as error:  # the exception must not cross compiled code: the caller raises it again
            self._raised[table] = error
            return False
        return True

    def take(self, table: int) -> BaseException:
        """The exception of the call with this table, which failed."""
        raised = self._raised.pop(table, None)
        if raised is not None:
            return raised
        return out_of_memory()


def _step(op: InterpretOp) -> Callable[[int], None]:
    """The op as a function of an array of pointers to its operands and results."""
    from wengert.runtime.interpreter import prepare  # imports scipy, which most programs do without

    block = op.body.block
    inner = block.first_op
    assert isinstance(inner, Operation)
    count = len(inner.operands)
    order: dict[SSAValue, int] = {arg: number for number, arg in enumerate(block.args)}
    used = [order[operand] for operand in inner.operands] + list(range(count, len(block.args)))
    prepared = threading.local()  # a prepared op keeps the values of its regions in one frame, so each thread has its own: a collective waits for other threads
    first_call = prepare(inner, block.args[count:])
    views = [_View(value) for value in (*op.inputs, *op.outputs)]
    first_result = len(op.inputs)
    pointers = ctypes.c_size_t * len(views)

    def prepared_here() -> Callable[..., tuple[Array, ...]]:
        call = getattr(prepared, "call", None)
        if call is None:
            call = prepared.call = prepare(inner, block.args[count:])
        return call

    def step(buffers: int) -> None:
        addresses = pointers.from_address(buffers)
        call = prepared_here() if inner.regions else first_call
        results = call(*[views[n].array(addresses[n])[()] for n in used])
        for n, array in enumerate(results, first_result):
            views[n].array(addresses[n])[...] = array

    return step
