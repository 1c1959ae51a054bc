"""Rewrites products of complex matrices as products of real ones of twice the inner extent, for which there are kernels::

    re(A B) = [re A, -im A] [re B; im B]        im(A B) = [im A, re A] [re B; im B]

The four real products of the definition, no fewer (three would cancel digits), with the parts side by side, so that each result is
written once. Where one side is real, it is not split.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import c64, c128, element, f32, f64, shape
from wengert.transforms.fuse.rewriting import has_matches, replace_ops
from wengert.transforms.fuse.roles import has_product

SMALLEST = 512
"""Products of fewer multiplications stay loops over pairs."""


@dataclass(frozen=True)
class SplitComplexProductsPass(ModulePass):
    """Replaces products of complex matrices by products of their real and imaginary parts."""

    name = "split-complex-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.DotGeneralOp,), _is_large, _product)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.DotGeneralOp,), _is_large)


def _is_large(op: stablehlo.DotGeneralOp) -> bool:
    dims = op.dot_dimension_numbers.dims
    if not has_product(op) or {element(value) for value in (op.lhs, op.rhs, op.result)} not in ({c64}, {c128}):
        return False
    summed = dims("lhs_contracting_dimensions")
    return bool(summed) and prod([shape(op.lhs)[d] for d in summed]) * prod(shape(op.result)) >= SMALLEST


def _product(b: OpBuilder, op: stablehlo.DotGeneralOp, large: bool) -> Value:
    dims = op.dot_dimension_numbers.dims
    batching = (dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions"))
    contracting = (dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions"))

    def dot(x: Value, y: Value) -> Value:
        return b.dot_general(x, y, contracting, batching, precision_config=op.precision_config)

    lhs, rhs = _real(b, op.lhs), _real(b, op.rhs)
    if lhs is not None and rhs is not None:
        product = dot(lhs, rhs)
        return b.complex(product, b.full_like(product, 0))
    if lhs is not None:
        return b.complex(dot(lhs, b.real(op.rhs)), dot(lhs, b.imag(op.rhs)))
    if rhs is not None:
        return b.complex(dot(b.real(op.lhs), rhs), dot(b.imag(op.lhs), rhs))
    x, x_i, y, y_i = b.real(op.lhs), b.imag(op.lhs), b.real(op.rhs), b.imag(op.rhs)
    along_x, along_y = contracting[0][0], contracting[1][0]
    both = b.concatenate([y, y_i], along_y)
    return b.complex(dot(b.concatenate([x, b.negate(x_i)], along_x), both), dot(b.concatenate([x_i, x], along_x), both))


def _real(b: OpBuilder, value: Value) -> Value | None:
    """The real matrix that a complex one is converted from; None if it is not."""
    owner = value.owner
    if not isinstance(owner, stablehlo.ConvertOp) or element(owner.operand) not in (f32, f64):
        return None
    return b.convert(owner.operand, f32 if element(value) == c64 else f64)
