"""Compressed Jacobians by seeds: columns that no row has both of are computed in one direction.

The pattern of the Jacobian (:mod:`wengert.transforms.analysis.sparsity`) is known before any number is. Its columns are coloured so that two of one colour
have no row in common (:mod:`wengert.transforms.ad.colouring.columns`), one direction moves all columns of a colour at once, and each element of the pattern is
read from the derivative along its colour. In reverse mode rows are coloured likewise; in both modes columns and rows together; of a symmetric Jacobian
columns, by a star colouring. ``(inputs) -> one array for each result in of and each argument in wrt``, as ``jacfwd``, with zeros outside of the pattern.
(Without the zeros: :mod:`wengert.transforms.ad.jacobians.sparse`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.pipeline.options import OneOf
from wengert.ir.tensor_types import shape_of_type
from wengert.transforms.ad.colouring.columns import coloured_with_fewer, count
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.batched import size_of
from wengert.transforms.ad.jacobians.compression import Colouring, compressed
from wengert.transforms.ad.jacobians.recovered import Block, placed, sparse_derivative
from wengert.transforms.ad.jacobians.sparse import checked_pattern
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

NAME = "seeded-jacobian"


COLOURED: dict[str, Colouring] = {"forward": "columns", "reverse": "rows", "both": "both", "star": "star"}
"""What is coloured, by the mode."""


@dataclass(frozen=True)
class SeededJacobianPass(ModulePass):
    """Replaces a function by its Jacobian, of which columns (or rows) without a common row (or column) are computed in one direction."""

    name = NAME

    mode: Annotated[str, OneOf(lambda: ["forward", "reverse", "both", "star"])] = "forward"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        seeded_jacobian(op, COLOURED[self.mode], self.fn, self.wrt, self.of, self.strategy)


def seeded_jacobian(
    module: ModuleOp, colouring: Colouring, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = DEFAULT
) -> None:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    plan = compressed(checked_pattern(request, colouring), colouring)
    sparse_derivative(module, NAME, request, plan, strategy, lambda made: [dense_block(made.b, block, values) for block, values in made.blocks()])


def dense_block(b: OpBuilder, block: Block, values: Value) -> Value:
    """A block of a Jacobian: zeros, but for the elements of the pattern."""
    extents = [*shape_of_type(block.result), *shape_of_type(block.argument)]
    places = block.rows * size_of(block.argument) + block.columns
    return b.reshape(placed(b, prod(extents), places, values), extents)


def compressed_directions(
    module: ModuleOp, colouring: Colouring, wrt: Sequence[int], of: Sequence[int], fewer_than: int, fn: str = "main"
) -> tuple[int, int] | None:
    """How many directions of forward and of reverse mode the compressed Jacobian of a function at core level takes; None if that is not fewer than so many."""
    pattern = jacobian_pattern(make_request(function_named(module, fn), wrt, of))
    if colouring in ("columns", "rows"):
        colours = coloured_with_fewer(pattern if colouring == "columns" else type(pattern)(pattern.T), fewer_than)
        if colours is None:
            return None
        return (count(colours), 0) if colouring == "columns" else (0, count(colours))
    plan = compressed(pattern, colouring)
    return (plan.forward, plan.reverse) if plan.forward + plan.reverse < fewer_than else None
