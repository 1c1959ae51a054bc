"""Core's loops, branches and tapes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, type_of
from wengert.runtime.interpreter.rules import Binary, Function, Scope, Unary, evaluates, evaluates_in_scope, one_or_tuple
from wengert.runtime.tape_memory import out_of_memory, tape_limit


@evaluates_in_scope(core.ForOp)
def for_(op: core.ForOp, scope: Scope) -> Function:
    """Runs the body on the iteration, the constants and the carried values."""
    body, fixed = scope.loop_region(op.body), int_of(op.constants)

    def loop(count: Any, *inputs: Any) -> Any:
        constants, carried = inputs[:fixed], inputs[fixed:]
        for i in range(int(count)):
            # the body is to be the only one that refers to what is carried
            given, carried = [np.int64(i), *constants, *carried], ()
            carried = body(given)
        return one_or_tuple(op, carried)

    return loop


@evaluates_in_scope(core.WhileOp)
def while_(op: core.WhileOp, scope: Scope) -> Function:
    """Runs the body as long as the condition holds."""
    condition, body, fixed = scope.region(op.condition), scope.loop_region(op.body), int_of(op.constants)

    def loop(*inputs: Any) -> Any:
        constants, carried = inputs[:fixed], inputs[fixed:]
        while condition(*constants, *carried)[0]:
            given, carried = [*constants, *carried], ()
            carried = body(given)
        return one_or_tuple(op, carried)

    return loop


@evaluates_in_scope(core.CaseOp)
def case(op: core.CaseOp, scope: Scope) -> Function:
    """Runs the branch that the index picks; the last one where it is out of range."""
    branches = [scope.region(branch) for branch in op.branches]
    last = len(branches) - 1

    def branch(index: Any, *inputs: Any) -> Any:
        return one_or_tuple(op, branches[int(index) if 0 <= index <= last else last](*inputs))

    return branch


@evaluates(core.TapeCreateOp)
def tape_create(op: core.TapeCreateOp) -> Function:
    """A tape is a list; None stands for a value that was not set."""
    return Tape


@evaluates(core.TapePushOp)
def tape_push(op: core.TapePushOp) -> Function:
    """The list itself, one longer."""

    def push(tape: Any, value: Any) -> Any:
        tape.append(value)
        return tape

    return push


@evaluates(core.TapeExtendOp)
def tape_extend(op: core.TapeExtendOp) -> Function:
    """The list itself, longer by another."""

    def extend(tape: Any, other: Any) -> Any:
        tape.extend(other[i] for i in range(len(other)))
        return tape

    return extend


@evaluates(core.TapeSizeOp)
def tape_size(op: core.TapeSizeOp) -> Unary:
    """The list's length."""
    return lambda tape: np.int64(len(tape))


@evaluates(core.TapeReadOp)
def tape_read(op: core.TapeReadOp) -> Binary:
    """One element."""
    return lambda tape, index: tape[int(index)]


@evaluates(core.TapeGetOp)
def tape_get(op: core.TapeGetOp) -> Function:
    """One element, or zeros."""
    tensor_type = type_of(op.value)
    zeros = np.zeros(tensor_type.get_shape(), dtype_of(tensor_type.element_type))

    def get(tape: Any, index: Any) -> Any:
        value = tape[int(index)] if int(index) < len(tape) else None
        return zeros if value is None else value

    return get


@evaluates(core.TapeSetOp)
def tape_set(op: core.TapeSetOp) -> Function:
    """The list itself, with one element replaced."""

    def set_(tape: Any, index: Any, value: Any) -> Any:
        _grow(tape, int(index) + 1)
        tape[int(index)] = value
        return tape

    return set_


@evaluates(core.TapeAddOp)
def tape_add(op: core.TapeAddOp) -> Function:
    """The list itself, with one element larger."""

    def add(tape: Any, index: Any, value: Any) -> Any:
        _accumulate(tape, int(index), value)
        return tape

    return add


@evaluates(core.TapeSetFromOp)
def tape_set_from(op: core.TapeSetFromOp) -> Function:
    """The list itself, with elements replaced by another's."""

    def set_from(tape: Any, index: Any, other: Any) -> Any:
        _grow(tape, int(index) + len(other))
        for i in range(len(other)):
            tape[int(index) + i] = other[i]
        return tape

    return set_from


@evaluates(core.TapeAddFromOp)
def tape_add_from(op: core.TapeAddFromOp) -> Function:
    """The list itself, with another's elements added."""

    def add_from(tape: Any, index: Any, other: Any) -> Any:
        for i in range(len(other)):
            if other[i] is not None:
                _accumulate(tape, int(index) + i, other[i])
        return tape

    return add_from


@evaluates(core.TapeFromOp)
def tape_from(op: core.TapeFromOp) -> Binary:
    """A part of a list; a view, so that no tape is copied for each iteration that reads it."""
    return lambda tape, index: TapePart(tape, int(index))


def _grow(tape: Any, size: int) -> None:
    while len(tape) < size:
        tape.append(None)


def _accumulate(tape: Any, index: int, value: Any) -> None:
    _grow(tape, index + 1)
    before = tape[index]
    tape[index] = value if before is None else before + value


_STEP = 1 << 10
_OBJECT = 128
_COUNTING = threading.RLock()  # reentrant: the collector may run a destructor anywhere


class Tape(list[Any]):
    """A list that knows the bytes of what it holds, and how many values all tapes hold together.

    Raises MemoryError where they would take more than :func:`wengert.runtime.tape_memory.tape_limit`.
    """

    nbytes = 0
    living = 0
    """The bytes of all tapes, with what an array object takes beside its data; counted in steps of many values."""
    _counted = 0

    def append(self, value: Any) -> None:
        super().append(value)
        self.nbytes += getattr(value, "nbytes", 0)
        if len(self) % _STEP == 0:
            now = self.nbytes + _OBJECT * len(self)
            self._count(now)
            if Tape.living > tape_limit():
                raise out_of_memory()

    def __del__(self) -> None:
        if self._counted:
            self._count(0)

    def _count(self, now: int) -> None:
        with _COUNTING:
            Tape.living += now - self._counted
            self._counted = now

    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.append(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.nbytes += getattr(value, "nbytes", 0) - getattr(self[index], "nbytes", 0)
        super().__setitem__(index, value)


class TapePart:
    """A tape seen from a position on."""

    def __init__(self, tape: Any, start: int):
        self.tape, self.start = tape, start

    def __getitem__(self, index: int) -> Any:
        return self.tape[self.start + index]

    def __len__(self) -> int:
        return max(0, len(self.tape) - self.start)
