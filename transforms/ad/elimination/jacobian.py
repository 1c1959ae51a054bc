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
from math import prod
from typing import Literal

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import copy_module
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, is_complex, shape, size, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.elimination.blocks import Block, Emission
from wengert.transforms.ad.elimination.body import LinearBody, linear_body
from wengert.transforms.ad.elimination.build import Linearised, linearised
from wengert.transforms.ad.elimination.faces import Dual
from wengert.transforms.ad.elimination.graph import Counted, Graph
from wengert.transforms.ad.elimination.orders import Elimination, Step, take
from wengert.transforms.ad.elimination.plan import Wanted, counted_graph, planned
from wengert.transforms.ad.elimination.scalars import entries, refined
from wengert.transforms.ad.elimination.weight import Costs, Factors
from wengert.transforms.ad.function import finish_function
from wengert.transforms.ad.requests.request import Request, function_named, make_request
from wengert.transforms.core.symbol_dce import symbol_dce

Granularity = Literal["auto", "scalars", "tensors"]
Loops = Literal["auto", "keep"]
"""Whether something is eliminated within the bodies of loops: ``auto`` where it saves multiplications."""
SMALL, FEW_EDGES = 500, 1000
"""``auto`` looks at the graph of elements where there are no more than so many, and no more than so many edges between them."""
MOST_NUMBERS = 4000
"""More products of single numbers than this are not written out: each is an op, where a product of blocks is one, in vectors."""


class Eliminated(Struct, frozen=True):
    """The outcome of elimination: the graph's size, and the elimination."""

    vertices: int
    edges: int
    elimination: Elimination


def eliminated_jacobian(
    module: ModuleOp,
    wanted: Wanted,
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    granularity: Granularity = "auto",
    loops: Loops = "auto",
) -> Eliminated:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    _check_real(request)
    body = linear_body(request)
    linear, counted, elimination = _with_loops(body, module, wanted, granularity, loops)
    blocks = _blocks(request, body, linear, elimination)
    put_in_place(module, request, body, linear, blocks)
    edges = sum(len(behind) for behind in counted.successors.values())
    return Eliminated(len(counted.inner), edges, elimination)


def _with_loops(body: LinearBody, module: ModuleOp, wanted: Wanted, granularity: Granularity, loops: Loops) -> tuple[Linearised, Graph[int], Elimination]:
    """What is chosen with elimination in the bodies of loops, and without it: that which takes fewer multiplications."""
    kept = _chosen(linearised(body, module), body.b, wanted, granularity)
    if loops == "keep" or not any(isinstance(op, core.ForOp) for op in body.ops):
        return kept
    ends = [sum(size(x) for x in side if x is not None) for side in (body.tangents, body.results)]
    eliminated = _chosen(linearised(body, module, directions=max(1, min(ends))), body.b, wanted, granularity)
    better, other = (eliminated, kept) if eliminated[2].multiplications < kept[2].multiplications else (kept, eliminated)
    for map in other[0].maps:
        map.close()
    return better


def _chosen(linear: Linearised, b: OpBuilder, wanted: Wanted, granularity: Granularity) -> tuple[Linearised, Graph[int], Elimination]:
    """The graph of values or that of elements, and its elimination. ``auto`` takes elements where they are few and save multiplications, unless too many ops
    would be their products."""
    values = _with_plan(linear, wanted)
    if granularity == "tensors" or (granularity == "auto" and not (is_small(linear, wanted) and any(linear.shapes[v] for v in linear.graph.successors))):
        return values
    elements = _with_plan(refined(linear, b), wanted)
    count = elements[2].multiplications
    return elements if granularity == "scalars" or (count < values[2].multiplications and count <= MOST_NUMBERS) else values


def _with_plan(linear: Linearised, wanted: Wanted) -> tuple[Linearised, Graph[int], Elimination]:
    costs = Costs()
    counted = counted_graph(linear.graph, costs)
    return linear, counted, planned(counted, costs, wanted)


def is_small(linear: Linearised, wanted: Wanted) -> bool:
    """Whether the graph of elements has few vertices and edges."""
    graph = linear.graph
    if sum(prod(linear.shapes[v]) for v in graph.successors) > SMALL:
        return False
    return sum(entries(weight) for behind in graph.successors.values() for weight in behind.values()) <= (
        FEW_EDGES if wanted.method == "vertices" else FEW_EDGES // 4
    )


