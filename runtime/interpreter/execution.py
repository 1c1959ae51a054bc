"""Running functions of a module, and single ops, on arrays from outside: inputs are checked, results are arrays of the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.dialects.kernel.memory import value_type
from wengert.dialects.stablehlo.attributes import FutureType, TokenType
from wengert.dialects.stablehlo.leaves import all_leaves
from wengert.ir.construction import copy_module
from wengert.ir.tensor_types import DYNAMIC, bytes_of_type, dtype_of, shape_of_type
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine
from wengert.runtime.interpreter.rules import Array, RegionFunction
from wengert.runtime.memory import excess
from wengert.transforms.core.inline import call_depth, inline


def _check_input(name: str, number: int, value: Any, expected: Attribute) -> Any:
    """The argument as an array of the expected type, else an InputError."""
    array = np.asarray(value)
    if not isinstance(expected, TensorType):
        raise InputError(f"@{name}: argument {number} has type {expected}, which cannot be passed from outside")
    expected = cast("TensorType[Any]", expected)
    wanted, dtype = shape_of_type(expected), dtype_of(expected.element_type)
    fits = len(wanted) == array.ndim and all(w in (DYNAMIC, n) for w, n in zip(wanted, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        given = f"{array.dtype} of shape {array.shape}"
        raise InputError(f"@{name}: argument {number} must be {expected} ({dtype} of shape {wanted}), found {given}")
    return array[()]


_DEEPEST = 50
"""A function of the module runs inside of its caller, and Python has room for some hundred calls around each other."""


def _shallow(module: ModuleOp) -> ModuleOp:
    """The module, or one without calls where calls may nest too deeply to be run as they are written."""
    if sum(isinstance(op, func.FuncOp) for op in module.ops) <= _DEEPEST or call_depth(module) <= _DEEPEST:
        return module
    flat = copy_module(module)
    inline(flat)
    return flat


def run(module: ModuleOp, inputs: Sequence[Any], *, entry: str = "main", counter: Counter | None = None) -> list[Array]:
    """Executes a function of the module.

    Args:
        module: a verified module of StableHLO, CHLO, core and func ops.
        inputs: one array per argument of the entry function, of its exact shape and dtype; a tuple is passed as the tensors in it, a token is not passed.
        entry: the function to execute.
        counter: if given, counts what is executed; runs add up.

    Returns:
        One new array per result.

    Raises:
        InputError: the inputs do not fit, or there is no such function.
        UnsupportedOpError: an op that the interpreter refuses, with its name and place.
        ExecutionError: the program broke an assertion of its own.
    """
    return Prepared(module, entry=entry, counter=counter)(inputs)


class Prepared:
    """A function of a module that is run many times: what is looked up in its ops is looked up in the first run."""

    def __init__(self, module: ModuleOp, *, entry: str = "main", counter: Counter | None = None):
        """Raises what :func:`run` raises of the function's type."""
        self._machine, self._entry, self._counter = Machine(_shallow(module), counter), entry, counter
        definition = self._machine.definition(entry)
        if definition is None:
            known = ", ".join(f"@{name}" for name in self._machine.names()) or "none"
            raise InputError(f"there is no function @{entry} in this module (functions: {known})")
        self._definition = definition
        self._on_buffers = is_bufferized(definition)
        for number, type in enumerate(() if self._on_buffers else all_leaves(definition.function_type.outputs.data)):
            if not isinstance(type, TensorType):
                raise InputError(f"@{entry}: result {number} has type {type}, which cannot be passed outside")
            if DYNAMIC not in type.get_shape() and (missing := excess(bytes_of_type(cast("TensorType[Any]", type)))):
                raise InputError(f"@{entry}: result {number} of type {type} needs {missing}")

    def __call__(self, inputs: Sequence[Any]) -> list[Array]:
        """One new array per result. Random numbers go on where the last run ended."""
        entry, counter, definition = self._entry, self._counter, self._definition
        if self._on_buffers:
            return _run_on_buffers(self._machine.function(entry, counting=counter is not None), definition, inputs)
        types = definition.function_type.inputs.data
        expected = all_leaves(types)
        if len(inputs) != len(expected):
            raise InputError(f"@{entry} takes {len(expected)} arguments, found {len(inputs)}")
        arrays = [_check_input(entry, i, x, type) for i, (x, type) in enumerate(zip(inputs, expected, strict=True))]
        holders = (counter,) if counter else ()
        with np.errstate(all="ignore"):
            for holder in holders:
                holder.hold_all(arrays)  # the caller holds the inputs throughout
            left = iter(arrays)
            results = self._machine.function(entry, counting=counter is not None)(*[_nested(type, left) for type in types])
            for holder in holders:
                holder.drop_all(arrays)
        return [np.array(r) for r in _tensors(results)]


def _run_on_buffers(function: RegionFunction, definition: func.FuncOp, inputs: Sequence[Any]) -> list[Array]:
    """Runs a function on buffers: the arrays that it writes to those of its results."""
    from wengert.runtime.interpreter.ops.buffers import fresh, split_arguments

    name, (taken, given) = definition.sym_name.data, split_arguments(definition)
    if len(inputs) != len(taken):
        raise InputError(f"@{name} takes {len(taken)} arguments, found {len(inputs)}")
    arrays = [_read_only(_check_input(name, i, x, value_type(type))) for i, (x, type) in enumerate(zip(inputs, taken, strict=True))]
    results = [fresh(type) for type in given]
    with np.errstate(all="ignore"):
        function(*arrays, *results)
    return results


def _read_only(value: Any) -> Array:
    """The elements in one piece of memory, which the program cannot write to."""
    array = np.asarray(value, order="C").view()
    array.flags.writeable = False
    return array


def _nested(type: Attribute, left: Iterator[Any]) -> Any:
    """The next arrays as a value of this type: an array, a Python tuple of such values (so is a future), or the empty one for a token."""
    if isinstance(type, TupleType | FutureType):
        return tuple(_nested(part, left) for part in type.types)
    return () if isinstance(type, TokenType) else next(left)


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays that values hold, in order."""
    for value in values:
        if isinstance(value, tuple):
            yield from _tensors(cast("tuple[Any, ...]", value))
        else:
            yield value


def prepare(op: Operation, captured: Sequence[SSAValue] = ()) -> Callable[..., tuple[Array, ...]]:
    """One op as a function of its operands, followed by the values of an enclosing block that its regions use.

    Callees are looked up in the module that the op stands in, if it stands in one.
    """
    root: Operation = op
    while (parent := root.parent_op()) is not None:
        root = parent
    frame = Frame(Machine(root), None)
    outer = [frame.slot(v) for v in captured]
    function, count, single = frame.function(op), len(op.operands), len(op.results) == 1

    def call(*values: Any) -> tuple[Array, ...]:
        for slot, value in zip(outer, values[count:], strict=True):
            frame.values[slot] = value
        with np.errstate(all="ignore"):
            results = function(*values[:count])
        return (np.asarray(results),) if single else tuple(np.asarray(f) for f in results)

    return call


def evaluate(op: Operation, operands: Sequence[Any], *, captured: Mapping[SSAValue, Any] | None = None) -> tuple[Array, ...]:
    """The results of one op on these operands; ``captured`` gives the values of enclosing blocks that its regions use."""
    outer = captured or {}
    return prepare(op, list(outer))(*[np.asarray(x)[()] for x in operands], *[np.asarray(x)[()] for x in outer.values()])
