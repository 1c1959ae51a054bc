"""The passes of AD, for pipelines: ``vjp{fn=main wrt=0,1},simplify,cse,dce``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.pipeline.options import OneOf, print_value
from wengert.transforms.ad.derive import join, jvp, prepare, replace_function, transpose_functions, vjp
from wengert.transforms.ad.linear.linearize import linearize_function
from wengert.transforms.ad.requests.lower import lower_ad
from wengert.transforms.ad.requests.request import fresh_name, function_named, make_request
from wengert.transforms.ad.residuals.policies import is_policy, policy_named, policy_names
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.pipelines import parse_pipeline

StrategyName = Annotated[str, OneOf(strategy_names)]
PolicyName = Annotated[str, OneOf(policy_names, is_policy)]


@dataclass(frozen=True)
class JvpPass(ModulePass):
    """Replaces a function by its JVP: (inputs, tangents) -> (outputs, output tangents)."""

    name = "jvp"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: StrategyName = DEFAULT
    """How: ``transpose`` and ``direct`` are the same here, those of plug-ins may differ."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        jvp(op, self.fn, self.wrt, self.of, self.strategy)


@dataclass(frozen=True)
class VjpPass(ModulePass):
    """Replaces a function by its VJP: (inputs, cotangents) -> (outputs, input cotangents)."""

    name = "vjp"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: StrategyName = DEFAULT
    """``transpose`` (which is ``linearize,transpose,join``), ``direct``, or that of a plug-in."""
    residuals: PolicyName = "auto"
    """Which residuals are stored for the reverse sweep: ``auto``, ``save-all``, ``recompute-cheap``, ``recompute-all``, ``sqrt``, ``binomial-8`` (any number of
    states of loops), or a policy of a plug-in."""
    budget: int | str | None = None
    """The largest arena of the compiled derivative in bytes (``64MB``), by computing values again: the pass ``vjp-within``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.budget is None:
            vjp(op, self.fn, self.wrt, self.of, self.strategy, self.residuals)
            return
        asked = (("fn", self.fn), ("wrt", self.wrt), ("of", self.of), ("strategy", self.strategy), ("residuals", self.residuals), ("budget", self.budget))
        options = " ".join(f"{name}={print_value(value)}" for name, value in asked if value is not None)
        parse_pipeline(f"vjp-within{{{options}}}").run(op)


@dataclass(frozen=True)
class VjpDirectPass(ModulePass):
    """Replaces a function by its VJP, by the adjoint of every op; the same as ``vjp{strategy=direct}``."""

    name = "vjp-direct"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        vjp(op, self.fn, self.wrt, self.of, "direct")


@dataclass(frozen=True)
class LinearizePass(ModulePass):
    """Splits a function: itself, which now also returns residuals, and ``<fn>_linear``: (residuals, tangents) -> tangents.

    Attributes of the two functions connect them, so that ``transpose`` and ``join`` need no options.
    """

    name = "linearize"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    residuals: PolicyName = "auto"
    """Which residuals are stored for the linear part: ``auto``, ``save-all``, ``recompute-cheap`` or ``recompute-all``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        policy = policy_named(self.residuals)
        prepare(op)
        function = function_named(op, self.fn)
        replace_function(op, function, linearize_function(make_request(function, self.wrt, self.of), self.fn, fresh_name(op, f"{self.fn}_linear"), policy))


@dataclass(frozen=True)
class TransposePass(ModulePass):
    """Replaces linear functions by their transposes: (other arguments, cotangents) -> cotangents of the linear arguments.

    Without options it transposes every function that declares its linear arguments (``ad.linear``), as those of ``linearize`` do, and
    ``@main_linear`` if there is none. ``wrt`` names the linear arguments of a function that does not declare them.
    """

    name = "transpose"

    fn: str = ""
    wrt: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        transpose_functions(op, self.fn, self.wrt)


@dataclass(frozen=True)
class JoinPass(ModulePass):
    """Joins the halves of derivatives: a function and its linear part, transposed or not, become one.

    ``linearize,join`` is ``jvp``, and ``linearize,transpose,join`` is ``vjp``.
    """

    name = "join"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        join(op)


@dataclass(frozen=True)
class ExpandAdPass(ModulePass):
    """Replaces ad.jvp, ad.vjp and ad.linearize by the requested derivatives, innermost first."""

    name = "expand-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from wengert.transforms.ad.requests.expand import expand_ad  # with all of batching, which most programs do without

        expand_ad(op)


@dataclass(frozen=True)
class LowerAdPass(ModulePass):
    """Expands all requests, and removes declared derivatives, ad.stop_gradient and ad.guard: nothing of the ad dialect is left."""

    name = "lower-ad"

    keep_stopped: bool = False
    """Keep ad.stop_gradient, which from-core writes in StableHLO."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_ad(op, keep_stopped=self.keep_stopped)
