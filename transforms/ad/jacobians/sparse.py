"""Sparse Jacobians: the elements of the pattern alone, from few directions of forward mode, reverse mode, or both.

The pattern is known before any number is (:mod:`wengert.transforms.analysis.sparsity`); its columns, its rows, or both are coloured
(:mod:`wengert.transforms.ad.colouring`); all directions of a mode are one batch; and each element is read where it stands alone. ``(inputs) -> a vector of
the elements, row by row``::

    func @main(%x: tensor<1000xf64>) -> tensor<2998xf64> {      // a tridiagonal Jacobian: three colours
      %seeds = ...                                              // 3x1000: ones where a column has the colour
      %0:2 = ad.batch @main_derivative(%x, %seeds)              // 1000, 3x1000
      %1 = "stablehlo.gather"(%0#1, %places)
      return %1
    }

Where the function reads arguments at positions that only a run tells, it is cut behind these reads
(:mod:`wengert.transforms.ad.jacobians.computed_columns`), and returns a second vector: the column of each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.location.places import error_at
from wengert.ir.pipeline.options import OneOf
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.compression import SYMMETRIC, Colouring, Compression, colourings, compressed
from wengert.transforms.ad.jacobians.computed_columns import Cut, cut
from wengert.transforms.ad.jacobians.recovered import Recovered, sparse_derivative
from wengert.transforms.ad.requests.request import Request, function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.analysis.sparsity.matrices import Pattern
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

NAME = "sparse-jacobian"


class SparsePlan(Struct, frozen=True):
    """The plan of a sparse Jacobian: its directions, and where the function is cut before, if anywhere."""

    compression: Compression
    cut: Cut | None


@dataclass(frozen=True)
class SparseJacobianPass(ModulePass):
    """Replaces a function by the elements of its Jacobian that may be other than zero, from few directions of either mode or both."""

    name = NAME

    colouring: Annotated[str, OneOf(colourings)] = "best"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sparse_jacobian(op, cast("Colouring", self.colouring), self.fn, self.wrt, self.of, self.strategy)


def sparse_jacobian(
    module: ModuleOp,
    colouring: Colouring = "best",
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    strategy: str = DEFAULT,
    plan: SparsePlan | None = None,
) -> SparsePlan:
    """Replaces ``fn`` by the elements of its Jacobian, in place; how it is computed, which may be known of a copy of the module.

    ``star`` and ``acyclic`` are for Jacobians that are symmetric, such as those of gradients. Raises DiagnosticError for what cannot be differentiated or
    batched, and for these colourings where the Jacobian is not square, by name and place.
    """
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    plan = plan_of(request, colouring) if plan is None else plan
    sparse_derivative(module, NAME, request, plan.compression, strategy, Recovered.matrix, plan.cut)
    return plan


def plan_of(request: Request, colouring: Colouring) -> SparsePlan:
    """The directions for a function at core level. One that is cut is put beside it in its module."""
    parts = cut(request) if colouring not in SYMMETRIC else None
    return SparsePlan(compressed(checked_pattern(request, colouring) if parts is None else parts.pattern, colouring), parts)


def checked_pattern(request: Request, colouring: Colouring) -> Pattern:
    """The pattern of the Jacobian; DiagnosticError where a colouring needs a symmetric one, and this is not square."""
    pattern = jacobian_pattern(request)
    if colouring in SYMMETRIC and pattern.shape[0] != pattern.shape[1]:
        shape = f"{pattern.shape[0]} x {pattern.shape[1]}"
        raise error_at(request.function, f"a {colouring} colouring is for symmetric Jacobians, and that of @{request.function.sym_name.data} is {shape}")
    return pattern
