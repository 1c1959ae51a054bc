"""The body that is eliminated in: a function and the linear ops of its derivative, in one block.

This is linearization before its two halves are taken apart (:mod:`wengert.transforms.ad.linear.linearize`): coefficients are values of the block, and so
nothing has to be carried from one function to another. Equal ops are one op, unless the program is wanted as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.builtin import FunctionType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.builder import Key, Properties
from wengert.ir.construction import add_argument, append, detach, erase, erase_arguments, rename_operands
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import size, type_of
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.function import begin_function, detach_body, place_primals, place_tangents, pop_return
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.plan import prune
from wengert.transforms.ad.residuals.policies import AUTO, Policy
from wengert.transforms.ad.rewrites.guards import expand_guards
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks

NAME = "eliminate"


class LinearBody(Struct):
    """A block with the ops of a function, then those of its derivative.

    Attributes:
        b: a builder that appends to the block, and shares the ops that are no linear ones.
        tangents: the tangents of the arguments in ``wrt``, arguments of the block; None for one without elements.
        ops: the linear ops, in order.
        results: the tangents of the results in ``of``; None where they are zero.
        primal: the linear values that are tangents of values of the program; the others are made within the rule of an op.
    """

    b: OpBuilder
    tangents: list[SSAValue | None]
    ops: list[Operation]
    results: list[SSAValue | None]
    primal: set[SSAValue]

    def finish(self) -> Block:
        """Takes the linear ops and the tangents out of the block, which nothing uses any more; returns the block."""
        for op in reversed(self.ops):
            erase(op)
        block = self.b.block
        erase_arguments(block, block.args[len(block.args) - len(self.tangents) :])
        return block


class _Unshared(OpBuilder):
    """A builder that makes every op that it is asked for."""

    def _find(self, key: Key, results: Sequence[Attribute], properties: Properties) -> Operation | None:
        return None


class _UnsharedLinear(LinearBuilder):
    def _find(self, key: Key, results: Sequence[Attribute], properties: Properties) -> Operation | None:
        return None


class _AsWritten(ForwardSweep):
    """A sweep that gives every value a tangent of its own, also where that is the tangent of an operand: x + 1 is another vertex than x."""

    def _step(self, op: Operation) -> None:
        super()._step(op)
        taken = [x_dot for x in operands_of(op) if (x_dot := self.tangents.get(x)) is not None]
        for result in op.results:
            x_dot = self.tangents.get(result)
            if x_dot is not None and any(x_dot is other for other in taken) and isinstance(x_dot.type, TensorType):
                self.tangents[result] = self.lb.one(hlo.ConvertOp, (x_dot,), type_of(x_dot))


def linear_body(request: Request, *, shared: bool = True) -> LinearBody:
    """The function of a request and the linear ops of its derivative. Raises DiagnosticError for what cannot be differentiated, by name and place.

    Args:
        request: a function of a prepared module.
        shared: whether equal ops of the function are one op; otherwise every op is one of its own.
    """
    sweep = swept(request, shared=shared)
    tangents = [sweep.tangent(request.results[j]) for j in request.of]
    y_dots = [y_dot if y_dot is not None and y_dot in sweep.lb.linear and size(y_dot) else None for y_dot in tangents]
    primal = {x_dot for x_dot in sweep.tangents.values() if x_dot is not None}
    return _joined(request.function, sweep.b.block, sweep.lb.block, y_dots, primal)


def swept(request: Request, *, shared: bool, pass_name: str = NAME, policy: Policy = AUTO) -> ForwardSweep:
    """A forward sweep over the function of a request, with linear ops in a block of their own, whose arguments are the tangents of ``wrt``."""
    expand_guards(request.module)
    function = request.function
    block = Block(arg_types=[x.type for x in request.block.args])
    linear = Block(arg_types=[request.block.args[i].type for i in request.wrt])
    b = begin_function(block, function, pass_name) if shared else _unshared(block, function, pass_name)
    place_primals(function, block.args)
    place_tangents(function, request.wrt, linear.args, pass_name)
    if shared:
        sweep = ForwardSweep(b, LinearBuilder(linear, b, linear.args), request.module, policy)
    else:
        sweep = _AsWritten(b, _UnsharedLinear(linear, b, linear.args), request.module, policy)
    by_position = {i: x_dot for i, x_dot in zip(request.wrt, linear.args, strict=True) if size(x_dot)}
    sweep.bind(request.block.args, list(block.args), [by_position.get(i) for i in range(len(block.args))])
    sweep.run(request.ops)
    return sweep


def _unshared(block: Block, function: FuncOp, pass_name: str) -> OpBuilder:
    return _Unshared(block, location=rewritten(function.location, function.name, pass_name), pass_name=pass_name)


def _joined(function: FuncOp, block: Block, linear: Block, y_dots: list[SSAValue | None], primal: set[SSAValue]) -> LinearBody:
    """The linear ops behind those of the function, with stacks in place of tapes of known length."""
    ops = prune(linear, [y_dot for y_dot in y_dots if y_dot is not None])
    env: dict[SSAValue, SSAValue] = {old: add_argument(block, old.type) for old in linear.args}
    count = len(block.args) - len(linear.args)
    for op in ops:
        detach(op)
        rename_operands(op, env)
        append(block, op)
    append(block, ReturnOp.create(operands=[env.get(y, y) for y in y_dots if y is not None]))
    scratch = _function(block, function)
    tapes_to_stacks(scratch)
    body = detach_body(scratch)
    returned = iter(pop_return(body))
    results = [None if y is None else next(returned) for y in y_dots]
    tangents: list[SSAValue | None] = [x if size(x) else None for x in body.args[count:]]
    return _sorted(function, body, tangents, results, {env.get(x, x) for x in primal})


def _function(block: Block, origin: FuncOp) -> FuncOp:
    end = block.last_op
    assert end is not None
    types = FunctionType.from_lists([x.type for x in block.args], [y.type for y in end.operands])
    return FuncOp.create(properties={"sym_name": StringAttr("scratch"), "function_type": types}, regions=[Region([block])], location=origin.location)


def _sorted(function: FuncOp, block: Block, tangents: list[SSAValue | None], results: list[SSAValue | None], primal: set[SSAValue]) -> LinearBody:
    """Tells the linear ops from the others, which the builder shares from now on."""
    b = begin_function(block, function, NAME)
    linear: set[SSAValue] = {x for x in tangents if x is not None}
    ops: list[Operation] = []
    for op in ops_in(block):
        if linear.isdisjoint(operands_of(op)):
            b.remember(op)
        else:
            ops.append(op)
            linear.update(op.results)
    return LinearBody(b, tangents, ops, results, primal)
