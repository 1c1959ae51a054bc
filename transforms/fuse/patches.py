"""Rewrites convolutions whose window is as wide as their input is dilated: as a matrix product, whose rows are put side by side.

Such is the gradient of cutting an image into patches (a convolution whose stride is its window) in the image, and an upsampling by a learned
kernel. Of the window, one element at a time meets an element of the input and all others meet the zeros between, so for an input x of n
positions and a kernel w of k, along each dimension::

    y[k i + r] = x[i] w[r]          (w reversed unless the convolution reverses it)

and the padding adds zeros to y, or cuts them off.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.convolution_windows import Windows, windows_of
from wengert.ir.tensor_types import element, f32, f64, rank, shape, size
from wengert.transforms.fuse.rewriting import has_matches, replace_ops


@dataclass(frozen=True)
class ConvolutionPatchesPass(ModulePass):
    """Replaces convolutions whose windows do not overlap by matrix products, and lays the rows of these side by side."""

    name = "convolution-patches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.ConvolutionOp,), _patches, _product)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.ConvolutionOp,), _patches)


def _patches(op: stablehlo.ConvolutionOp) -> Windows | None:
    """The windows, if they do not overlap."""
    if op.lhs_dilation is None or not {element(value) for value in (op.lhs, op.rhs, op.result)} <= {f32, f64} or size(op.result) == 0:
        return None
    w = windows_of(op)
    window = tuple(shape(op.rhs)[d] for d in w.rhs[2:])
    plain = w.groups == w.batch_groups == 1 and prod((*w.strides, *w.dilations)) == 1
    return w if plain and w.base == window and prod(window) > 1 and size(op.lhs) > 0 else None


def _product(b: OpBuilder, op: stablehlo.ConvolutionOp, w: Windows) -> Value:
    n, window = rank(op.lhs) - 2, w.base
    kernel = b.reverse(op.rhs, turned) if (turned := [d for d, flip in zip(w.rhs[2:], w.flips, strict=True) if not flip]) else op.rhs
    rows = [d for d in range(n + 2) if d != w.lhs[1]]
    columns = [d for d in range(n + 2) if d != w.rhs[0]]
    product = b.dot_general(op.lhs, kernel, ([w.lhs[1]], [w.rhs[0]]), result_element=element(op.result))
    parts = {w.out[0]: [rows.index(w.lhs[0])], w.out[1]: [n + 1 + columns.index(w.rhs[1])]}
    parts |= {out: [rows.index(x), n + 1 + columns.index(k)] for out, x, k in zip(w.out[2:], w.lhs[2:], w.rhs[2:], strict=True)}
    moved = b.transpose(product, [d for position in range(n + 2) for d in parts[position]])
    extents = [prod(shape(product)[d] for d in parts[position]) for position in range(n + 2)]
    low, high = [0] * (n + 2), [0] * (n + 2)
    for d, k, before, behind in zip(w.out[2:], window, w.low, w.high, strict=True):
        low[d], high[d] = before - (k - 1), behind - (k - 1)
    whole = b.reshape(moved, extents)
    return b.pad(whole, b.scalar(0, element(op.result)), low, high) if any((*low, *high)) else whole
