"""Loops as blocks with an order of their own: elimination within the body of a linear loop.

The derivative of a counted loop is a linear loop: its body takes the tangents of what is carried, and of what is constant in it, to those of what is carried
next. It has a linearised graph like any other program. Eliminating a vertex of that graph makes coefficients, once for each iteration, and may leave
fewer multiplications for each direction that the loop is gone through with: where all vertices are eliminated, the body is one product with the local
Jacobian of an iteration. Eliminating all of them may also cost more than it saves, for Jacobians may have more elements than the graph has edges (A. Griewank,
O. Vogel, "Analysis and exploitation of Jacobian scarcity", Modeling, Simulation and Optimization of Complex Processes, 2005); so elimination goes on
as long as it is worth it: for d directions a body with N multiplications for each and E for the products takes d N + E in every iteration.

What an iteration does for ``s' = M tanh(W s)``, of 2 numbers over 40, before and after::

    %0 = stablehlo.dot_general %W, %s_dot        // 80            %J = stablehlo.dot_general %MD, %W        // 160, of coefficients only: once
    %1 = stablehlo.multiply %0, %d               // 40            %0 = stablehlo.dot_general %J, %s_dot     // 4, for each direction
    %2 = stablehlo.dot_general %M, %1            // 80            stablehlo.return %0
    stablehlo.return %2

Coefficients depend on the iteration and on what was recorded, never on tangents, so that the new loop is transposed and batched like the old one: whether
it is gone through forward or in reverse is for the order of the graph around it to say. Loops within loops come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append, copy_op, detach, erase, rename_operands
from wengert.ir.tensor_types import element, is_complex, rank, shape, type_of
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.ad.elimination.blocks import Block, Emission
from wengert.transforms.ad.elimination.graph import Counted, Graph
from wengert.transforms.ad.elimination.partials import partial_of
from wengert.transforms.ad.elimination.structure import Structure
from wengert.transforms.ad.elimination.weight import Costs, Factors
from wengert.transforms.ad.elimination.work import iterations_of, linear_values, work_of

Chain = tuple[Block, ...]
W = TypeVar("W")
MANY_OPS = 400
"""Bodies with more linear ops stay as they are: every step looks at every vertex."""


class Reduced(Struct, frozen=True):
    """A linear loop after elimination in its body.

    Attributes:
        loop: the loop, in no block; it has the operands of the one that it stands for.
        work: the multiplications for one direction, in all iterations.
        fixed: those for the coefficients.
    """

    loop: Operation
    work: int
    fixed: int


def reduced_loop(loop: Operation, linear: AbstractSet[SSAValue], directions: int) -> Reduced | None:
    """A counted loop with elimination in its body, as far as that is worth it for so many directions; None where it is not at all.

    Args:
        loop: a linear op of a body.
        linear: the linear values around it.
        directions: how many directions it is going to be applied to.
    """
    if not isinstance(loop, core.ForOp) or len(ops_in(loop.block)) > MANY_OPS:
        return None
    body = _Body(loop, linear_values(loop, linear), directions)
    steps = body.chosen(directions)
    if not steps and not body.inner:
        body.discard()
        return None
    fixed = body.eliminate(steps) + sum(inner.fixed for inner in body.inner)
    made = type(loop).create(
        operands=list(loop.operands),
        result_types=[y.type for y in loop.results],
        properties=loop.properties,
        attributes=loop.attributes,
        location=loop.location,
        regions=[Region([body.block])],
    )
    times = iterations_of(loop)
    return Reduced(made, body.work * times, fixed * times)


class _Body:
    """A copy of a loop's body, with its graph. Only vertices between blocks are in it: what a map or a loop takes or gives, and what the body returns, stays.

    Attributes:
        block: the copy, without its return.
        inner: what became of loops within.
        work: the multiplications for one direction, as the body is now.
    """

    def __init__(self, loop: core.ForOp, linear: AbstractSet[SSAValue], directions: int):
        old = loop.block
        self.block = IrBlock(arg_types=[x.type for x in old.args])
        self.inner: list[Reduced] = []
        env: dict[SSAValue, SSAValue] = dict(zip(old.args, self.block.args, strict=True))
        self._linear_ops: list[Operation] = []
        for op in ops_in(old)[:-1]:
            copy = self._copied(op, env, linear, directions)
            if not linear.isdisjoint(operands_of(op)):
                self._linear_ops.append(copy)
        end = old.last_op
        assert end is not None
        self._end = copy_op(end, env)
        self._linear = {env[x] for x in linear}
        self.b = OpBuilder(self.block, location=loop.location)
        for op in ops_in(self.block):
            if op not in self._linear_ops:
                self.b.remember(op)
        self._costs = Costs()
        self._build()
        self.work = self._rest + sum(self._applied(self._counted, u, v) for u in self._counted.successors for v in self._counted.successors[u])

    def _copied(self, op: Operation, env: dict[SSAValue, SSAValue], linear: AbstractSet[SSAValue], directions: int) -> Operation:
        inner = reduced_loop(op, linear, directions) if not linear.isdisjoint(operands_of(op)) else None
        copy = copy_op(op if inner is None else inner.loop, env)
        if inner is not None:
            self.inner.append(inner)
            inner.loop.drop_all_references()
            env.update(zip(op.results, copy.results, strict=True))
        append(self.block, copy)
        return copy

    def _build(self) -> None:
        """Vertices and edges: of an op that has blocks for all that is linear in it."""
        self._vertices: dict[SSAValue, int] = {}
        self._values: list[SSAValue] = []
        edges: list[tuple[int, int, Chain]] = []
        pinned: set[SSAValue] = set(self._end.operands)
        self._rest = 0
        for x in self.block.args:
            if x in self._linear:
                self._vertex(x)
        emission = Emission(self.b)
        factors = Factors(emission)
        for op in self._linear_ops:
            blocks = self._blocks(op)
            for y in op.results:
                self._vertex(y)
            if blocks is None:
                pinned.update((*operands_of(op), *op.results))
                self._rest += work_of([op], self._linear)
                continue
            into: dict[int, Chain] = {}
            for n, block in blocks:
                u = self._vertices[op.operands[n]]
                total = (block,) if u not in into else factors.total(into[u], (block,))
                if total is None:
                    del into[u]
                else:
                    into[u] = total
            edges += [(u, self._vertices[op.results[0]], weight) for u, weight in into.items()]
        self._chains = _graph(len(self._values), edges)
        self._counted = _graph(len(self._values), [(u, v, self._costs.number(tuple(block.part for block in weight))) for u, v, weight in edges])
        self._free = [v for v, x in enumerate(self._values) if x not in pinned and x not in self.block.args]

    def _vertex(self, value: SSAValue) -> None:
        self._vertices[value] = len(self._values)
        self._values.append(value)

    def _blocks(self, op: Operation) -> list[tuple[int, Block]] | None:
        """The blocks of an op by the positions of its linear operands; None if one of them has none."""
        if op.regions or len(op.results) != 1 or any(_is_complex(x) for x in (*op.operands, *op.results)):
            return None
        made: list[tuple[int, Block]] = []
        for n, x in enumerate(op.operands):
            if x in self._linear:
                with self.b.at(op.location):
                    block = partial_of(self.b, op, n)
                if block is None:
                    return None
                made.append((n, block))
        return made

    # -- what to eliminate

    def chosen(self, directions: int) -> list[int]:
        """The vertices to eliminate, in order: always that which saves most next, up to where all of it together saves most."""
        graph, counted = self._counted.copy(), Counted(self._costs)
        left, saved, best, end = set(self._free), 0, 0, 0
        order: list[int] = []
        while left:
            gains = {v: self._gain(graph, v, directions) for v in left}
            v = max(left, key=lambda v: (gains[v], -v))
            graph.eliminate(v, counted)
            left.remove(v)
            order.append(v)
            saved += gains[v]
            if saved > best:
                best, end = saved, len(order)
        return order[:end]

    def _gain(self, graph: Graph[int], v: int, directions: int) -> int:
        """The multiplications that eliminating a vertex saves."""
        before = sum(self._applied(graph, u, v) for u in graph.predecessors[v]) + sum(self._applied(graph, v, w) for w in graph.successors[v])
        made = after = 0
        for u, inner in graph.predecessors[v].items():
            for w, outer in graph.successors[v].items():
                number, count = self._costs.product(outer, inner)
                made += count
                if w in graph.successors[u]:
                    before += self._applied(graph, u, w)
                    number, count = self._costs.total(graph.successors[u][w], number)
                    made += count
                after += 0 if number < 0 else self._application(number, u)
        return directions * (before - after) - made

    def _applied(self, graph: Graph[int], u: int, v: int) -> int:
        return self._application(graph.successors[u][v], u)

    def _application(self, number: int, u: int) -> int:
        """The multiplications of an edge with a tangent of where it begins."""
        return self._costs.product(number, self._costs.number((_whole(self._values[u]),)))[1]

    # -- eliminating

    def eliminate(self, steps: Sequence[int]) -> int:
        """Eliminates these vertices, and writes the body again with what is left; the multiplications of coefficients."""
        emission = Emission(self.b)
        factors, counted = Factors(emission), Counted(self._costs)
        touched: set[int] = set()
        for v in steps:
            touched.update(self._chains.successors[v])
            with self.b.at(_location(self._values[v])):
                self._chains.eliminate(v, factors)
            self._counted.eliminate(v, counted)
        self.work = self._rest + sum(self._applied(self._counted, u, v) for u in self._counted.successors for v in self._counted.successors[u])
        self._write(emission, set(steps), touched)
        return counted.multiplications

    def _write(self, emission: Emission, gone: AbstractSet[int], touched: AbstractSet[int]) -> None:
        """The linear ops again, behind the coefficients: sums of edges where something was eliminated, and elsewhere the ops as they are."""
        env: dict[SSAValue, SSAValue] = {}
        dropped: list[Operation] = []
        for op in self._linear_ops:
            v = self._vertices[op.results[0]] if len(op.results) else -1
            if v in gone or v in touched:
                dropped.append(op)
                if v not in gone:
                    with self.b.at(op.location):
                        env[op.results[0]] = self._sum(emission, v, env)
            else:
                detach(op)
                rename_operands(op, env)
                append(self.block, op)
        rename_operands(self._end, env)
        append(self.block, self._end)
        for op in reversed(dropped):
            erase(op)
        _drop_unused(self.block)

    def _sum(self, emission: Emission, v: int, env: dict[SSAValue, SSAValue]) -> Value:
        total: Value | None = None
        y = self._values[v]
        for u, (block,) in self._chains.predecessors[v].items():
            x = env.get(self._values[u], self._values[u])
            tangent = Block(_whole(x), element(x), element(x), x)
            part = emission.full(emission.product(block, tangent))
            total = part if total is None else self.b.add(total, part)
        return self.b.zeros(type_of(y)) if total is None else self.b.convert(total, element(y))

    def discard(self) -> None:
        """Drops the copy."""
        self._end.drop_all_references()
        for op in reversed(ops_in(self.block)):
            op.drop_all_references()


def _whole(value: SSAValue) -> Structure:
    """The structure of a tangent: a block by one number."""
    labels = tuple(range(rank(value)))
    return Structure(labels, (), shape(value), labels, "value")


def _graph(count: int, edges: Iterable[tuple[int, int, W]]) -> Graph[W]:
    """A graph of so many vertices, with these edges."""
    successors: dict[int, dict[int, W]] = {v: {} for v in range(count)}
    predecessors: dict[int, dict[int, W]] = {v: {} for v in range(count)}
    for u, v, weight in edges:
        successors[u][v] = predecessors[v][u] = weight
    return Graph((), (), successors, predecessors)


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_complex(element(value))


def _location(value: SSAValue) -> LocationAttr:
    owner = value.owner
    assert isinstance(owner, Operation), "arguments are not eliminated"
    return owner.location


def _drop_unused(block: IrBlock) -> None:
    """Erases what nobody uses: the edges that were not needed."""
    for op in reversed(ops_in(block)[:-1]):
        if op.results and not op.regions and not any(y.first_use for y in op.results):
            erase(op)
