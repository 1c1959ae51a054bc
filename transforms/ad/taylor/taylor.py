"""Taylor mode as a function: the coefficients of a function's results along a path of its arguments.

``(inputs, directions of wrt) -> (outputs, coefficients of of)``: along ``x(t) = x + t v`` the result j has the coefficients ``y_1, ..., y_k`` of
``f(x(t)) = y_0 + y_1 t + ...``, as one tensor with the order in front; ``y_i`` is the i-th directional derivative over ``i!``. Instead of a direction
an argument may be given a whole path, its coefficients ``x_1, ..., x_k`` as one tensor (``series``): then paths can be composed, and differential
equations integrated.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, shape, shape_of_type, size, tensor
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_function, place_primals, place_tangents
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.rewrites.guards import expand_guards
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.taylor.series import Series, given
from wengert.transforms.ad.taylor.sweep import TaylorSweep

NAME = "taylor"


def taylor_function(request: Request, name: str, order: int, *, series: bool = False) -> FuncOp:
    """The function of Taylor coefficients up to an order, under a new name.

    Raises:
        DiagnosticError: the order is not positive; an op has no derivative rule.
    """
    if order < 1:
        raise error_at(request.function, f"taylor: the order must be at least 1, not {order}")
    expand_guards(request.module)
    old = request.block
    inputs = [argument.type for argument in old.args]
    moved = [_stacked(inputs[i], order) if series else inputs[i] for i in request.wrt]
    block = Block(arg_types=[*inputs, *moved])
    b = begin_function(block, request.function, NAME)
    primals, paths = block.args[: len(inputs)], block.args[len(inputs) :]
    place_primals(request.function, primals)
    place_tangents(request.function, request.wrt, paths, NAME)
    sweep = TaylorSweep(b, request.module, order)
    known: dict[SSAValue, Series] = {argument: Series(primal) for argument, primal in zip(old.args, primals, strict=True)}
    for i, path in zip(request.wrt, paths, strict=True):
        if size(primals[i]):
            coefficients: list[Tangent] = [_entry(b, path, j) for j in range(order)] if series else [path]
            known[old.args[i]] = given(primals[i], coefficients)
    sweep.run(request.ops, known)
    outputs = [known[value].primal for value in request.results]
    return finish_function(block, [*outputs, *(_stack(b, known[request.results[j]], order) for j in request.of)], name, request.function)


def _stacked(type: Attribute, order: int) -> TensorType[Any]:
    """The type of all coefficients of a value together."""
    static = cast("TensorType[Any]", type)
    return tensor([order, *shape_of_type(static)], static.element_type)


def _entry(b: OpBuilder, path: Value, j: int) -> Value:
    """One coefficient of a path."""
    extents = shape(path)
    part = b.slice(path, [j, *[0] * (len(extents) - 1)], [j + 1, *extents[1:]])
    return b.reshape(part, extents[1:])


def _stack(b: OpBuilder, x: Series, order: int) -> Value:
    """All coefficients of a value as one tensor."""
    extents = shape(x.primal)
    if not size(x.primal):
        return b.zeros(tensor([order, *extents], element(x.primal)))
    values = [materialized(b, x.at(j), x.primal.type) for j in range(1, order + 1)]
    return b.concatenate([b.reshape(value, [1, *extents]) for value in values], 0)
