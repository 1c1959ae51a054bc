"""The op that steps of a pipeline get wrong by itself: every op is made a program of its own, and taken through the steps at the values that reach it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import fields, is_dataclass, replace

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.pipeline.passes import Step
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.halves import halves_of
from wengert.lab.bisect.judgement import Point, judge, started
from wengert.lab.bisect.stages import Array, Stage, runnable
from wengert.lab.recorded_ops import Patience, ops_with_values


class WrongOp(Struct, frozen=True):
    """An op that is wrong alone.

    Attributes:
        op: the op, in the module that it is a part of.
        alone: the module that is this op.
        values: what it is given.
        fault: what is wrong.
    """

    op: Operation
    alone: ModuleOp
    values: tuple[Array, ...]
    fault: Fault


def find_op(module: ModuleOp, steps: Sequence[Step], point: Point, fault: Fault) -> tuple[WrongOp | None, int]:
    """The first op of a module that some steps get wrong when it is alone, in the same way if there is one; None if each is right. And how many ops of a long
    program there was no time for."""
    if halves_of(module) is not None:
        return None, 0
    whole = module if holds_kernels(module) else runnable(module)
    patience = Patience(whole)
    other: WrongOp | None = None
    for wrong in _wrong_ops(whole, steps, point, fault, patience):
        if fault.is_like(wrong.fault):
            return wrong, 0
        other = other or wrong
    return other, patience.left if other is None else 0


def _wrong_ops(module: ModuleOp, steps: Sequence[Step], point: Point, fault: Fault, patience: Patience) -> Generator[WrongOp]:
    """The ops that some steps get wrong when they are alone, as long as there is time."""
    alike = [_of_all(step) for step in steps]
    for op, alone, values in ops_with_values(module, point.inputs):
        if patience.ends():
            return
        observed = _fault_of(alone, values, alike, point.seed)
        if fault.may_come_of(observed):
            assert observed is not None
            yield WrongOp(op, alone, tuple(values), observed)


def _fault_of(module: ModuleOp, values: Sequence[Array], steps: Sequence[Step], seed: int) -> Fault | None:
    """What is wrong with the last of some steps on a module; None if nothing is, or another one is wrong before."""
    stage = Stage(module)
    point, _ = started(stage, values, seed)
    for number, step in enumerate(steps, 1):
        judged = judge(stage, step, point)
        if judged.fault is not None:
            return judged.fault if number == len(steps) else None
        assert judged.after is not None
        stage, point = judged.after, judged.point
    return None


def _of_all(step: Step) -> Step:
    """A derivative pass, of all arguments and results: those of one op are other ones than those of the program."""
    if not is_dataclass(step):
        return step
    return replace(step, **{field.name: None for field in fields(step) if field.name in ("wrt", "of")})
