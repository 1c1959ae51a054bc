"""The derivative of a piece of tape: what was recorded becomes a function, and the ``vjp`` pass reverses it.

The values that the tape kept come in as arguments (:mod:`wengert.transforms.ad.residuals.results_as_arguments`), so that nothing of the forward part is
computed again but what an op's own rule computes from its operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.ir import Operation as IROp

from wengert.dialects.ad import StopGradientOp
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.chlo import ConjOp
from wengert.dialects.stablehlo import ConstantOp
from wengert.eager.recording.places import Place, location
from wengert.eager.recording.program import Type, main_block, module_of
from wengert.ir.elements import to_numpy
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.stages import stage
from wengert.ir.tensor_types import dtype_of, is_complex, is_differentiable, shape_of_type
from wengert.transforms.ad.derive import vjp
from wengert.transforms.ad.requests.lower import inline_checkpoints
from wengert.transforms.ad.residuals.results_as_arguments import drop_arguments, results_to_arguments
from wengert.transforms.pipelines import OPTIMIZE, parse_pipeline

if TYPE_CHECKING:
    from wengert.eager.recording.operation import Operation


@dataclass(frozen=True)
class Step:
    """One operation: which values it takes and which it makes, by number."""

    operation: Operation
    params: Any
    operands: tuple[int, ...]
    results: tuple[int, ...]
    place: Place | None = None
    constant: bool = False
    """Whether it ran where nothing was recorded, so that no gradient flows through it."""


@dataclass(frozen=True)
class Segment:
    """A piece of tape to be reversed.

    Attributes:
        inputs: the types of the values that no step makes.
        steps: in the order in which they ran.
        roots: the values whose cotangents are given.
        wanted: the inputs whose cotangents are asked for.
        offered: the values that the tape kept.
        observed: for values that steps make and whose cotangents are asked for, the input that stands for a change of them.
    """

    inputs: Mapping[int, Type]
    steps: Sequence[Step]
    roots: Sequence[int]
    wanted: Sequence[int]
    offered: Sequence[int]
    observed: Mapping[int, int] = field(default_factory=dict[int, int])


class UnkeptValueError(Exception):
    """The derivative of a segment needs a value that was not kept."""


def write_steps(
    b: OpBuilder, steps: Sequence[Step], values: dict[int, Value], observed: Mapping[int, int] | None = None, unchanged: dict[int, Value] | None = None
) -> None:
    """Writes the ops of the steps; ``values`` gets what they make, those that are observed with their change added, and ``unchanged``
    these without it."""
    for step in steps:
        with b.at(location(step.place)):
            results = step.operation.emit(b, [values[i] for i in step.operands], step.params)
            if step.constant:
                results = [b.like(StopGradientOp, r) if is_differentiable(r.type) else r for r in results]
        for i, made in zip(step.results, results, strict=True):
            values[i] = made
            if observed and i in observed:
                values[i] = b.add(made, values[observed[i]])
                if unchanged is not None:
                    unchanged[i] = made


@cache
def _optimize() -> Pipeline:
    """The pipeline that every derivative goes through; parsing it takes longer than optimising a small one."""
    return parse_pipeline(OPTIMIZE)


@cache
def _inline() -> Pipeline:
    return parse_pipeline("inline,symbol-dce")


@stage()
def backward_module(segment: Segment) -> tuple[ModuleOp, tuple[int, ...]]:
    """The reverse of a segment, (kept values, cotangents of the roots) -> cotangents of the wanted inputs, and which values are kept.

    Raises:
        UnkeptValueError: a value is needed that was not offered.
    """
    inputs = list(segment.inputs)
    made = [i for i in segment.offered if i not in segment.inputs]
    twice = [i for i in made if i in segment.observed]  # with the change and without: uses of the value, and its own derivative
    same: dict[int, int] = {}
    """For inputs that steps hand on as they are (a clone, a view of the same shape), a value that was kept of them."""

    def body(b: OpBuilder, arguments: Sequence[Value]) -> list[Value]:
        values = dict(zip(inputs, arguments, strict=True))
        unchanged: dict[int, Value] = {}
        write_steps(b, segment.steps, values, segment.observed, unchanged)
        same.update((i, j) for j in reversed(made) for i in inputs if values[i] is values[j])
        return [*(values[i] for i in (*segment.roots, *made)), *(unchanged[i] for i in twice)]

    module = module_of(list(segment.inputs.values()), body)
    vjp(module, "main", [inputs.index(i) for i in segment.wanted], range(len(segment.roots)))
    inline_checkpoints(module)
    if len(module.body.block.ops) > 1:  # backward rules of custom functions
        _inline().run(module)
    function = cast(FuncOp, main_block(module).parent_op())
    count = len(inputs), len(segment.roots)
    _conjugate(function, range(count[0], sum(count)), len(segment.roots) + len(made) + len(twice))
    for i in segment.observed.values():  # the change is zero
        argument = function.body.block.args[inputs.index(i)]
        if argument.first_use is not None:
            argument.replace_all_uses_with(_zeros_in_front(function, argument.type))
    # The results are now: roots, made, twice, cotangents. Those that were made come in as arguments; the roots' are of no interest.
    results_to_arguments(function, range(count[1], count[1] + len(made) + len(twice)), range(count[1]))
    first = sum(count)
    for argument, i in zip(function.body.block.args[first + len(made) :], twice, strict=True):
        argument.replace_all_uses_with(function.body.block.args[first + made.index(i)])
    module = _optimize().applied(module)
    function = cast(FuncOp, main_block(module).parent_op())
    # Arguments: inputs, cotangents, made. They are put in order: kept values first.
    candidates = [*range(count[0]), *range(first, first + len(made) + len(twice))]
    numbers = [*inputs, *([-1] * count[1]), *made, *twice]
    used = [numbers[i] for i in drop_arguments(function, candidates)]
    _cotangents_last(function, sum(i in segment.inputs for i in used), count[1])
    kept = tuple(i if i in segment.offered else same.get(i, i) for i in used)
    if not set(kept) <= set(segment.offered):
        raise UnkeptValueError
    return module, kept


def optimized(module: ModuleOp, dropped: int) -> ModuleOp:
    """A derived module, optimised, without its first results."""
    inline_checkpoints(module)
    if len(module.body.block.ops) > 1:
        _inline().run(module)
    function = cast(FuncOp, main_block(module).parent_op())
    results_to_arguments(function, (), range(dropped))
    return _optimize().applied(module)


def _conjugate(function: FuncOp, cotangents: Sequence[int], first: int) -> None:
    """Conjugates complex cotangents on their way in, and complex results from this one on: gradients are PyTorch's then, which pair with tangents by the
    real part of the conjugate times the tangent."""
    block = function.body.block
    front = OpBuilder(Block())
    for i in cotangents:
        argument = block.args[i]
        if is_complex(cast("TensorType[Any]", argument.type).element_type) and argument.first_use is not None:
            uses = list(argument.uses)
            made = front.create(ConjOp, (argument,), [argument.type])[0]
            for use in uses:
                use.operation.operands[use.index] = made
    assert block.first_op is not None
    for op in list(front.block.ops):
        op.detach()
        block.insert_op_before(op, block.first_op)
    returned = block.last_op
    assert returned is not None
    for i, value in enumerate(list(returned.operands)):
        if i >= first and is_complex(cast("TensorType[Any]", value.type).element_type):
            back = OpBuilder(Block())
            made = back.create(ConjOp, (value,), [value.type])[0]
            for op in list(back.block.ops):
                op.detach()
                block.insert_op_before(op, returned)
            returned.operands[i] = made


def _zeros_in_front(function: FuncOp, type: Any) -> Value:
    """Zeros, before all ops of the function."""
    block = function.body.block
    value = OpBuilder(Block()).zeros(type)
    op = value.owner
    assert isinstance(op, IROp)
    op.detach()
    assert block.first_op is not None
    block.insert_op_before(op, block.first_op)
    return value


def _cotangents_last(function: FuncOp, before: int, count: int) -> None:
    """Moves ``count`` arguments that follow the first ``before`` to the end."""
    block = function.body.block
    old = list(block.args[before : before + count])
    for argument in old:
        argument.replace_all_uses_with(block.insert_arg(argument.type, len(block.args)))
    for argument in old:
        block.erase_arg(argument)
    drop_arguments(function, [])


def zero_results(module: ModuleOp) -> tuple[bool, ...]:
    """For every result of ``@main``, whether it is the constant zero."""
    returned = main_block(module).last_op
    assert returned is not None
    return tuple(isinstance(v.owner, ConstantOp) and not to_numpy(v.owner.value).any() for v in returned.operands)


def result_types(module: ModuleOp) -> tuple[Type, ...]:
    """The types of the results of ``@main``."""
    returned = main_block(module).last_op
    assert returned is not None
    types = [cast("TensorType[Any]", v.type) for v in returned.operands]
    return tuple((shape_of_type(t), dtype_of(t.element_type)) for t in types)
