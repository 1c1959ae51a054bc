"""Edges of the graph of gradients: a node and the number of its result, in place of the tensor that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import NotTrackedError
from wengert.eager.recording import dispatch
from wengert.eager.recording.record import AccumulateGrad, Node, Output, edge

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


class GradientEdge(NamedTuple):
    """A node of the graph of gradients, and which of its results. ``grad`` and ``backward`` take it in the place of a tensor, so that the tensor itself
    need not be kept."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of a tensor arrives: of the node that made it, or that of the leaf.

    Raises:
        NotTrackedError: the tensor requires no gradient.
    """
    if not tensor.tracked:
        raise NotTrackedError("a tensor that does not require a gradient has no edge in the graph of gradients")
    node, number = edge(dispatch.source_of(tensor))
    assert node is not None
    return GradientEdge(node, number)


def tensors(given: Any) -> list[Tensor]:
    """One tensor or edge or several, edges as tensors that stand at their place."""
    several = [given] if isinstance(given, GradientEdge) else listed(given)
    return [_stand_in(x) if isinstance(x, GradientEdge) else x for x in several]


def _stand_in(place: GradientEdge) -> Tensor:
    node = place.node
    if isinstance(node, AccumulateGrad):
        return node.variable
    shape, dtype = node.result_types[place.output_nr]
    made = dispatch.new(np.broadcast_to(np.zeros((), dtype), shape))
    made.source = node if len(node.result_types) == 1 else Output(node, place.output_nr)
    made.tracked = True
    return made


def is_stand_in(x: Tensor) -> bool:
    """Whether a tensor only stands where an edge leads, and has no elements of its own."""
    return x.array.size > 0 and not x.array.flags.owndata and not any(x.array.strides) and x.view_of is None
