"""Looks at the backward pass that is running, from a hook or a custom function: which pass, which node, what is still to run.

PyTorch has these among its internals (``torch._C._current_graph_task_id`` and the like); what its own tools build on them is of use here as well.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from wengert.eager.errors import AutogradError
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.record import AccumulateGrad, Node, Record, edge

if TYPE_CHECKING:
    from wengert.eager.gradients.backward import Sweep


def _running(what: str) -> Sweep:
    if STATE.sweep is None:
        raise AutogradError(f"{what} should only be called during the backward pass")
    return STATE.sweep


def current_task_id() -> int:
    """The number of the backward pass that is running; passes are counted from 0. -1 outside of any."""
    return -1 if STATE.sweep is None else STATE.sweep.number


def current_node() -> Record | None:
    """The node whose derivative is running; None outside of a pass, and while a compiled piece runs."""
    return None if STATE.sweep is None else STATE.sweep.current


def current_task_keeps_graph() -> bool:
    """Whether the pass that is running leaves what the tape keeps in place (``retain_graph``).

    Raises:
        AutogradError: no backward pass is running.
    """
    return _running("current_task_keeps_graph").retain


def will_execute(node: Node) -> bool:
    """Whether the backward pass that is running comes to a node.

    Raises:
        AutogradError: no backward pass is running; what was given is no node; or it is that of a leaf and the pass is one of ``grad``, which has no
            node for leaves.
    """
    if not isinstance(node, Record | AccumulateGrad):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AutogradError(f"will_execute expects an grad_fn, found {type(node).__name__}")
    sweep = _running("will_execute")
    if isinstance(node, Record):
        return node in sweep.needed or sweep.captures(node)
    if sweep.early:
        raise AutogradError("A leaf node was passed to will_execute but we are currently running autograd.grad(), which has none")
    return sweep.comes_to(node.variable) and (sweep.wanted is None or any(x is node.variable for x in sweep.wanted))


def execution_order() -> list[Node]:
    """The nodes that the backward pass that is running comes to, in the order of the walk: what was recorded last is first, leaves as soon as their
    gradient is complete.

    Raises:
        AutogradError: no backward pass is running, or it may use threads (:class:`set_multithreading_enabled`), which leaves the order open.
    """
    sweep = _running("execution_order")
    if STATE.multithreading:
        raise AutogradError("execution_order expects the current backward to be executed with multithreading disabled (set_multithreading_enabled(False))")
    waiting: dict[Node, int] = {}
    leaves = None if sweep.wanted is None else {id(x) for x in sweep.wanted}

    def reached(record: Record) -> list[Node]:
        nodes = [edge(source)[0] for source in record.inputs]
        return [n for n in nodes if n in sweep.needed or (isinstance(n, AccumulateGrad) and (leaves is None or id(n.variable) in leaves))]  # pyright: ignore[reportReturnType]

    for record in sweep.needed:
        for node in reached(record):
            waiting[node] = waiting.get(node, 0) + 1
    ready: list[tuple[float, int, Any]] = []

    def push(node: Any) -> None:
        heappush(ready, (float("-inf") if isinstance(node, AccumulateGrad) else -node.number, id(node), node))

    for record in sweep.needed:
        if not waiting.get(record):
            push(record)
    order: list[Node] = []
    while ready:
        node = heappop(ready)[2]
        order.append(node)
        for other in reached(node) if isinstance(node, Record) else ():
            waiting[other] -= 1
            if not waiting[other]:
                push(other)
    return order


__all__ = ["current_node", "current_task_id", "current_task_keeps_graph", "execution_order", "will_execute"]
