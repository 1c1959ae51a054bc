"""The Hessian of a function of one number by edge pushing.

``(inputs) -> one array for each pair of arguments in wrt``, as ``jacfwd`` of ``jacrev`` gives them. For ``y = sin(a b)`` of numbers a and b::

    func @main(%a: tensor<f64>, %b: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
      %v = stablehlo.multiply %a, %b
      %d = stablehlo.cosine %v                     // y_bar = 1: the cotangent of v, which is the weight of the arc {a, b}
      %s = stablehlo.sine %v
      %w = stablehlo.negate %s                     // the arc {v, v}
      %wb = stablehlo.multiply %w, %b              // it is pushed: to {a, a} with b b, to {a, b} with a b, to {b, b} with a a
      %aa = stablehlo.multiply %wb, %b
      %t = stablehlo.multiply %wb, %a
      %ab = stablehlo.add %d, %t
      %wa = stablehlo.multiply %w, %a
      %bb = stablehlo.multiply %wa, %a
      return %aa, %ab, %ab, %bb
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from wengert.dialects.builder import Value
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, is_complex, shape, size, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.edge_pushing.arcs import Arcs, Pair, pushed
from wengert.transforms.ad.edge_pushing.gradient import gradient_with_pairs
from wengert.transforms.ad.edge_pushing.symmetric import Counts, SymmetricFactors, Values
from wengert.transforms.ad.elimination.blocks import Block
from wengert.transforms.ad.elimination.body import LinearBody, linear_body
from wengert.transforms.ad.elimination.build import Chain, Linearised, collected
from wengert.transforms.ad.elimination.graph import Graph, graph_of
from wengert.transforms.ad.elimination.jacobian import Granularity, is_small, put_in_place
from wengert.transforms.ad.elimination.plan import Wanted, planned
from wengert.transforms.ad.elimination.scalars import refined
from wengert.transforms.ad.elimination.weight import Costs, Part
from wengert.transforms.ad.requests.request import Request, function_named, make_request

B = TypeVar("B")


class Variables(Struct, frozen=True):
    """The vertices of the graph of a gradient by what they are.

    Attributes:
        cotangents: for each variable that has one the vertex of its cotangent.
    """

    cotangents: dict[int, int]


class Pushed(Struct, frozen=True):
    """The outcome of pushing: the variables, and the multiplications."""

    variables: int
    multiplications: int


def pushed_hessian(
    module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, granularity: Granularity = "auto"
) -> Pushed:
    """Replaces ``fn`` by its Hessian, in place. Raises DiagnosticError for what cannot be differentiated twice, by name and place, for complex numbers,
    and for results that are not one number."""
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    _check(request)
    gradient = gradient_with_pairs(request)
    body = linear_body(make_request(gradient, request.wrt, range(len(gradient.function_type.outputs))), shared=False)
    linear, variables = _graph(body, module)
    multiplications = _multiplications(linear, variables)
    if granularity == "scalars" or (granularity == "auto" and is_small(linear, Wanted())):
        elements, of_elements = _refined(linear, variables, body)
        fewer = _multiplications(elements, of_elements)
        if granularity == "scalars" or fewer < multiplications:
            linear, variables, multiplications = elements, of_elements, fewer
    arcs = _run(linear.graph, variables, SymmetricFactors(Values(body.b)), _same, lambda v: body.b.at(linear.places[v]))
    put_in_place(module, request, body, linear, _blocks(request, body, linear, arcs), [gradient])
    return Pushed(len(variables.cotangents), multiplications)


def _check(request: Request) -> None:
    function = request.function
    results = [request.results[j] for j in request.of]
    if sum(size(y) for y in results) != 1 or len(results) != 1:
        message = f"edge pushing is for a function of one number, and @{function.sym_name.data} has {sum(size(y) for y in results)}"
        raise error_at(function, message, hint="choose a result with of")
    for what, value in [*((f"argument {i}", request.block.args[i]) for i in request.wrt), *((f"result {j}", request.results[j]) for j in request.of)]:
        if is_complex(element(value)):
            raise error_at(function, f"edge pushing is for real numbers, and {what} of @{function.sym_name.data} is of type {value.type}")


# -- the graph


def _graph(body: LinearBody, module: ModuleOp) -> tuple[Linearised, Variables]:
    """The graph of the tangents of a gradient. Nothing leaves a cotangent: the edges between cotangents are those between variables, transposed."""
    builder = collected(body, module)
    ends = [(_vertex(builder.vertices, x), _vertex(builder.vertices, x_bar)) for x, x_bar in zip(body.results[::2], body.results[1::2], strict=True)]
    cotangents = {x: x_bar for x, x_bar in ends if x is not None and x_bar is not None}
    variables = {x for x, _ in ends if x is not None}
    sources = [None if x is None else builder.vertices[x] for x in body.tangents]
    behind = set(cotangents.values())
    edges = [(u, v, weight) for (u, v), weight in builder.edges.items() if weight is not None and u not in behind]
    own = [v for v in sources if v is not None]
    graph = graph_of(own, sorted((variables | behind) - set(own)), edges)
    linear = Linearised(graph, builder.shapes, builder.places, sources, [], builder.maps, [])
    return linear, Variables(cotangents)


def _vertex(vertices: dict[SSAValue, int], value: SSAValue | None) -> int | None:
    return None if value is None else vertices.get(value)


def _refined(linear: Linearised, variables: Variables, body: LinearBody) -> tuple[Linearised, Variables]:
    """The graph of elements."""
    elements = refined(linear, body.b)
    firsts = cast(dict[int, int], elements.firsts)
    pairs = {
        firsts[v] + k: firsts[v_bar] + k for v, v_bar in variables.cotangents.items() if v in firsts and v_bar in firsts for k in range(prod(linear.shapes[v]))
    }
    return replace(elements, sources=linear.sources), Variables(pairs)


def _multiplications(linear: Linearised, variables: Variables) -> int:
    """What pushing takes on a graph, as far as structures tell."""
    counting = Counts()
    graph = linear.graph.mapped(lambda weight: tuple(block.part for block in weight))
    _run(graph, variables, SymmetricFactors[Part](counting), lambda a, b: a == b, None)
    return counting.multiplications


def _run(
    graph: Graph[tuple[B, ...]],
    variables: Variables,
    factors: SymmetricFactors[B],
    same: Callable[[tuple[B, ...], tuple[B, ...]], bool],
    at: Callable[[int], AbstractContextManager[Any]] | None,
) -> Arcs[B]:
    """Eliminates what is made within the rules of ops, which leaves edges between variables and arcs, and pushes these."""
    costs = Costs()
    structures = graph.mapped(lambda weight: costs.number(tuple(factors.algebra.structure(factor) for factor in weight)))
    left = graph.copy()
    for step in planned(structures, costs, Wanted(writes=False)).steps:
        if at is None:
            left.eliminate(step.vertex, factors)
        else:
            with at(step.vertex):
                left.eliminate(step.vertex, factors)
    names = {v_bar: v for v, v_bar in variables.cotangents.items()}
    created: dict[Pair, tuple[B, ...]] = {}
    edges: dict[int, dict[int, tuple[B, ...]]] = {}
    for v, before in left.predecessors.items():
        if v in names:
            created.update({(names[v], p): weight for p, weight in before.items()})
        elif before:
            edges[v] = before
    return pushed(factors, created, edges, same) if at is None else pushed(factors, created, edges, same, at)


def _same(first: Chain, second: Chain) -> bool:
    """Whether two weights hold the same values."""
    if len(first) != len(second):
        return False
    return all(a.part == b.part and a.value is b.value for a, b in zip(first, second, strict=True))


# -- the result


def _blocks(request: Request, body: LinearBody, linear: Linearised, arcs: Arcs[Block]) -> list[Value]:
    """The blocks of the Hessian, by pairs of arguments, in the element type of the first, which is that of its gradient."""
    b, lead = body.b, shape(request.results[request.of[0]])
    made: list[Value] = []
    whole = _Matrix(linear, arcs, body) if linear.firsts is not None else _Tensors(linear, arcs, body)
    for i, u in zip(request.wrt, linear.sources, strict=True):
        type = element(request.block.args[i])
        for k, v in zip(request.wrt, linear.sources, strict=True):
            wanted = [*lead, *shape(request.block.args[i]), *shape(request.block.args[k])]
            value = None if u is None or v is None else whole.block(u, v)
            made.append(b.zeros(tensor(wanted, type)) if value is None else b.reshape(b.convert(value, type), wanted))
    return made


class _Tensors:
    """Blocks from arcs between values."""

    def __init__(self, linear: Linearised, arcs: Arcs[Block], body: LinearBody):
        self._arcs, self._emission, self._made = arcs, Values(body.b), dict[Pair, Value | None]()

    def block(self, u: int, v: int) -> Value | None:
        """The derivative of the cotangent of one argument by another."""
        if (u, v) not in self._made:
            self._made[u, v] = self._block(u, v)
        return self._made[u, v]

    def _block(self, u: int, v: int) -> Value | None:
        arcs, factors = self._arcs, self._arcs.factors
        weight = arcs.weights.get((max(u, v), min(u, v)))
        if weight is None:
            return None
        if u < v:
            other = self.block(v, u)
            assert other is not None
            rank = len(shape(other)) - len(factors.algebra.structure(weight[-1]).into_shape)
            return self._emission.b.transpose(other, [*range(rank, len(shape(other))), *range(rank)])
        if u == v and (u, u) not in arcs.symmetric:
            weight = factors.symmetric(weight)
        return None if weight is None else self._emission.full(factors.block(weight))


class _Matrix:
    """Blocks from arcs between elements."""

    def __init__(self, linear: Linearised, arcs: Arcs[Block], body: LinearBody):
        self._linear, self._arcs, self._b, self._emission = linear, arcs, body.b, Values(body.b)

    def block(self, u: int, v: int) -> Value | None:
        """A row of numbers; None where all are zero."""
        assert self._linear.firsts is not None
        rows, columns = ([self._linear.firsts[w] + k for k in range(prod(self._linear.whole[w]))] for w in (u, v))
        weights = [self._arcs.weights.get((max(r, c), min(r, c))) for r in rows for c in columns]
        if not any(weights):
            return None
        numbers = [None if weight is None else self._emission.full(self._arcs.factors.block(weight)) for weight in weights]
        type = next(element(number) for number in numbers if number is not None)
        zero = self._b.scalar(0, type)
        return self._b.concatenate([self._b.reshape(zero if number is None else self._b.convert(number, type), [1]) for number in numbers], 0)
