"""The fewest bytes to keep, where only some ops may run again: a minimum cut.

Each result is an edge, of its bytes, from its entry to its exit; who reads it is behind its exit. What may not be computed again hangs on the source, what
the reverse part reads on the sink. The cut separates them: results on it are kept. Flows are those of SciPy, in integers of 32 bits: bytes are rounded up
to units that keep their sum below 2^31.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow  # pyright: ignore[reportUnknownVariableType]

from wengert.transforms.checkpoint.graph import Graph

_LARGEST = 2**31 - 1


def cheapest_to_keep(graph: Graph, again: frozenset[int]) -> frozenset[int]:
    """The results to keep, of the fewest bytes, from which the ops in ``again`` compute all else that the reverse part reads."""
    numbers = [n for n in graph.forward if n not in graph.free]
    place = {n: 2 + 2 * i for i, n in enumerate(numbers)}
    capacities, unlimited = _capacities([graph.bytes[n] for n in numbers])
    edges: list[tuple[int, int, int]] = []
    for n, capacity in zip(numbers, capacities, strict=True):
        entry = place[n]
        edges.append((entry, entry + 1, capacity))
        if n not in again:
            edges.append((0, entry, unlimited))
        edges += [(place[m] + 1, entry, unlimited) for m in graph.operands[n] if m in place and n in again]
        if n in graph.residuals:
            edges.append((entry + 1, 1, unlimited))
    reached = _source_side(edges, 2 + 2 * len(numbers))
    return frozenset(n for n in numbers if place[n] in reached and place[n] + 1 not in reached)


def _capacities(sizes: list[int]) -> tuple[list[int], int]:
    """Bytes in units in which all of them together are below the largest flow, and a capacity above them all."""
    unit = 1 + 2 * sum(sizes) // _LARGEST
    capacities = [max(1, -(-size // unit)) for size in sizes]
    return capacities, min(_LARGEST, sum(capacities) + 1)


def _source_side(edges: list[tuple[int, int, int]], nodes: int) -> set[int]:
    """The nodes that the source reaches in what a maximum flow leaves."""
    start, end, room = (np.array(column) for column in zip(*edges, strict=True)) if edges else (np.zeros(0, np.int64),) * 3
    network = csr_array(coo_array((room.astype(np.int32), (start, end)), shape=(nodes, nodes)))
    flow = cast(Any, maximum_flow(network, 0, 1)).flow
    left: Any = csr_array(cast(Any, network).astype(np.int64) - flow.astype(np.int64))
    left.eliminate_zeros()
    reached = cast(Any, breadth_first_order)(left, 0, return_predecessors=False)
    return set(reached.tolist())
