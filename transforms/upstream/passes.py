"""The passes from upstream MLIR to StableHLO."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.transforms.shapes.argument_shapes import read_shape


@dataclass(frozen=True)
class ValuesToStablehloPass(ModulePass):
    """Writes ops of upstream dialects on values (``arith``, ``math``, ``complex``, ``index``, ``tensor``, ``linalg``, ``scf``) in StableHLO."""

    name = "values-to-stablehlo"

    fn: str = "main"
    shapes: tuple[str, ...] = ()
    """The shape of each argument of ``fn``: ``"2x3"``, or ``keep`` for one whose type says it. Arguments that come last may be left out."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from wengert.transforms.upstream.convert.function import convert_functions

        convert_functions(op, self.fn, [read_shape(text) for text in self.shapes])


@dataclass(frozen=True)
class FromUpstreamPass(ModulePass):
    """From upstream MLIR to StableHLO: calls inlined, affine loops and buffers made values, scalars tensors of rank 0."""

    name = "from-upstream"

    fn: str = "main"
    shapes: tuple[str, ...] = ()
    """The shape of each argument of ``fn``: ``"2x3"``, or ``keep`` for one whose type says it. Arguments that come last may be left out."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from wengert.transforms.upstream.pipeline import from_upstream

        from_upstream(op, self.fn, [read_shape(text) for text in self.shapes])
