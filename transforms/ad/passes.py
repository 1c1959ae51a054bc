"""AD as passes, for pipelines: ``vjp{fn=main wrt=0,1},simplify,cse,dce``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from wengert.transforms.ad.derive import jvp, prepare, vjp
from wengert.transforms.ad.linearize import linearize_function
from wengert.transforms.ad.lower import lower_ad
from wengert.transforms.ad.request import function_named, request
from wengert.transforms.ad.transpose import transpose_function


@dataclass(frozen=True)
class JvpPass(ModulePass):
    """Replaces a function by its JVP: (inputs, tangents) -> (outputs, output tangents)."""

    name = "jvp"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        jvp(op, self.fn, self.wrt, self.of)


@dataclass(frozen=True)
class VjpPass(ModulePass):
    """Replaces a function by its VJP: (inputs, cotangents) -> (outputs, input cotangents)."""

    name = "vjp"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: str = "transpose"
    """``transpose`` or ``direct``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        vjp(op, self.fn, self.wrt, self.of, self.strategy)


@dataclass(frozen=True)
class VjpDirectPass(ModulePass):
    """Replaces a function by its VJP, its adjoints written out op by op; the same as ``vjp{strategy=direct}``."""

    name = "vjp-direct"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        vjp(op, self.fn, self.wrt, self.of, "direct")


@dataclass(frozen=True)
class LinearizePass(ModulePass):
    """Splits a function: itself, which now also returns residuals, and ``<fn>_linear``: (residuals, tangents) -> tangents."""

    name = "linearize"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prepare(op)
        function = function_named(op, self.fn)
        _replace(op, function, linearize_function(request(function, self.wrt, self.of), self.fn, f"{self.fn}_linear"))


@dataclass(frozen=True)
class TransposePass(ModulePass):
    """Replaces a function that is linear in ``wrt`` by its transpose: (other arguments, cotangents) -> cotangents of wrt."""

    name = "transpose"

    fn: str = "main_linear"
    wrt: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prepare(op)
        function = function_named(op, self.fn)
        _replace(op, function, [transpose_function(request(function, self.wrt), self.fn)])


@dataclass(frozen=True)
class ExpandAdPass(ModulePass):
    """Replaces ad.jvp, ad.vjp and ad.linearize by the derivatives that they ask for, innermost first."""

    name = "expand-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from wengert.transforms.ad.expand import expand_ad  # with all of batching, which most programs do without

        expand_ad(op)


@dataclass(frozen=True)
class LowerAdPass(ModulePass):
    """Expands all requests, forgets declared derivatives and removes ad.stop_gradient and ad.guard: nothing of the ad dialect is left."""

    name = "lower-ad"

    keep_stopped: bool = False
    """Leave ad.stop_gradient, which from-core writes in StableHLO."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_ad(op, keep_stopped=self.keep_stopped)


def _replace(module: ModuleOp, function: FuncOp, made: Sequence[FuncOp]) -> None:
    for new in made:
        module.body.block.insert_op_before(new, function)
    module.body.block.erase_op(function, safe_erase=False)
