"""Edge pushing: second derivatives as arcs between variables, pushed from results to arguments.

With v_bar the cotangent of v, an *arc* {p, q} stands for the derivative of q_bar by p, which is that of p_bar by q. Ops that are not linear make arcs between
their operands, weighted by the cotangents of what they give. Then, from the last variable j to the first, with D_i the derivative of j by its operand i, every
arc at j is pushed to the operands::

    {j, p}, weight w (p by j)    adds  w D_i            to {p, i}, and its transpose too where i is p
    {j, j}, weight w             adds  D_k^T w D_i      to {k, i}

and j is done with. What is left when all arcs are between arguments is the Hessian. Each pair is kept once, so the work is about half of that of second
derivatives by two modes, and what is zero by structure is no arc (R. M. Gower, M. P. Mello, "A new framework for the computation of Hessians", Optimization
Methods and Software 27, 2012; M. Wang, A. Gebremedhin, A. Pothen, "Capitalizing on live variables: new algorithms for efficient Hessian computation via
automatic differentiation", Mathematical Programming Computation 8, 2016). Variables are tensors here, and weights blocks, unless elements are asked for.

Where a rule computes with the result of its op (``d tanh(x) = (1 - y^2) dx``), there is an arc from y to x that has no mirror image. Half of it stands for
both directions, as a Hessian is half of the sum of itself and its transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from msgspec import Struct

from wengert.transforms.ad.edge_pushing.symmetric import SymmetricFactors

B = TypeVar("B")
Pair = tuple[int, int]
"""The later variable, then the earlier one, or the same."""


class Arcs(Struct, Generic[B]):
    """Arcs between variables, which are numbered so that edges lead to greater numbers.

    Attributes:
        factors: products and sums of weights.
        weights: the arcs; the later variable is the one whose cotangent is differentiated.
        symmetric: the arcs from a variable to itself that are their own transposes.
    """

    factors: SymmetricFactors[B]
    weights: dict[Pair, tuple[B, ...]]
    symmetric: set[Pair]

    def add(self, q: int, p: int, weight: tuple[B, ...] | None, *, symmetric: bool = True) -> None:
        """Adds to the derivative of the cotangent of q by p."""
        if weight is None:
            return
        pair, oriented = ((q, p), weight) if q >= p else ((p, q), self.factors.transpose(weight))
        if pair not in self.weights:
            self.weights[pair] = oriented
            (self.symmetric.add if symmetric else self.symmetric.discard)(pair)
            return
        total = self.factors.plus(self.weights[pair], oriented)
        if not symmetric:
            self.symmetric.discard(pair)
        if total is None:
            self.take(pair)
        else:
            self.weights[pair] = total

    def take(self, pair: Pair) -> tuple[B, ...]:
        """Removes an arc."""
        return self.weights.pop(pair)

    def push(self, j: int, operands: Mapping[int, tuple[B, ...]], partners: Sequence[int]) -> None:
        """Pushes all arcs at a variable to the operands that it is computed from; ``partners`` are the variables before it that it may have arcs with."""
        for p in partners:
            if (j, p) in self.weights:
                self._push_pair(p, self.take((j, p)), operands)
        if (j, j) in self.weights:
            self._push_self(j, operands)

    def _push_pair(self, p: int, weight: tuple[B, ...], operands: Mapping[int, tuple[B, ...]]) -> None:
        turned = self.factors.transpose(weight)  # the derivative of p_bar by j
        for i, derivative in operands.items():
            moved = self.factors.product(turned, derivative)
            self.add(p, i, moved)
            if i == p:
                self.add(p, i, self.factors.transpose(moved))

    def _push_self(self, j: int, operands: Mapping[int, tuple[B, ...]]) -> None:
        symmetric = (j, j) in self.symmetric
        self.symmetric.discard((j, j))
        weight: tuple[B, ...] | None = self.take((j, j))
        if not symmetric and len(operands) > 1:
            weight, symmetric = self.factors.symmetric(weight), True
        if weight is None:
            return
        for k, outer in operands.items():
            turned = self.factors.transpose(self.factors.product(weight, outer))
            for i, inner in operands.items():
                if i <= k:
                    self.add(k, i, self.factors.product(turned, inner), symmetric=symmetric)


def pushed(
    factors: SymmetricFactors[B],
    created: Mapping[Pair, tuple[B, ...]],
    edges: Mapping[int, Mapping[int, tuple[B, ...]]],
    same: Callable[[tuple[B, ...], tuple[B, ...]], bool],
    at: Callable[[int], AbstractContextManager[Any]] = lambda _: nullcontext(),
) -> Arcs[B]:
    """The arcs between arguments.

    Args:
        factors: products and sums.
        created: the derivative of the cotangent of q by p, for pairs (q, p), in either or both orders.
        edges: for each variable that is no argument, its derivatives by its operands.
        same: whether two weights are equal.
        at: where what is computed for a variable is located.
    """
    arcs = Arcs(factors, {}, set())
    for q, p in sorted({(max(pair), min(pair)) for pair in created}):
        weight, mirror = created.get((q, p)), created.get((p, q))
        if q == p:
            assert weight is not None
            arcs.add(q, p, weight, symmetric=factors.is_diagonal(weight))
        elif weight is not None and mirror is not None and same(factors.transpose(mirror), weight):
            arcs.add(q, p, weight)
        else:
            arcs.add(q, p, None if weight is None else factors.half(weight))
            arcs.add(p, q, None if mirror is None else factors.half(mirror))
    for j in sorted(edges, reverse=True):
        with at(j):
            arcs.push(j, edges[j], [p for q, p in arcs.weights if q == j and p != j])
    return arcs
