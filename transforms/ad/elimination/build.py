"""The linearised graph of a body: a vertex for each linear value, an edge for each operand of a linear op.

An op with several operands or results that are moved by regions (loops, branches), and ops in complex numbers, are one map between two vertices of
their own, into which their operands are packed and of which their results are parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from wengert.ir.location.locations import Role, with_role
from wengert.ir.tensor_types import element, is_complex, is_differentiable, shape, size, tensor
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.elimination.blocks import Block, Emission
from wengert.transforms.ad.elimination.body import LinearBody
from wengert.transforms.ad.elimination.graph import Graph, graph_of
from wengert.transforms.ad.elimination.loops import reduced_loop
from wengert.transforms.ad.elimination.maps import LinearMap, PlaceMap, map_of_operand, map_of_ops
from wengert.transforms.ad.elimination.partials import partial_of
from wengert.transforms.ad.elimination.structure import identity
from wengert.transforms.ad.elimination.weight import Factors, Map
from wengert.transforms.ad.elimination.work import work_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.optimize.folding import MOVEMENT

Chain = tuple[Block, ...]


class Linearised(Struct):
    """A graph with values, and what its vertices are.

    Attributes:
        graph: the graph.
        shapes: the shapes of its vertices.
        places: the locations of what is computed where a vertex is eliminated.
        sources: the vertex of each tangent; None for one without elements.
        sinks: the vertex of each result; None for one that is zero.
        maps: those of the graph, which are to be closed.
        local: the vertices that are made within the rule of an op.
        firsts: where vertices are single elements, the first one of each value.
        whole: there, the shapes of the values.
    """

    graph: Graph[Chain]
    shapes: dict[int, tuple[int, ...]]
    places: dict[int, LocationAttr]
    sources: list[int | None]
    sinks: list[int | None]
    maps: list[LinearMap]
    local: list[int]
    firsts: dict[int, int] | None = None
    whole: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])


class Builder:
    """Collects vertices and edges."""

    def __init__(self, body: LinearBody, module: ModuleOp, *, written: bool = False, directions: int = 0):
        self.body = body
        self.directions = directions
        self.written = written
        self.module = module
        self.emission = Emission(body.b)
        self.edges: dict[tuple[int, int], Chain | None] = {}
        self.vertices: dict[SSAValue, int] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.places: dict[int, LocationAttr] = {}
        self.maps: list[LinearMap] = []
        self.linear: set[SSAValue] = {x for x in body.tangents if x is not None}
        for op in body.ops:
            self.linear.update(op.results)

    def vertex(self, shape: tuple[int, ...], place: LocationAttr, value: SSAValue | None = None) -> int:
        """A new vertex."""
        number = len(self.shapes)
        self.shapes[number], self.places[number] = shape, with_role(place, Role.ACCUMULATION)
        if value is not None:
            self.vertices[value] = number
        return number

    def edge(self, u: int, v: int, block: Block) -> None:
        """Adds an edge, to the one that is there."""
        weight: Chain | None = (block,)
        before = self.edges.get((u, v))
        if before is not None:
            weight = Factors(self.emission).total(before, weight)
        self.edges[u, v] = weight

    def map(self, u: int, v: int, map: LinearMap, work: int = 0, fixed: int = 0) -> None:
        """Adds an edge that is a map."""
        part = Map(len(self.maps), map.out_shape, map.into_shape, work, fixed)
        self.maps.append(map)
        self.edge(u, v, Block(part, map.out_element, map.into_element, None, map))

    def op(self, op: Operation) -> None:
        """Adds the result of an op with one result, and its edges."""
        v = self.vertex(shape(op.results[0]), op.location, op.results[0])
        for n, x in enumerate(op.operands):
            if x not in self.linear:
                continue
            with self.body.b.at(with_role(op.location, Role.COEFFICIENT)):
                block = partial_of(self.body.b, op, n)
            if block is not None:
                self.edge(self.vertices[x], v, self._as_number(block) if self.written and type(op) not in MOVEMENT else block)
            else:
                self.map(self.vertices[x], v, map_of_operand(self.module, op, n, self.linear), work_of([op], self.linear))

    def _as_number(self, block: Block) -> Block:
        """A block of ones, minus ones or any other number as one of numbers that are not known beforehand: what the literature counts."""
        part = block.block
        if part.kind == "value":
            return block
        every = tuple(range(len(part.extents)))
        value = self.body.b.full(part.scale, tensor(part.extents, block.out_element))
        return Block(replace(part, depends=every, kind="value", scale=1.0), block.out_element, block.into_element, value)

    def group(self, ops: Sequence[Operation]) -> None:
        """Adds ops that are one map, from all that they take to all that others take of them."""
        inside = {y for op in ops for y in op.results}
        inputs = list(dict.fromkeys(x for op in ops for x in operands_of(op) if x in self.linear and x not in inside))
        outputs = [y for y in inside if self._is_used(y, set(ops)) and is_differentiable(y.type) and size(y)]
        for x in (*inputs, *outputs):
            if not isinstance(x.type, TensorType) or is_complex(element(x)):
                raise refuse(ops[0], "cannot be eliminated: it takes or gives a tangent that is no real tensor")
        if not outputs:
            return
        outputs.sort(key=lambda y: [y in op.results for op in ops].index(True) * 1000 + y.index)  # pyright: ignore[reportAttributeAccessIssue]
        (map, work, fixed), place = self._mapped(ops, inputs, outputs), ops[-1].location
        single_in, single_out = len(inputs) == 1, len(outputs) == 1
        u = self.vertices[inputs[0]] if single_in else self.vertex(map.into_shape, place)
        start = 0
        for x in () if single_in else inputs:
            self.map(self.vertices[x], u, PlaceMap(shape(x), element(x), start, map.into_shape[0], map.into_element))
            start += size(x)
        v = self.vertex(map.out_shape, place, outputs[0] if single_out else None)
        self.map(u, v, map, work, fixed)
        start = 0
        for y in () if single_out else outputs:
            w = self.vertex(shape(y), place, y)
            self.map(v, w, PlaceMap(shape(y), element(y), start, map.out_shape[0], map.out_element, take=True))
            start += size(y)

    def _mapped(self, ops: Sequence[Operation], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> tuple[LinearMap, int, int]:
        """Ops as one map, with its multiplications for one direction and for all; a loop after elimination in its body, where that is worth it."""
        reduced = reduced_loop(ops[0], self.linear, self.directions) if len(ops) == 1 and self.directions else None
        if reduced is None:
            return map_of_ops(self.module, ops, inputs, outputs), work_of(ops, self.linear), 0
        names: dict[SSAValue, SSAValue] = dict(zip(ops[0].results, reduced.loop.results, strict=True))
        map = map_of_ops(self.module, [reduced.loop], inputs, [names[y] for y in outputs])
        reduced.loop.drop_all_references()
        return map, reduced.work, reduced.fixed

    def _is_used(self, value: SSAValue, inside: set[Operation]) -> bool:
        return value in self.body.results or any(use.operation not in inside and use.operation in self._ops for use in value.uses)

    @property
    def _ops(self) -> set[Operation]:
        return set(self.body.ops)


def collected(body: LinearBody, module: ModuleOp, *, written: bool = False, directions: int = 0) -> Builder:
    """The vertices and edges of a body. Raises DiagnosticError for tangents that are complex at its ends.

    ``written`` is for counts as in the literature: the derivative of a sum is a number like any other, and only ops that move elements have blocks of ones.
    Within loops something is eliminated where it is worth it for so many ``directions``; nothing for 0.
    """
    builder = Builder(body, module, written=written, directions=directions)
    for x in body.tangents:
        if x is not None:
            builder.vertex(shape(x), body.b.location, x)
    for ops in _grouped(body.ops, builder.linear):
        if len(ops) == 1 and _is_simple(ops[0]):
            builder.op(ops[0])
        else:
            builder.group(ops)
    return builder


def linearised(body: LinearBody, module: ModuleOp, *, written: bool = False, directions: int = 0) -> Linearised:
    """The graph of a body; the options are those of :func:`collected`. Raises DiagnosticError for tangents that are complex at its ends."""
    builder = collected(body, module, written=written, directions=directions)
    sources = [None if x is None else builder.vertices[x] for x in body.tangents]
    sinks: list[int | None] = []
    for y in body.results:
        sink = None
        if y is not None and y in builder.vertices:
            sink = builder.vertex(shape(y), builder.places[builder.vertices[y]] if y in builder.vertices else body.b.location)
            builder.edge(builder.vertices[y], sink, Block(identity(shape(y)), element(y), element(y)))
        sinks.append(sink)
    edges = [(u, v, weight) for (u, v), weight in builder.edges.items() if weight is not None]
    graph = graph_of([v for v in sources if v is not None], [v for v in sinks if v is not None], edges)
    local = [v for value, v in builder.vertices.items() if value not in body.primal]
    return _without_copies(Linearised(graph, builder.shapes, builder.places, sources, sinks, builder.maps, local))


def _without_copies(linear: Linearised) -> Linearised:
    """A value that is a result and nothing else is its own sink."""
    graph = linear.graph
    names: dict[int, int] = {}
    for sink in graph.sinks:
        before = list(graph.predecessors[sink])
        if len(before) == 1 and len(graph.successors[before[0]]) == 1 and before[0] not in graph.sources:
            names[sink] = before[0]
    sinks = [names.get(v, v) for v in graph.sinks]
    edges = [(u, v, weight) for u, behind in graph.successors.items() for v, weight in behind.items() if v not in names]
    return replace(linear, graph=graph_of(graph.sources, sinks, edges), sinks=[None if v is None else names.get(v, v) for v in linear.sinks])


def _is_simple(op: Operation) -> bool:
    return not op.regions and len(op.results) == 1 and not any(_is_complex(x) for x in (*op.operands, *op.results)) and "callee" not in op.properties


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_complex(element(value))


def _grouped(ops: Sequence[Operation], linear: set[SSAValue]) -> Iterator[Sequence[Operation]]:
    """The ops one by one, in an order in which they can be taken; those in complex numbers, and what lies between them, are one group."""
    complex_ops = {op for op in ops if any(_is_complex(x) and x in linear for x in (*op.operands, *op.results))}
    if not complex_ops:
        yield from ([op] for op in ops)
        return
    behind = _closure(ops, complex_ops)
    before = _closure([*reversed(ops)], complex_ops, backward=True)
    inside = behind & before
    yield from ([op] for op in ops if op not in behind)
    yield [op for op in ops if op in inside]
    yield from ([op] for op in ops if op in behind and op not in inside)


def _closure(ops: Sequence[Operation], starts: set[Operation], *, backward: bool = False) -> set[Operation]:
    """The ops that depend on some, themselves included; or those that these depend on."""
    reached: set[Operation] = set()
    values: set[SSAValue] = set()
    for op in ops:
        taken, given = (op.results, operands_of(op)) if backward else (operands_of(op), op.results)
        if op in starts or not values.isdisjoint(taken):
            reached.add(op)
            values.update(given)
    return reached
