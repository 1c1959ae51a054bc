"""Jacobians of which all directions are in one batch, by any strategy.

The basis is that of all arguments in ``wrt`` together (forward), or of all results in ``of`` (reverse): one batch, where ``jacfwd`` and ``jacrev`` have one for
each argument or result. That is less work for many small ones, and more for few large ones, since every direction moves all of them. ``(inputs) -> one array
for each result in of and each argument in wrt``, as there::

    func @main(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %x_dots, %y_dots = (the columns of the identity: one unit vector for each batch element)
      %0:2 = ad.batch @main_jvp(%x, %y, %x_dots, %y_dots) in_axes = [-1, -1, 0, 0], out_axes = [-1, 0] : (..) -> (tensor<f64>, tensor<2xf64>)
      %1 = (element 0 of %0#1), %2 = (element 1)
      return %1, %2 : tensor<f64>, tensor<f64>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.pipeline.options import OneOf
from wengert.ir.tensor_types import i64, shape, shape_of_type, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, Mode, Type, batched_derivative, size_of, starts_of
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names

NAME = "joined-jacobian"


@dataclass(frozen=True)
class JoinedJacobianPass(ModulePass):
    """Replaces a function by its Jacobian, with all directions in one batch."""

    name = NAME

    mode: Annotated[str, OneOf(lambda: ["forward", "reverse"])] = "forward"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joined_jacobian(op, "forward" if self.mode == "forward" else "reverse", self.fn, self.wrt, self.of, self.strategy)


def joined_jacobian(
    module: ModuleOp, mode: Mode, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = DEFAULT
) -> None:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    derivative = batched_derivative(module, mode, make_request(function_named(module, fn), wrt, of), strategy)
    derivative.replaced(module, NAME, partial(_blocks, derivative))


def _blocks(derivative: BatchedDerivative, b: OpBuilder, name: str, inputs: Sequence[Value]) -> list[Value]:
    """The blocks of the Jacobian, results first."""
    moved, seen, mode = derivative.moved, derivative.seen, derivative.mode
    count = sum(size_of(x) for x in moved)
    seeds = [_unit_vectors(b, x, start, count) for start, x in zip(starts_of(moved), moved, strict=True)]
    rows = derivative.along(b, name, inputs, seeds, count)
    parts = [[_block(b, whole, start, x, y, mode) for start, x in zip(starts_of(moved), moved, strict=True)] for whole, y in zip(rows, seen, strict=True)]
    return [part for row in parts for part in row] if mode == "forward" else [row[j] for j in range(len(moved)) for row in parts]


def _unit_vectors(b: OpBuilder, type: Type, start: int, count: int) -> Value:
    """The part of the identity that belongs to one of several types, ``[count, *shape]``."""
    size = size_of(type)
    square = tensor([count, size], i64)
    column = b.iota(1, square)
    place = b.add(column, b.full(start, square)) if start else column
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), place), type.get_element_type()), [count, *shape_of_type(type)])


def _block(b: OpBuilder, whole: Value, start: int, moved: Type, seen: Type, mode: Mode) -> Value:
    """The derivatives of one type along the elements of another: of the shape of the result followed by that of the argument."""
    extents, directions = shape_of_type(seen), shape_of_type(moved)
    rank = len(extents)
    part = b.slice(whole, [start] + [0] * rank, [start + size_of(moved), *shape(whole)[1:]])
    if mode == "reverse":
        return b.reshape(part, [*directions, *extents])
    return b.reshape(b.transpose(part, [*range(1, rank + 1), 0]), [*extents, *directions])
