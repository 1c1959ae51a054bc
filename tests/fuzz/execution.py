"""Whether what executes a program computes each op rightly: op by op, on the values that it computed itself.

Two right implementations of a program may end far apart, since it amplifies their rounding. But each op of the one, given what it was given there, is
within the rounding of that op. So before a difference is reported, all values of @main are made results: where the same difference is seen again and
every op is right on its own, it is no fault of any of them. Where the difference is gone then, since the kernels are others, only the operands of the op
that computes the wrong result are made results besides: they may be nearly right, and the op right on them, as an order of two numbers is that are equal but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Operation

import wengert as wg
from fuzz.case import interpreted, is_wide, lowered, noise_of
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import has_dtype
from wengert.lab.agreement.agreement import Mismatch, assert_agree, near
from wengert.lab.agreement.noise.disturbance import Disturbance
from wengert.lab.agreement.noise.frame import NoisyFrame
from wengert.lab.agreement.noise.machine import NoisyMachine
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine

Array = np.ndarray[Any, np.dtype[Any]]
Execute = Callable[[wg.Program, Sequence[Array]], Sequence[Array]]


class Amplified(Exception):
    """A difference that is no fault: every op is right, and the program amplifies its rounding."""


def compiled(program: wg.Program, inputs: Sequence[Array]) -> Sequence[Array]:
    """The results of compiled code."""
    return program.compile(opt="fast")(*inputs)


def assert_executes(what: str, execute: Execute, program: wg.Program, inputs: Sequence[Array], *, loose: float = 1.0, flushing: bool = False) -> None:
    """Results agree with the interpreter's, or a Mismatch says which do not; Amplified is raised where they need not. No executor has wide floats."""
    if is_wide():
        return
    given = execute(program, inputs)
    try:
        assert_agree(what, given, interpreted(program, inputs), noise_of(program, inputs, flushing=flushing), loose=loose)
    except Mismatch as mismatch:
        result = None if mismatch.place is None else mismatch.place[0]
        fault = wrong_op(execute, program, inputs, given, result=result, loose=loose, flushing=flushing)
        if fault is None:
            raise Amplified(f"{what}: each op is right, and the program amplifies what they are rounded by") from mismatch
        raise Mismatch(mismatch.what, f"{mismatch.details}; {fault}") from mismatch


def wrong_op(
    execute: Execute,
    program: wg.Program,
    inputs: Sequence[Array],
    given: Sequence[Array],
    *,
    result: int | None = None,
    loose: float = 1.0,
    flushing: bool = False,
) -> str | None:
    """Which op of @main is not right on what it was given, in a line; None if all are, and the results are the ones that were given. ``result`` is the
    number of the one that is wrong, if it is known."""
    module = lowered(program)
    watched = _watched(module)
    choices = [watched] if result is None else [watched, _above(module, result, watched)]
    for chosen in choices:
        fault = _wrong_among(execute, module, inputs, given, chosen, loose=loose, flushing=flushing)
        if fault != _NOT_SEEN:
            return fault
    return _NOT_SEEN


_NOT_SEEN = "not seen where all values are results"


def _wrong_among(
    execute: Execute, module: ModuleOp, inputs: Sequence[Array], given: Sequence[Array], watched: Sequence[Operation], *, loose: float, flushing: bool
) -> str | None:
    """Which of these ops is not right on what it was given, if their results are results of the program."""
    values = list(execute(wg.parse(print_module(_with_results(module, watched))), inputs))
    n = len(given)
    if not all(np.shape(a) == np.shape(b) and np.all(near(a, b)) for a, b in zip(values[:n], given, strict=True)):
        return _NOT_SEEN
    taken, at = dict[Operation, list[Array]](), n
    for op in watched:
        taken[op] = values[at : at + len(op.results)]
        at += len(op.results)
    following = _Following(module, taken)
    exact = _seen(following, inputs)

    @cache
    def noisy(seed: int) -> dict[Operation, list[Array]]:
        return _seen(_NoisyFollowing(module, taken, Disturbance(seed, 2.0, flushing=flushing)), inputs)

    for op in watched:
        results = [_defined(op, x, e) for x, e in zip(taken[op], exact[op], strict=True)]
        if flushing:
            results = [_kept_apart(x, e, following.record.operands[op]) for x, e in zip(results, exact[op], strict=True)]
        try:
            assert_agree(op.name, results, exact[op], lambda seed, op=op: noisy(seed)[op], loose=loose)
        except Mismatch as mismatch:
            return f"{mismatch.what}: {mismatch.details}"
    return None


