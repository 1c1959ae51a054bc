"""Estimates of gradients and Jacobians by forward mode along random directions (A. G. Baydin et al., "Gradients without Backpropagation", 2022).

With directions v of mean 0 and unit covariance, ``E[(J v) v^T] = J``. The mean over so many samples, which run as one batch, is unbiased; of n elements of
arguments, its mean square error is ``(n - 1) / samples`` times the squared norm of J for directions of signs, and ``(n + 1) / samples`` times for normal
ones. Nothing of the function is kept. ``(inputs) -> one array for each result in of and each argument in wrt``, as from ``jacfwd``::

    func @main(%x: tensor<9xf64>) -> tensor<9xf64> {
      %v = (16 directions from the seed) : tensor<16x9xf64>
      %0:2 = ad.batch @main_jvp(%x, %v) in_axes = [-1, 0], out_axes = [-1, 0] : (..) -> (tensor<f64>, tensor<16xf64>)
      %1 = stablehlo.dot_general %0#1, %v, contracting_dims = [0] x [0] : (tensor<16xf64>, tensor<16x9xf64>) -> tensor<9xf64>
      %2 = stablehlo.divide %1, 16
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.location.places import error_at
from wengert.ir.pipeline.options import OneOf
from wengert.ir.tensor_types import i64, is_float, shape, shape_of_type
from wengert.transforms.ad.building_blocks.random_directions import Distribution, distribution_names, draw, state_of
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, batched_derivative
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT

NAME = "forward-gradient"


@dataclass(frozen=True)
class ForwardGradientPass(ModulePass):
    """Replaces a function by an unbiased estimate of its Jacobian, from forward mode along random directions."""

    name = NAME

    samples: int = 1
    """The number of directions, one batch."""
    seed: int = 0
    directions: Annotated[str, OneOf(distribution_names)] = "rademacher"
    """``rademacher`` (signs) or ``normal``."""
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.samples < 1:
            raise error_at(op, f"an estimate needs a sample, found samples={self.samples}")
        prepare(op)
        request = make_request(function_named(op, self.fn), self.wrt, self.of)
        derivative = batched_derivative(op, "forward", request, DEFAULT)
        for type in (*derivative.arguments, *derivative.results):
            if not is_float(type.get_element_type()):
                raise error_at(request.function, f"random directions are real numbers, and @{self.fn} has {type}")
        derivative.replaced(op, NAME, partial(_estimates, derivative, self))


def _estimates(derivative: BatchedDerivative, options: ForwardGradientPass, b: OpBuilder, name: str, inputs: Sequence[Value]) -> list[Value]:
    """The estimates of the blocks, results first."""
    state, seeds = state_of(b, b.scalar(options.seed, i64)), list[Value]()
    for x in derivative.moved:
        state, numbers = draw(b, state, (options.samples, *shape_of_type(x)), cast(Distribution, options.directions))
        seeds.append(b.convert(numbers, x.get_element_type()))
    rows = derivative.along(b, name, inputs, seeds, options.samples)
    return [_mean_product(b, row, v) for row in rows for v in seeds]


def _mean_product(b: OpBuilder, derivatives: Value, directions: Value) -> Value:
    """The mean over samples, the first dimension of both, of the products of derivatives and directions."""
    total = b.dot_general(derivatives, directions, ([0], [0]))
    return b.divide(total, b.full_like(total, shape(directions)[0]))


def relative_error(elements: int, samples: int) -> float:
    """The root of the mean square error of an estimate by signs, relative to the norm of the Jacobian."""
    return ((elements - 1) / samples) ** 0.5
