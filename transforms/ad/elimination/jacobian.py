"""The Jacobian of a function by elimination on its linearised graph.

``(inputs) -> one array for each result in of and each argument in wrt``, results first, as ``jacfwd``. For ``y = sin(a b) / b`` of numbers a and b::

    func @main(%a: tensor<f64>, %b: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %0 = stablehlo.multiply %a, %b
      %1 = stablehlo.sine %0
      %2 = stablehlo.divide %1, %b
      %c = stablehlo.cosine %0                    // the edges: d(a b) is %b and %a, d sin is %c, d(s / b) is 1 / %b and -%2 / %b
      %r = stablehlo.divide %one, %b
      %p = stablehlo.multiply %r, %c              // the vertex sin is eliminated: one product
      %da = stablehlo.multiply %p, %b             // the vertex a b: two
      %t = stablehlo.multiply %p, %a
      %db = stablehlo.add %t, %direct
      return %da, %db
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.locations import error_at
from wengert.ir.tensor_types import element, is_complex, shape, shape_of_type, size, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.elimination.blocks import Emission
from wengert.transforms.ad.elimination.body import LinearBody, linear_body
from wengert.transforms.ad.elimination.build import Chain, Linearised, linearised
from wengert.transforms.ad.elimination.graph import Graph
from wengert.transforms.ad.elimination.orders import Elimination
from wengert.transforms.ad.elimination.plan import Wanted, counted_graph, planned
from wengert.transforms.ad.elimination.weight import Costs, Factors
from wengert.transforms.ad.function import finish_function
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named, make_request
from wengert.transforms.core.symbol_dce import symbol_dce


class Eliminated(Struct, frozen=True):
    """What was done: the graph's size, and the elimination."""

    vertices: int
    edges: int
    elimination: Elimination


def eliminated_jacobian(
    module: ModuleOp, wanted: Wanted, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None
) -> Eliminated:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    _check_real(request)
    body = linear_body(request)
    found = linearised(body, module)
    costs = Costs()
    counted = counted_graph(found.graph, costs)
    elimination = planned(counted, costs, wanted)
    blocks = _blocks(request, body, found, elimination)
    _replace(module, request, body, found, blocks)
    edges = sum(len(behind) for behind in counted.successors.values())
    return Eliminated(len(counted.inner), edges, elimination)


def _check_real(request: Request) -> None:
    for position, value in [*((i, request.block.args[i]) for i in request.wrt), *((j, request.results[j]) for j in request.of)]:
        if is_complex(element(value)):
            raise error_at(request.function.location, f"elimination is for real arguments and results, and number {position} is of type {value.type}")


def _blocks(request: Request, body: LinearBody, found: Linearised, elimination: Elimination) -> list[Value]:
    """The blocks of the Jacobian, after all steps are taken."""
    emission = Emission(body.b)
    factors = Factors(emission)
    graph = found.graph
    for step in elimination.steps:
        vertex = step.vertex if step.what == "vertex" else step.edge[step.what == "front"]
        with body.b.at(found.places[vertex]):
            if step.what == "vertex":
                graph.eliminate(vertex, factors)
            elif step.what == "front":
                graph.front(step.edge, factors)
            else:
                graph.back(step.edge, factors)
    return [
        _block(body.b, emission, factors, graph, (u, v), request.block.args[i], request.results[j])
        for j, v in zip(request.of, found.sinks, strict=True)
        for i, u in zip(request.wrt, found.sources, strict=True)
    ]


def _block(
    b: OpBuilder, emission: Emission, factors: Factors[Any], graph: Graph[Chain], ends: tuple[int | None, int | None], argument: SSAValue, result: SSAValue
) -> Value:
    """The block of one result and one argument."""
    u, v = ends
    weight = None if u is None or v is None else graph.successors[u].get(v)
    wanted = [*shape(result), *shape(argument)]
    if weight is None:
        return b.zeros(tensor(wanted, element(result)))
    return b.convert(emission.full(factors.block(weight)), element(result))


def _replace(module: ModuleOp, request: Request, body: LinearBody, found: Linearised, blocks: Sequence[Value]) -> None:
    """Puts the Jacobian in the function's place."""
    for map in found.maps:
        map.close()
    primal, name = request.function, request.function.sym_name.data
    for old, new in zip(request.block.args, body.b.block.args, strict=False):
        new.name_hint = old.name_hint
    function = finish_function(body.finish(), blocks, name, primal)
    function.arg_attrs = primal.arg_attrs
    module.body.block.insert_op_before(function, primal)
    primal.detach()
    primal.erase()
    symbol_dce(module)
