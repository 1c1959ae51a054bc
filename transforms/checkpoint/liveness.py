"""An estimate of an order's peak, for choosing which orders are worth lowering: the bytes of results that go through memory, from each execution to its
last reader.

Which results go through memory is what fusion decides for the derivative as it is; an order may change it, which is why plans are judged by their arenas
and not by this.
"""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.order import Order
from wengert.transforms.fuse.fusion import plan
from wengert.transforms.fuse.plan import Copy
from wengert.transforms.fuse.roles import Role, role

_IN_KERNELS = (Role.VIEW, Role.SOURCE, Role.SCALAR, Role.BARRIER)


class Liveness:
    """The estimate for orders of one derivative."""

    def __init__(self, graph: Graph):
        self.graph = graph
        fusion = plan(graph.function.body.block)
        stored = {*fusion.stored, *(member.value for group in fusion.groups for member in group.members if isinstance(member, Copy))}
        self._is_scalar = [role(op) is Role.SCALAR for op in graph.ops]
        self._in_memory = [not isinstance(op, hlo.ConstantOp) and (role(op) not in _IN_KERNELS or any(r in stored for r in op.results)) for op in graph.ops]

    @property
    def bytes(self) -> list[int]:
        """The bytes of each op's results that go through memory and are no results of the derivative."""
        returned = frozenset(self.graph.returned)
        return [size if stored and n not in returned else 0 for n, (size, stored) in enumerate(zip(self.graph.bytes, self._in_memory, strict=True))]

    def peak(self, order: Order) -> int:
        """The largest number of bytes that are live at once."""
        graph, stored = self.graph, self._stored(order)
        reads: list[frozenset[int]] = []
        for operands in graph.operands:
            reads.append(frozenset[int]().union(*(frozenset((m,)) if stored[m] else reads[m] for m in operands)))
        latest: dict[int, int] = {}
        ends: list[int] = list(range(len(order)))
        for time, n in enumerate(order):
            if stored[n]:
                for m in reads[n]:
                    ends[latest[m]] = time
                latest[n] = time
        for n in graph.returned:
            for m in (n,) if stored[n] else reads[n]:
                ends[latest[m]] = len(order)
        freed = [0] * (len(order) + 1)
        live = peak = 0
        returned = frozenset(graph.returned)
        for time, n in enumerate(order):
            if stored[n] and n not in returned:
                live += graph.bytes[n]
                freed[ends[time]] += graph.bytes[n]
                peak = max(peak, live)
            live -= freed[time]
        return peak

    def _stored(self, order: Order) -> list[bool]:
        """Which results go through memory: also what is kept to compute others from it."""
        count = [0] * len(self.graph.ops)
        for n in order:
            count[n] += 1
        stored = list(self._in_memory)
        for n in set(order):
            if count[n] > 1:
                for m in self.graph.operands[n]:
                    if count[m] == 1 and self._is_scalar[m]:
                        stored[m] = True
        return stored
