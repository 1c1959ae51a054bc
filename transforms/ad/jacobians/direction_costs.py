"""Costs of each op of a function for one direction: its tangents in forward mode, its cotangents in reverse mode, and what reverse mode records for it.

The linear part of the function and its transpose are made, and the flops of their ops are counted for the op that they are derived from, which their locations
name. They are polynomials in the iterations that nobody knows, evaluated at :data:`ITERATIONS`. (A linear map and its transpose take the same multiplications
for a direction; what differs is additions where a value is used several times or broadcast, gathers against scatters, and what loops record. Coefficients
that are computed again rather than kept count like the rest, on both sides.)
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from wengert.ir.construction import copy_module
from wengert.ir.location.locations import at
from wengert.ir.location.places import origin
from wengert.transforms.ad.linear.linearize import linearize_function
from wengert.transforms.ad.linear.transpose import transpose_function
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named, make_request
from wengert.transforms.analysis.opcost import cost as cost_of
from wengert.transforms.analysis.opcost import is_executed
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

ITERATIONS = 1000
"""What a symbol stands for: the iterations of a loop that are not known."""
_FILE = "op of the function"


class DirectionCosts(Struct):
    """The costs of an op.

    Attributes:
        forward, reverse: flops for one direction.
        recorded: bytes that reverse mode writes and reads back, whatever the number of directions: the tapes of loops.
    """

    forward: float = 0.0
    reverse: float = 0.0
    recorded: float = 0.0


def direction_costs(request: Request) -> dict[Operation, DirectionCosts]:
    """The costs of the ops of a function at core level, which stays as it is. Raises DiagnosticError for an op without a derivative."""
    module = copy_module(request.module)
    fn = request.function.sym_name.data
    copy = make_request(function_named(module, fn), request.wrt, request.of)
    for number, op in enumerate(copy.ops):
        for inner in op.walk():
            inner.location = at(_FILE, number, 1)
    costs = [DirectionCosts() for _ in request.ops]
    forward, linear = linearize_function(copy, fresh_name(module, f"{fn}_forward"), fresh_name(module, f"{fn}_linear"))
    for function in (forward, linear):
        module.body.block.add_op(function)

    def tangents(op: Operation, cost: DirectionCosts, times: float) -> None:
        cost.forward += times * _flops(op)

    def cotangents(op: Operation, cost: DirectionCosts, times: float) -> None:
        cost.reverse += times * _flops(op)

    def records(op: Operation, cost: DirectionCosts, times: float) -> None:
        if op.name.startswith("core.tape"):
            cost.recorded += times * cost_of(op).bytes

    _attribute(module, forward, costs, records)
    _attribute(module, linear, costs, tangents)
    _attribute(module, linear, costs, records)
    arguments = linear.body.block.args
    moving = range(len(arguments) - len(copy.wrt), len(arguments))
    transposed = transpose_function(make_request(linear, moving, range(len(copy.of))), fresh_name(module, f"{fn}_transposed"))
    linear.detach()
    module.body.block.add_op(transposed)
    _attribute(module, transposed, costs, cotangents)
    return dict(zip(request.ops, costs, strict=True))


Count = Callable[[Operation, DirectionCosts, float], None]


def _attribute(module: ModuleOp, function: FuncOp, costs: list[DirectionCosts], count: Count) -> None:
    """Counts the ops of a derived function, each as often as it runs, for the op that it is derived from."""
    for block, times in executions(module, function.sym_name.data, STATIC, Unknowns()).blocks:
        often = _number(times)
        for op in block.ops:
            place = origin(op.location)
            if is_executed(op) and isinstance(place, FileLineColLoc) and place.filename.data == _FILE:
                count(op, costs[place.line.data], often)


def _flops(op: Operation) -> int:
    return cost_of(op).flops


def _number(times: Polynomial) -> float:
    value = times.at(dict.fromkeys(times.symbols, ITERATIONS))
    return float(value.constant or 0)
