"""Derivatives of whole modules: the entry function replaced by its derivative, under the same name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import wengert.transforms.ad.rules  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the rule table)
from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad_parts import LINEAR_PART, linear_arguments, parts_of
from wengert.ir.construction import detach, insert_before
from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.locations import error_at
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.forward.jvp import jvp_function
from wengert.transforms.ad.linear.join import join_function
from wengert.transforms.ad.linear.transpose import transpose_function
from wengert.transforms.ad.linear.vjp import vjp_function
from wengert.transforms.ad.requests.request import LINEAR_REQUESTS, REQUESTS, Request, function_named, has_requests, request
from wengert.transforms.ad.residuals.policies import AUTO, Policy, policy_named
from wengert.transforms.ad.rewrites.select_and_scatter import expand_selections
from wengert.transforms.core.symbol_dce import references
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks
from wengert.transforms.core.to_core import to_core

STRATEGIES = ("transpose", "direct")
"""The two ways to reverse a function, which give the same results."""


def jvp(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by its JVP, ``(inputs, tangents of wrt) -> (outputs, tangents of of)``, in place.

    ``wrt`` and ``of`` are positions of arguments and results, by default all that are real or complex floating point. The
    module is brought to core level first. Raises DiagnosticError for what cannot be differentiated, by name and place.
    """
    derive(module, jvp_function, fn, wrt, of)


def vjp(
    module: ModuleOp,
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    strategy: str = "transpose",
    residuals: str = AUTO.name,
) -> None:
    """Replaces ``fn`` by its VJP, ``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``, in place. See :func:`jvp`.

    ``strategy`` is one of STRATEGIES: ``transpose`` linearizes, transposes and joins, ``direct`` writes the adjoint of every op.
    ``residuals`` names the policy for what is kept (:mod:`wengert.transforms.ad.residuals.policies`), which ``direct`` does not take.
    """
    if strategy not in STRATEGIES:
        raise error_at(
            module.location, f"there is no strategy {strategy!r} for vjp; there are {', '.join(STRATEGIES)}", hint=did_you_mean(strategy, STRATEGIES)
        )
    policy = policy_named(residuals)
    derive(module, reverse(strategy, policy), fn, wrt, of)


def reverse(strategy: str, policy: Policy) -> Callable[[Request, str], FuncOp]:
    """What makes the VJP of a function by one of the STRATEGIES."""
    if strategy == "transpose":
        return lambda asked, name: vjp_function(asked, name, policy)
    if policy is not AUTO:
        raise DiagnosticError(Diagnostic(f"residuals={policy.name} needs strategy=transpose; strategy=direct takes residuals={AUTO.name} only"))
    from wengert.transforms.ad.direct.vjp import direct_vjp_function

    return direct_vjp_function


def derive(module: ModuleOp, make: Callable[[Request, str], FuncOp], fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None) -> None:
    """Replaces ``fn`` by what ``make`` makes of it, at core level and with all requests for derivatives expanded."""
    prepare(module)
    function = function_named(module, fn)
    replace_function(module, function, [make(request(function, wrt, of), fn)])
    _expand(module)


def transpose_functions(module: ModuleOp, fn: str = "", wrt: Sequence[int] | None = None) -> None:
    """Replaces a function that is linear in ``wrt`` by its transpose, in place; without a name, every function that says what it is linear in.

    What depends on tangents only through ``ad.pushforward`` or ``ad.transposed_call`` stays so: these have transposes of their own.
    """
    _to_core(module)
    if ops_of(module, *(cls for cls in REQUESTS if cls not in LINEAR_REQUESTS)):
        _expand(module)
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    chosen = [] if fn or wrt is not None else [function for function in functions if linear_arguments(function) is not None]
    for function in chosen or [function_named(module, fn or "main_linear")]:
        positions = linear_arguments(function) if wrt is None else wrt
        replace_function(module, function, [transpose_function(request(function, positions), function.sym_name.data)])


def join(module: ModuleOp) -> None:
    """Replaces every function that has a linear part, and this part, by what they make together, in place."""
    pairs = parts_of(module)
    if not pairs:
        raise error_at(module.location, f"no function of the module has a linear part ({LINEAR_PART}) to be joined with", hint="linearize makes one")
    for pair in pairs:
        replace_function(module, pair.forward, [join_function(pair, pair.forward.sym_name.data)])
    used = {name for op in module.ops for name in references(op)}
    for linear in {pair.linear for pair in pairs}:
        if linear.sym_name.data not in used:
            module.body.block.erase_op(linear, safe_erase=False)
    _expand(module)


def replace_function(module: ModuleOp, function: FuncOp, made: Sequence[FuncOp]) -> None:
    """Puts functions where another one stands, in place."""
    for new in made:
        insert_before(function, new)
    detach(function)


def prepare(module: ModuleOp) -> None:
    """Brings a module to the form that derivatives are taken of: core level, no requests, calls of custom functions only,
    no reductions or scatters by regions that only their own ops describe, and no tapes but those that grow."""
    tapes_to_stacks(module)
    _to_core(module)
    _expand(module)


def _to_core(module: ModuleOp) -> None:
    to_core(module, keep_custom=True)
    if ops_of(module, hlo.ReduceOp, hlo.ReduceWindowOp):
        from wengert.transforms.ad.rewrites.reduce_regions import expand_regions  # with all of batching, which most programs do without

        expand_regions(module)
    expand_selections(module)
    if ops_of(module, hlo.ScatterOp):
        from wengert.transforms.ad.rewrites.scatter_regions import expand_scatters  # as above

        expand_scatters(module)


def _expand(module: ModuleOp) -> None:
    if has_requests(module):
        from wengert.transforms.ad.requests.expand import expand_ad  # as above

        expand_ad(module)
