"""Derivatives of whole modules: the entry function replaced by its derivative, under the same name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import wengert.transforms.ad.rules  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the rule table)
from wengert.dialects import stablehlo as hlo
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.locations import error_at
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.jvp import jvp_function
from wengert.transforms.ad.request import Request, function_named, has_requests, request
from wengert.transforms.ad.selections import expand_selections
from wengert.transforms.ad.vjp import vjp_function
from wengert.transforms.core.to_core import to_core


def _direct(asked: Request, name: str) -> FuncOp:
    from wengert.transforms.ad.direct.vjp import direct_vjp_function

    return direct_vjp_function(asked, name)


STRATEGIES: dict[str, Callable[[Request, str], FuncOp]] = {"transpose": vjp_function, "direct": _direct}
"""The two ways to reverse a function, which give the same results."""


def jvp(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by its JVP, ``(inputs, tangents of wrt) -> (outputs, tangents of of)``, in place.

    ``wrt`` and ``of`` are positions of arguments and results, by default all that are real or complex floating point. The
    module is brought to core level first. Raises DiagnosticError for what cannot be differentiated, by name and place.
    """
    derive(module, jvp_function, fn, wrt, of)


def vjp(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = "transpose") -> None:
    """Replaces ``fn`` by its VJP, ``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``, in place. See :func:`jvp`.

    ``strategy`` is one of STRATEGIES: ``transpose`` linearizes and transposes, ``direct`` writes the adjoint of every op.
    """
    if strategy not in STRATEGIES:
        raise error_at(
            module.location, f"there is no strategy {strategy!r} for vjp; there are {', '.join(STRATEGIES)}", hint=did_you_mean(strategy, STRATEGIES)
        )
    derive(module, STRATEGIES[strategy], fn, wrt, of)


def derive(module: ModuleOp, make: Callable[[Request, str], FuncOp], fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None) -> None:
    """Replaces ``fn`` by what ``make`` makes of it, at core level and with all requests for derivatives expanded."""
    prepare(module)
    function = function_named(module, fn)
    made = make(request(function, wrt, of), fn)
    block = module.body.block
    block.insert_op_before(made, function)
    block.erase_op(function, safe_erase=False)
    _expand(module)


def prepare(module: ModuleOp) -> None:
    """Brings a module to the form that derivatives are taken of: core level, no requests, calls of custom functions only,
    and no reductions or scatters by regions that only their own ops describe."""
    to_core(module, keep_custom=True)
    if ops_of(module, hlo.ReduceOp, hlo.ReduceWindowOp):
        from wengert.transforms.ad.regions import expand_regions  # with all of batching, which most programs do without

        expand_regions(module)
    expand_selections(module)
    if ops_of(module, hlo.ScatterOp):
        from wengert.transforms.ad.scatter_regions import expand_scatters  # as above

        expand_scatters(module)
    _expand(module)


def _expand(module: ModuleOp) -> None:
    if has_requests(module):
        from wengert.transforms.ad.expand import expand_ad  # as above

        expand_ad(module)
