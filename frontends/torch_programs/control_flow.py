"""``torch.cond`` and ``while_loop``: graphs inside of the graph, which become the closed regions of branches and loops.

An export gives such a graph all that it uses as operands, so there is nothing to capture. The state of the random generator goes in and
out with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i32

Subgraph = Callable[[AtenBuilder, Any, Sequence[Value]], list[Value]]
"""Translates a graph for operands, through a builder."""


def _region(b: AtenBuilder, subgraph: Subgraph, graph: Any, operands: Sequence[Value], state: Value | None, *, returns_state: bool = True) -> Region:
    """The graph for operands of these types, of which the state of the generator, where there is one, is the last."""
    block = Block(arg_types=[v.type for v in operands])
    inner = AtenBuilder(block)
    inner.random_state = None if state is None else block.args[-1]
    given = list(block.args[: len(operands) - (state is not None)])
    with inner.at(b.location):
        results = subgraph(inner, graph, given)
    if inner.random_state is not None and returns_state:
        results.append(inner.random_state)
    block.add_op(hlo.ReturnOp.create(operands=results, location=b.location))
    return Region([block])


def _split(b: AtenBuilder, values: Sequence[Value], state: Value | None) -> tuple[Value, ...]:
    """The results, after the state of the generator was taken from their end."""
    if state is None:
        return tuple(values)
    b.random_state = values[-1]
    return tuple(values[:-1])


def cond(b: AtenBuilder, subgraph: Subgraph, pred: Value | bool, true_graph: Any, false_graph: Any, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The one graph or the other."""
    if isinstance(pred, bool):
        return tuple(subgraph(b, true_graph if pred else false_graph, operands))
    state = b.random_state
    given = [*operands, *([] if state is None else [state])]
    regions = [_region(b, subgraph, graph, given, state) for graph in (false_graph, true_graph)]
    last = regions[0].block.last_op
    assert last is not None
    index = b.convert(b.reshape(pred, ()), i32)
    return _split(b, b.create(core.CaseOp, [index, *given], [v.type for v in last.operands], {}, regions), state)


def while_loop(b: AtenBuilder, subgraph: Subgraph, condition: Any, body: Any, carried: Sequence[Value], constants: Sequence[Value] = ()) -> tuple[Value, ...]:
    """Runs the body on what is carried as long as the condition holds."""
    state = b.random_state
    first = [*carried, *([] if state is None else [state])]

    def ordered(inner: AtenBuilder, graph: Any, given: Sequence[Value]) -> list[Value]:
        return subgraph(inner, graph, [*given[len(constants) :], *given[: len(constants)]])

    operands = [*constants, *first]
    regions = [_region(b, ordered, graph, operands, state, returns_state=graph is body) for graph in (condition, body)]
    properties = {"constants": int_attr(len(constants))}
    return _split(b, b.create(core.WhileOp, operands, [v.type for v in first], properties, regions), state)


CONTROL_FLOW: dict[str, Callable[..., tuple[Value, ...]]] = {"cond": cond, "while_loop": while_loop}
"""By the name of the higher-order op."""
