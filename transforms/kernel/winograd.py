"""Chooses which convolutions are computed by Winograd's minimal filtering, in 16 products for 4 elements of the result instead of 36.

A tile of 2 by 2 elements of the result of a 3 by 3 window is made from 4 by 4 elements of the input, for each pair of features, as ::

    y = A' ((G w G') * (B' x B)) A

with the constant matrices of A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks (arXiv:1509.09308), F(2 x 2, 3 x 3). Summed over
the features, each of the 16 products is one of matrices. Sums are made in another order, so this is for programs whose sums may be reassociated; entries of
the matrices are 0, 1 and 1/2, and errors are those of other sums of this length. How the code treats what is not finite is in
:mod:`wengert.transforms.codegen.cpu.native.convolution.winograd`.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.stablehlo.convolution_windows import Windows, windows_of
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, f32, rank, shape
from wengert.ir.traversal import ops_of

MARK = "wengert.winograd"
"""The attribute of a convolution that is computed so."""
LEAST_TILES = 4
"""Fewer tiles in a line are no vector."""
VECTOR = 16
"""The columns of a product that are computed together, on the processors where this was measured."""
MOST_COLUMNS = 208
"""The tiles of a block at most: what is between the transforms stays near."""
PER_NS = {"direct": 220.0, "products": 225.0, "narrow": 140.0}
"""Operations in a nanosecond; ``narrow`` products are of a single vector of columns."""
TRANSFORMED_NS = {"input": 0.6, "result": 0.5, "kernel": 3.5}
"""For a tile of one feature, and for a pair of features, of which 172 bytes are read and written."""
NEAR_BYTES = 1 << 23
"""A transformed kernel of more bytes comes from memory for each block."""
READ_PER_NS = {"near": 52.0, "far": 7.3}
"""The bytes of the kernel that are read for a block in a nanosecond, beyond what the products hide."""
LEAST_NS = 50000.0
"""Convolutions that take less in the direct form stay so: their code is compiled sooner."""
GAIN = 0.9
"""The share of the time of the direct form that it must not exceed."""


class Tiling(Struct, frozen=True):
    """A convolution in tiles: images, features that are summed and that result, lines of tiles and tiles in a line, and the lines in a block."""

    images: int
    features: int
    outputs: int
    down: int
    across: int
    lines: int

    @property
    def columns(self) -> int:
        """The columns of a block's products: its tiles, in whole vectors."""
        return -(-self.lines * self.across // VECTOR) * VECTOR

    @property
    def blocks(self) -> int:
        """The blocks of an image; the last ends with it and may have lines of the one before."""
        return -(-self.down // self.lines)

    @property
    def nanoseconds(self) -> float:
        """About how long it takes."""
        pairs = self.features * self.outputs
        products = 2.0 * 16 * pairs * self.columns * self.blocks / PER_NS["products" if self.columns > VECTOR else "narrow"]
        tiles = self.lines * self.across * self.blocks
        transforms = tiles * (self.features * TRANSFORMED_NS["input"] + self.outputs * TRANSFORMED_NS["result"])
        read = 64.0 * pairs * self.blocks
        read /= READ_PER_NS["near" if 64 * pairs <= NEAR_BYTES else "far"]
        return self.images * (products + transforms + read) + pairs * TRANSFORMED_NS["kernel"]


def tiling(op: stablehlo.ConvolutionOp) -> Tiling | None:
    """The tiles of a convolution that can be computed so: of f32, 3 by 3 without steps and groups, lines of both images contiguous, of even extents."""
    if rank(op.lhs) != 4 or {element(value) for value in (op.lhs, op.rhs, op.result)} != {f32}:
        return None
    w = windows_of(op)
    if not _is_plain(w) or [shape(op.rhs)[d] for d in w.rhs[2:]] != [3, 3]:
        return None
    (images, outputs, height, width), features = shape(op.result), shape(op.rhs)[w.rhs[0]]
    down, across = height // 2, width // 2
    if 0 in shape(op.lhs) or 0 in (images, down, features) or height % 2 or width % 2 or across < LEAST_TILES or features * outputs % VECTOR:
        return None
    choices = [Tiling(images, features, outputs, down, across, lines) for lines in range(1, down + 1) if lines * across <= max(MOST_COLUMNS, across)]
    return min(choices, key=lambda choice: (choice.nanoseconds, choice.blocks))


def _is_plain(w: Windows) -> bool:
    """Whether positions are the last dimensions everywhere, and windows stand side by side."""
    plain = w.groups == w.batch_groups == 1 and {*w.strides, *w.base, *w.dilations} == {1} and min(*w.low, *w.high) >= 0
    return plain and w.lhs == w.out == (0, 1, 2, 3) and w.rhs[2:] == (2, 3)


def _wins(op: stablehlo.ConvolutionOp) -> bool:
    """Whether it can be computed so, and is faster."""
    tiles = tiling(op)
    if tiles is None:
        return False
    direct = 2.0 * 9 * tiles.features * tiles.outputs * 4 * tiles.down * tiles.across * tiles.images / PER_NS["direct"]
    return direct >= LEAST_NS and tiles.nanoseconds <= GAIN * direct


@dataclass(frozen=True)
class WinogradPass(ModulePass):
    """Marks the convolutions that Winograd's form wins for, if sums may be reassociated."""

    name = "winograd"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for convolution in self._chosen(op):
            if may_rewrite(self.name, convolution):
                convolution.attributes[MARK] = UnitAttr()

    def changes(self, module: ModuleOp) -> bool:
        return bool(self._chosen(module))

    def _chosen(self, module: ModuleOp) -> list[stablehlo.ConvolutionOp]:
        return [op for op in ops_of(module, stablehlo.ConvolutionOp) if MARK not in op.attributes and _wins(op)] if self.reassociate else []