def program_graph(module: ModuleOp, costs: Costs, *, fn: str = "main", shared: bool = True, granularity: Granularity = "scalars") -> Graph[int]:
    """The linearised graph of a function, with weights by number, for counts: the module stays as it is.

    Without ``shared`` the graph is that of the program as it is written, equal ops being vertices of their own, and what is made within the rule of one op
    is no vertex: the graph of the literature. There the derivative of a sum is a number like any other, and what only moves elements (slices, reshapes,
    broadcasts, transpositions) costs nothing.
    """
    module = copy_module(module)
    prepare(module)
    body = linear_body(make_request(function_named(module, fn)), shared=shared)
    linear = linearised(body, module, written=not shared)
    if granularity == "scalars":
        linear = refined(linear, body.b)
    graph, counted = counted_graph(linear.graph, costs), Counted(costs)
    for v in () if shared else linear.local:
        if v in graph.successors and v not in graph.sources and v not in graph.sinks:
            graph.eliminate(v, counted)
    return graph


def _check_real(request: Request) -> None:
    values = [*((f"argument {i}", request.block.args[i]) for i in request.wrt), *((f"result {j}", request.results[j]) for j in request.of)]
    for what, value in values:
        if is_complex(element(value)):
            message = f"elimination is for real arguments and results, and {what} of @{request.function.sym_name.data} is of type {value.type}"
            raise error_at(request.function, message, hint="jacfwd and jacrev take holomorphic functions")


def _blocks(request: Request, body: LinearBody, linear: Linearised, elimination: Elimination) -> list[Value]:
    """The blocks of the Jacobian, after all steps are taken."""
    emission = Emission(body.b)
    factors = Factors(emission)
    _take_all(linear, elimination.steps, factors, body.b)
    ends = [
        (u, v, [*shape(request.results[j]), *shape(request.block.args[i])]) for j, v in of_results(request, linear) for i, u in of_arguments(request, linear)
    ]
    elements = [element(request.results[j]) for j in request.of for _ in request.wrt]
    assemble = _matrix if linear.firsts is not None else _block
    return [
        body.b.zeros(tensor(wanted, type)) if u is None or v is None else body.b.convert(assemble(linear, emission, factors, (u, v), wanted, type), type)
        for (u, v, wanted), type in zip(ends, elements, strict=True)
    ]


def _take_all(linear: Linearised, steps: Sequence[Step], factors: Factors[Block], b: OpBuilder) -> None:
    """Takes all steps, so that the graph has no inner vertices. Those of faces come last, on the dual."""
    graph = linear.graph
    faces = [step.edge for step in steps if step.what == "face"]
    for step in steps:
        vertex = step.vertex if step.what == "vertex" else step.edge[step.what != "back"]
        if step.what != "face":
            with b.at(linear.places[vertex]):
                take(graph, step, factors)
    if faces:
        dual = Dual(graph)
        for face in faces:
            with b.at(linear.places[dual.vertex(face)]):
                dual.eliminate(face, factors)
        linear.graph = dual.jacobian()


def of_arguments(request: Request, linear: Linearised) -> list[tuple[int, int | None]]:
    """The positions and vertices of the arguments."""
    return list(zip(request.wrt, linear.sources, strict=True))


def of_results(request: Request, linear: Linearised) -> list[tuple[int, int | None]]:
    """The positions and vertices of the results."""
    return list(zip(request.of, linear.sinks, strict=True))


def _block(linear: Linearised, emission: Emission, factors: Factors[Block], ends: tuple[int, int], wanted: Sequence[int], type: Attribute) -> Value:
    """The block of one result and one argument, from the edge that is left."""
    weight = linear.graph.successors[ends[0]].get(ends[1])
    return emission.b.zeros(tensor(wanted, type)) if weight is None else emission.full(factors.block(weight))


def _matrix(linear: Linearised, emission: Emission, factors: Factors[Block], ends: tuple[int, int], wanted: Sequence[int], type: Attribute) -> Value:
    """The same from edges between elements: rows of numbers, zeros where there is none."""
    b, (u, v) = emission.b, ends
    assert linear.firsts is not None
    columns, rows = prod(linear.whole[u]), prod(linear.whole[v])
    zero = b.scalar(0, type)
    numbers: list[Value] = []
    for row in range(rows):
        for column in range(columns):
            weight = linear.graph.successors[linear.firsts[u] + column].get(linear.firsts[v] + row)
            numbers.append(zero if weight is None else b.convert(emission.full(factors.block(weight)), type))
    if not wanted:
        return numbers[0]
    return b.reshape(b.concatenate([b.reshape(number, [1]) for number in numbers], 0), wanted)


def put_in_place(module: ModuleOp, request: Request, body: LinearBody, linear: Linearised, blocks: Sequence[Value], made: Sequence[FuncOp] = ()) -> None:
    """Puts a function with these results in the place of the one that is differentiated; functions that were made on the way go."""
    for map in linear.maps:
        map.close()
    primal, name = request.function, request.function.sym_name.data
    for old, new in zip(request.block.args, body.b.block.args, strict=False):
        new.name_hint = old.name_hint
    function = finish_function(body.finish(), blocks, name, primal)
    function.arg_attrs = primal.arg_attrs
    module.body.block.insert_op_before(function, primal)
    for old in (primal, *made):
        old.detach()
        old.erase()
    symbol_dce(module)
