"""Compressed Jacobians: for each result its derivatives by the columns of the arguments, summed over their rows.

Where each row of a result depends on one row of each argument (elements of a batch, rows that a gather selects), these derivatives
contain every nonzero of the Jacobian (Curtis, Powell, Reid, "On the estimation of sparse Jacobian matrices", 1974; Griewank, Walther,
"Evaluating Derivatives", 2nd ed., ch. 8). ``(inputs) -> one array for each result in of``, of the shape of the result followed by the number
of columns: those of all arguments in ``wrt``, in order.

They are a case of sparse Jacobians (:mod:`wengert.transforms.ad.jacobians.sparse`). That all rows of a column move at once is a colouring of the Jacobian's
columns that is known without a pattern; its directions are differentiated one by one (:mod:`wengert.transforms.ad.jacobians.one_by_one`). Where the pattern
shows that no row depends on two elements of a column of an argument, an element of the Jacobian is one of the results, and where its colours are far fewer than
columns, as in reverse mode of a function of many arguments and few results a row, the elements are read from derivatives along these. Functions with loops or
branches are gone through forward: nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.tensor_types import element, is_complex, shape, size
from wengert.transforms.ad.colouring.columns import Colours
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.one_by_one import column_count, derivatives_by_columns
from wengert.transforms.ad.jacobians.recovered import sparse_derivative
from wengert.transforms.ad.jacobians.sparse import SparsePlan, plan_of
from wengert.transforms.ad.requests.request import Request, function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT
from wengert.transforms.analysis.sparsity.matrices import Pattern

NAME = "compressed-jacobian"
SHARE = 0.5
"""So many of the directions of columns are worth a batch of others."""


@dataclass(frozen=True)
class CompressedJacobianPass(ModulePass):
    """Replaces a function by its compressed Jacobian."""

    name = NAME

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compressed_jacobian(op, self.fn, self.wrt, self.of)


def compressed_jacobian(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by its compressed Jacobian, in place.

    The first dimension indexes rows; an argument of rank 0 or 1 has one column. Derivatives in complex arguments are those along 1. Raises DiagnosticError for
    what cannot be differentiated, by name and place.
    """
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    columns = columns_of_arguments(request)
    count = int(columns.max(initial=-1)) + 1
    plan = plan_of(request, "best") if count > 1 and _is_looked_at(request) else None
    numbers = None if plan is None else _numbers(plan, columns)
    if plan is not None and numbers is not None and _is_worth(plan, numbers, count):
        sparse_derivative(module, NAME, request, plan.compression, DEFAULT, lambda made: made.by_number(numbers, count), plan.cut)
        return
    if plan is not None and plan.cut is not None:
        plan.cut.drop()
    derivatives_by_columns(module, NAME, request)


def columns_of_arguments(request: Request) -> Colours:
    """For each element of the arguments that are differentiated the number of its column, counted through all of them."""
    numbers: list[Colours] = [np.zeros(0, np.int64)]
    first = 0
    for x in (request.block.args[i] for i in request.wrt):
        count = column_count(shape(x))
        numbers.append(first + np.arange(size(x)) % count if count else np.zeros(0, np.int64))
        first += count
    return np.concatenate(numbers)


def _is_looked_at(request: Request) -> bool:
    """Whether a pattern may lead to fewer directions: not through loops and branches, which forward mode runs without records, nor of complex numbers."""
    if any(op.regions for op in request.ops):
        return False
    values = (*(request.block.args[i] for i in request.wrt), *(request.results[j] for j in request.of))
    return not any(is_complex(element(x)) for x in values)


def _numbers(plan: SparsePlan, columns: Colours) -> Colours | None:
    """For each column of the plan's pattern the number of the column of an argument that it is of; None where only a run tells."""
    return columns if plan.cut is None else plan.cut.common(columns)


def _is_worth(plan: SparsePlan, numbers: Colours, count: int) -> bool:
    compression = plan.compression
    return compression.forward + compression.reverse <= SHARE * count and _are_alone(compression.pattern, numbers, count)


def _are_alone(pattern: Pattern, numbers: Colours, count: int) -> bool:
    """Whether no row has two elements of the same number."""
    starts, places = cast("Colours", pattern.indptr), cast("Colours", pattern.indices)
    keys = np.sort(np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * count + numbers[places])
    return not (keys[1:] == keys[:-1]).any()
