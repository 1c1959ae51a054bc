"""Compressed Jacobians by seeds: columns that no row has both of are computed in one direction.

The pattern of the Jacobian (:mod:`wengert.transforms.ad.jacobians.pattern`) is known before any number is. Its columns are coloured so that two of one colour
have no row in common (A. R. Curtis, M. J. D. Powell, J. K. Reid, "On the estimation of sparse Jacobian matrices", 1974; A. H. Gebremedhin, F. Manne,
A. Pothen, "What color is your Jacobian?", 2005), one direction moves all columns of a colour at once, and each element of the pattern is read from the
derivative along its colour. In reverse mode rows are coloured likewise. ``(inputs) -> one array for each result in of and each argument in wrt``, as
``jacfwd``, with zeros outside of the pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Annotated, Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.pass_options import OneOf
from wengert.ir.tensor_types import element, i64, shape_of_type, size, tensor
from wengert.transforms.ad.building_blocks.scatter_numbers import scatter_numbers
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, Mode, Type, batched_derivative, size_of, starts_of
from wengert.transforms.ad.jacobians.pattern import Bits, jacobian_pattern
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names

Colours = np.ndarray[Any, np.dtype[np.int64]]

NAME = "seeded-jacobian"
_READ = GatherDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))


@dataclass(frozen=True)
class SeededJacobianPass(ModulePass):
    """Replaces a function by its Jacobian, of which columns (or rows) without a common row (or column) are computed in one direction."""

    name = NAME

    mode: Annotated[str, OneOf(lambda: ["forward", "reverse"])] = "forward"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        seeded_jacobian(op, "forward" if self.mode == "forward" else "reverse", self.fn, self.wrt, self.of, self.strategy)


def seeded_jacobian(
    module: ModuleOp, mode: Mode, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = DEFAULT
) -> None:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    pattern = jacobian_pattern(request)
    colours = coloured(pattern if mode == "forward" else pattern.T)
    derivative = batched_derivative(module, mode, request, strategy)
    derivative.replaced(module, NAME, partial(_blocks, derivative, pattern, colours))


def _blocks(derivative: BatchedDerivative, pattern: Bits, colours: Colours, b: OpBuilder, name: str, inputs: Sequence[Value]) -> list[Value]:
    """The blocks of the Jacobian, results first."""
    count, forward = _count(colours), derivative.mode == "forward"
    seeds = [_seed(b, x, colours[start : start + size_of(x)], count) for start, x in zip(starts_of(derivative.moved), derivative.moved, strict=True)]
    whole = derivative.along(b, name, inputs, seeds, count)
    blocks: list[Value] = []
    for j, (top, y) in enumerate(zip(starts_of(derivative.results), derivative.results, strict=True)):
        for i, (left, x) in enumerate(zip(starts_of(derivative.arguments), derivative.arguments, strict=True)):
            rows, columns = np.nonzero(pattern[top : top + size_of(y), left : left + size_of(x)])
            colour = colours[left + columns] if forward else colours[top + rows]
            read = colour * size_of(y if forward else x) + (rows if forward else columns)
            blocks.append(_scattered(b, whole[j if forward else i], read, rows * size_of(x) + columns, [*shape_of_type(y), *shape_of_type(x)]))
    return blocks


def _seed(b: OpBuilder, type: Type, colours: Colours, count: int) -> Value:
    """For each colour, ones in the elements that have it."""
    square = tensor([count, size_of(type)], i64)
    mine = b.broadcast_in_dim(b.constant(colours), [1], [count, size_of(type)])
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), mine), type.get_element_type()), [count, *shape_of_type(type)])


def _scattered(b: OpBuilder, whole: Value, read: Colours, written: Colours, extents: Sequence[int]) -> Value:
    """Zeros, but for some elements of ``whole``, which are read and written at places counted row by row."""
    zeros = b.zeros(tensor([prod(extents)], element(whole)))
    if not len(read):
        return b.reshape(zeros, extents)
    values = b.gather(b.reshape(whole, [size(whole)]), b.constant(read[:, None]), _READ, [1], [len(read)])
    return b.reshape(b.scatter(core.Kind.add, zeros, b.constant(written[:, None]), values, scatter_numbers(_READ), sorted=True, unique=True), extents)


def compressed_directions(module: ModuleOp, mode: Mode, wrt: Sequence[int], of: Sequence[int], fewer_than: int, fn: str = "main") -> int | None:
    """How many directions the compressed Jacobian of a function at core level takes; None if that is not fewer than so many."""
    pattern = jacobian_pattern(make_request(function_named(module, fn), wrt, of))
    colours = _coloured(pattern if mode == "forward" else pattern.T, fewer_than)
    return None if colours is None else _count(colours)


def coloured(pattern: Bits) -> Colours:
    """A colour for each column; two columns of a colour have no row in common."""
    colours = _coloured(pattern, pattern.shape[1] + 1)
    assert colours is not None, "a colour for each column does"
    return colours


def _coloured(pattern: Bits, fewer_than: int) -> Colours | None:
    """The first colour that fits for each column, from the fullest one on; None if that takes too many: at least as many as the fullest row has columns."""
    if int(pattern.sum(axis=1).max(initial=0)) >= fewer_than:
        return None
    colours = np.zeros(pattern.shape[1], np.int64)
    taken: list[Bits] = []
    for column in np.argsort(-pattern.sum(axis=0), kind="stable"):
        rows = pattern[:, column]
        colour = next((number for number, others in enumerate(taken) if not (others & rows).any()), len(taken))
        if colour == len(taken):
            taken.append(np.zeros_like(rows))
        if len(taken) >= fewer_than:
            return None
        taken[colour] = taken[colour] | rows
        colours[column] = colour
    return colours


def _count(colours: Colours) -> int:
    return int(colours.max(initial=-1)) + 1
