"""``expand-compound``: ops that their specification defines by others, written out in those.

batch_norm, dot, einsum, CHLO's broadcasting ops, its scan and so on: each has one expansion, here, and with it has both modes, batching, both backends and a
cost. Text keeps the ops as they were written; ``to-core`` expands them, the interpreter runs the expansion in the op's place.

Before and after::

    %0 = stablehlo.dot %x, %y        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]

To add an op, write its expansion in the file of its family and add both to :data:`EXPANSIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.chlo import broadcast
from wengert.ir.tensor_types import DYNAMIC, shape_of_type
from wengert.ir.traversal import all_ops
from wengert.transforms.rewriter import Rewriter

Expansion = Callable[[OpBuilder, Any], Sequence[SSAValue] | None]
"""Writes an op out and returns what stands for its results; None where the op stays."""

_HERE = "wengert.transforms.core.compound"
EXPANSIONS: dict[type[Operation], str] = {
    **dict.fromkeys(broadcast.ALL, "broadcasting:expand_broadcasting"),
    broadcast.BroadcastSelectOp: "broadcasting:expand_select",
    chlo.AsinAcosKernelOp: "arcs:expand_asin_acos_kernel",
    chlo.ConstantLikeOp: "broadcasting:expand_constant_like",
    chlo.ConstantOp: "broadcasting:expand_constant",
    chlo.MulhiOp: "integers:expand_mulhi",
    chlo.RaggedDotOp: "ragged:expand_ragged_dot",
    chlo.ScanOp: "scans:expand_scan",
    hlo.BatchNormGradOp: "normalization:expand_grad",
    hlo.BatchNormInferenceOp: "normalization:expand_inference",
    hlo.BatchNormTrainingOp: "normalization:expand_training",
    hlo.BroadcastOp: "broadcasting:expand_broadcast",
    hlo.DotOp: "products:expand_dot",
    hlo.EinsumOp: "products:expand_einsum",
    hlo.RngOp: "random:expand_rng",
    hlo.TorchIndexSelectOp: "indexing:expand_torch_index_select",
    hlo.UnaryEinsumOp: "products:expand_einsum",
}
"""The module of the expansion of each op, so that nothing is imported before a program needs it."""

NAMES = frozenset(op.name for op in EXPANSIONS)


@cache
def _expansion(cls: type[Operation]) -> Expansion:
    module, _, name = EXPANSIONS[cls].partition(":")
    return getattr(import_module(f"{_HERE}.{module}"), name)


def expand(b: OpBuilder, op: Operation) -> Sequence[SSAValue] | None:
    """Expands an op: the values that replace its results; None where it stays: for shapes that are not known, or because nothing is simpler."""
    types: list[Any] = [value.type for value in (*op.operands, *op.results)]
    if any(isinstance(type, UnrankedTensorType) or (hasattr(type, "get_shape") and DYNAMIC in shape_of_type(type)) for type in types):
        return None
    return _expansion(type(op))(b, op)


@dataclass(frozen=True)
class ExpandCompoundPass(ModulePass):
    """Replaces ops that are defined by others by those."""

    name = "expand-compound"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_compound(op)


def expand_compound(module: ModuleOp) -> None:
    """Expands all ops of a module that have an expansion, in place, from the inside out."""
    kept: set[Operation] = set()
    while pending := [op for op in all_ops(module) if type(op) in EXPANSIONS and op not in kept]:
        rewriter = Rewriter("expand-compound")
        for op in pending:
            if any(inner is not op and type(inner) in EXPANSIONS and inner not in kept for inner in all_ops(op)):
                continue  # after those in its regions
            rewriter.move_to(op)
            values = expand(rewriter, op)
            if values is None:
                kept.add(op)
            else:
                rewriter.replace(op, values)
