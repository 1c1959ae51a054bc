"""Sparse Hessians of functions that read their arguments at computed positions.

What is read is one element or row of many, of which only a run tells the number. So the function is cut behind such reads
(:mod:`wengert.transforms.ad.jacobians.computed_columns`), y = F(S x) with S a single one in each row: its Hessian is S^T F'' S, and that of F has a pattern
that is known before, and is coloured as a symmetric matrix. An element's row and column are what the same read finds in a table of columns. ``(inputs) -> the
elements, their rows, their columns``::

    func @main(%x: tensor<50xf64>, %i: tensor<8x1xi32>) -> (tensor<22xf64>, tensor<22xi32>, tensor<22xi32>) {
      %g       = gather %x, %i
      %columns = gather (iota 50), %i
      ...                                       // the derivative of the gradient by %g, in three directions
    }

Places that come more than once are to be added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from msgspec import structs
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from wengert.ir.construction import copy_op
from wengert.ir.location.places import error_at
from wengert.ir.pipeline.options import OneOf
from wengert.ir.tensor_types import size
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.compression import Colouring, Compression, compressed
from wengert.transforms.ad.jacobians.computed_columns import Cut, behind_reads, entries_uncut_twice
from wengert.transforms.ad.jacobians.dense import jacobian
from wengert.transforms.ad.jacobians.recovered import Recovered, sparse_derivative
from wengert.transforms.ad.jacobians.sparse import SparsePlan
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

NAME = "sparse-hessian"
COLOURINGS: tuple[Colouring, ...] = ("best", "star", "acyclic")


def _colourings() -> list[str]:
    return list(COLOURINGS)


@dataclass(frozen=True)
class SparseHessianPass(ModulePass):
    """Replaces a function of one number by the elements of its Hessian with their rows and columns, where it reads arguments at computed positions."""

    name = NAME

    colouring: Annotated[str, OneOf(_colourings)] = "best"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sparse_hessian(op, cast("Colouring", self.colouring), self.fn, self.wrt, self.of, self.strategy)


def sparse_hessian(
    module: ModuleOp,
    colouring: Colouring = "best",
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    strategy: str = DEFAULT,
) -> SparsePlan:
    """Replaces ``fn`` by the elements of its Hessian, their rows and their columns, in place; the directions.

    Raises DiagnosticError for what cannot be differentiated or batched, and where the function returns more than one number or nothing is read at computed
    positions, by name and place.
    """
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    if len(request.of) != 1 or size(request.results[request.of[0]]) != 1:
        raise error_at(request.function, f"{NAME} is for functions of one number")
    plan = hessian_plan(request, colouring)
    if plan is None:
        raise error_at(request.function, f"@{fn} reads nothing at computed positions", hint="take sparse-jacobian of its gradient")
    sparse_derivative(module, NAME, request, plan.compression, strategy, Recovered.triples, plan.cut)
    return plan


def hessian_cut(request: Request) -> Cut | None:
    """The gradient of what a function reads, beside it in its module; None where nothing is read at computed positions, or where the pattern is smaller if
    nothing is cut."""
    inner = behind_reads(request)
    if inner is None:
        return None
    module, function = request.module, inner.request.function
    name = fresh_name(module, f"{request.function.sym_name.data}_gradient")
    copy = copy_op(function, {})
    copy.properties["sym_name"] = StringAttr(name)
    module.body.block.insert_op_before(copy, request.function)
    jacobian(module, "jacrev", name, inner.request.wrt, inner.request.of)
    gradient = make_request(function_named(module, name), inner.request.wrt, range(len(inner.request.wrt)))
    inner.drop()
    sources = [structs.replace(source, argument=gradient.block.args[source.argument.index]) for source in inner.sources]
    made = structs.replace(inner, request=gradient, sources=sources, pattern=jacobian_pattern(gradient))
    if made.pattern.nnz > entries_uncut_twice(made, made.pattern):
        made.drop()
        return None
    return made


def hessian_plan(request: Request, colouring: Colouring) -> SparsePlan | None:
    """The directions for a function of one number, whose gradient is put beside it in its module; None where :func:`hessian_cut` is."""
    cut = hessian_cut(request)
    if cut is None:
        return None
    return SparsePlan(compressed(cut.pattern, colouring) if colouring != "best" else _best(cut), cut)


def _best(cut: Cut) -> Compression:
    """The colouring for symmetric matrices with fewer directions."""
    return min((compressed(cut.pattern, "star"), compressed(cut.pattern, "acyclic")), key=lambda each: each.forward)