def _defined(op: Operation, given: Array, expected: Array) -> Array:
    """What an op gave, where it has a value: a matrix without a Cholesky factor may have any, by the specification."""
    if op.name != "stablehlo.cholesky":
        return given
    without = np.isnan(expected).any(axis=(-2, -1), keepdims=True)
    return np.asarray(np.where(without, expected, given), given.dtype)


def _kept_apart(given: Array, expected: Array, operands: Sequence[Array]) -> Array:
    """What an op gave whose executor takes subnormal operands for zeros within it, which may end as zero by zero: where it takes any, this says nothing."""
    subnormal = [_is_subnormal(x) for x in operands]
    if not any(s.any() for s in subnormal):
        return given
    apart = np.logical_or.reduce(subnormal) if all(s.shape == given.shape for s in subnormal) else np.ones(given.shape, bool)
    return np.asarray(np.where(apart, expected, given), given.dtype)


def _is_subnormal(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.asarray(_is_subnormal(x.real) | _is_subnormal(x.imag))
    if x.dtype not in (np.float32, np.float64):
        return np.zeros(x.shape, bool)
    return np.asarray((x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny))


def _main(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")


def _watched(module: ModuleOp) -> list[Operation]:
    """The ops of @main that compute arrays."""
    return [
        op for op in _main(module).body.block.ops if op.results and all(_is_array(r.type) for r in op.results) and not op.name.endswith((".constant", ".iota"))
    ]


def _above(module: ModuleOp, result: int, watched: Sequence[Operation]) -> list[Operation]:
    """The op of @main that computes a result, behind those that compute its operands."""
    end = _main(module).body.block.last_op
    assert end is not None
    last = end.operands[result].owner
    chosen = {last, *(operand.owner for operand in last.operands)} if isinstance(last, Operation) else {last}
    return [op for op in watched if op in chosen]


def _is_array(type: Any) -> bool:
    return isinstance(type, TensorType) and has_dtype(type.element_type)


def _with_results(module: ModuleOp, watched: Sequence[Operation]) -> ModuleOp:
    """A copy of the module whose @main also returns the results of these ops."""
    copy = module.clone()
    twins = dict(zip(module.walk(), copy.walk(), strict=True))
    main = twins[_main(module)]
    assert isinstance(main, func.FuncOp)
    end = main.body.block.last_op
    assert end is not None
    results = [*end.operands, *(r for op in watched for r in twins[op].results)]
    end.operands = results
    main.function_type = FunctionType.from_lists(list(main.function_type.inputs), [r.type for r in results])
    main.res_attrs = None
    return copy


def _seen(machine: _Following | _NoisyFollowing, inputs: Sequence[Array]) -> dict[Operation, list[Array]]:
    with np.errstate(all="ignore"):
        machine.function("main", counting=False)(*[np.asarray(x)[()] for x in inputs])
    return machine.record.seen


@dataclass
class _Record:
    """What each op computes of what others computed elsewhere."""

    taken: dict[Operation, list[Array]]
    seen: dict[Operation, list[Array]] = field(default_factory=dict[Operation, list[Array]])
    operands: dict[Operation, list[Array]] = field(default_factory=dict[Operation, list[Array]])

    def following(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of an op that notes its results, and gives those that were computed elsewhere."""
        if op not in self.taken:
            return function
        values = [np.asarray(x)[()] for x in self.taken[op]]

        def followed(*operands: Any) -> Any:
            self.operands[op] = [np.array(x) for x in operands]
            results = function(*operands)
            self.seen[op] = [np.array(r) for r in (results if len(values) > 1 else (results,))]
            return tuple(values) if len(values) > 1 else values[0]

        return followed


class _Following(Machine):
    def __init__(self, module: ModuleOp, taken: dict[Operation, list[Array]]):
        super().__init__(module)
        self.record = _Record(taken)

    def frame(self, counter: Counter | None) -> Frame:
        return _FollowingFrame(self, counter)


class _FollowingFrame(Frame):
    machine: _Following

    def function(self, op: Operation) -> Callable[..., Any]:
        return self.machine.record.following(op, super().function(op))

    def update(self, op: Operation) -> Callable[..., Any] | None:
        return None


class _NoisyFollowing(NoisyMachine):
    def __init__(self, module: ModuleOp, taken: dict[Operation, list[Array]], noise: Disturbance):
        super().__init__(module, noise, {})
        self.record = _Record(taken)

    def frame(self, counter: Counter | None) -> Frame:
        return _NoisyFollowingFrame(self, counter)


class _NoisyFollowingFrame(NoisyFrame):
    machine: _NoisyFollowing

    def function(self, op: Operation) -> Callable[..., Any]:
        return self.machine.record.following(op, super().function(op))

    def update(self, op: Operation) -> Callable[..., Any] | None:
        return None
