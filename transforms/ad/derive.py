"""Derivatives of modules: replaces the entry function by its derivative, under the same name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

import wengert.transforms.ad.rules  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the rule table)
from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad_parts import LINEAR_PART, linear_arguments, parts_of
from wengert.dialects.registry import foreign_ops
from wengert.ir.construction import erase, insert_before
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.plugins import PluginError, is_foreign, owner_of, raised_by
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.linear.join import join_function
from wengert.transforms.ad.linear.transpose import transpose_function
from wengert.transforms.ad.replay.expand import expand_replays
from wengert.transforms.ad.requests.request import LINEAR_REQUESTS, REQUESTS, Request, function_named, has_requests, make_request
from wengert.transforms.ad.residuals.policies import AUTO, Offload, policy_named
from wengert.transforms.ad.rewrites.select_and_scatter import expand_selections
from wengert.transforms.ad.strategies import DEFAULT, Mode, Strategy, strategy_named
from wengert.transforms.core.offloads import forget_offloads
from wengert.transforms.core.symbol_dce import references
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks
from wengert.transforms.core.to_core import to_core


def jvp(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = DEFAULT) -> None:
    """Replaces ``fn`` by its JVP, ``(inputs, tangents of wrt) -> (outputs, tangents of of)``, in place.

    ``wrt`` and ``of`` are positions of arguments and results, by default all that are real or complex floating point. The
    module is brought to core level first. Raises DiagnosticError for what cannot be differentiated, by name and place.
    """
    differentiate(module, "jvp", fn, wrt, of, strategy)


def vjp(
    module: ModuleOp,
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    strategy: str = DEFAULT,
    residuals: str = AUTO.name,
) -> None:
    """Replaces ``fn`` by its VJP, ``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``, in place. See :func:`jvp`.

    ``strategy`` names how (:mod:`wengert.transforms.ad.strategies`): ``transpose`` linearizes, transposes and joins, ``direct`` emits the adjoint of every op.
    ``residuals`` names the residual policy (:mod:`wengert.transforms.ad.residuals.policies`), which ``direct`` does not take.
    """
    differentiate(module, "vjp", fn, wrt, of, strategy, residuals)


def differentiate(
    module: ModuleOp, mode: Mode, fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None, strategy: str, residuals: str = AUTO.name
) -> None:
    """Replaces ``fn`` by its derivative by a strategy, in place. Raises PluginError where that of a plug-in fails or gives no derivative."""
    chosen, policy = strategy_named(strategy), policy_named(residuals)
    if policy is not AUTO and not chosen.takes_residuals:
        raise DiagnosticError(Diagnostic(f"residuals={policy.name} needs strategy=transpose; strategy={strategy} takes residuals={AUTO.name} only"))
    pipeline = chosen.pipeline(mode, fn, wrt, of, residuals)
    if pipeline is not None:
        wanted = _type_of_derivative(make_request(function_named(module, fn), wrt, of), mode)
        pipeline.run(module)
        _check_type(f"strategy '{strategy}' ({pipeline})", mode, function_named(module, fn), wanted)
        return

    def make(request: Request, name: str) -> FuncOp:
        return chosen.jvp(request, name) if mode == "jvp" else chosen.vjp(request, name, policy)

    theirs = foreign_ops(module)
    derive(module, partial(_of_plugin, chosen, mode, make) if is_foreign(chosen) else make, fn, wrt, of)
    if isinstance(policy, Offload) and mode == "vjp":
        from wengert.transforms.pipelines import OPTIMIZE, STACKS, parse_pipeline  # here, as it knows all passes

        parse_pipeline(f"{STACKS},{OPTIMIZE},offload{{to={policy.place} fn={fn}}}").run(module)
    if theirs or is_foreign(chosen):
        _verify(module, [f"strategy '{strategy}' of {owner_of(chosen)}"] if is_foreign(chosen) else [], theirs)


def _of_plugin(strategy: Strategy, mode: Mode, make: Callable[[Request, str], FuncOp], request: Request, name: str) -> FuncOp:
    """The function that a plug-in's strategy makes, of the type that it must have. Raises PluginError."""
    whose = f"strategy '{strategy.name}' of {owner_of(strategy)}"
    wanted = _type_of_derivative(request, mode)
    try:
        function = make(request, name)
    except (DiagnosticError, PluginError):
        raise
    except Exception as error:
        raise raised_by(whose, error) from error
    _check_type(whose, mode, function, wanted)
    return function


def _verify(module: ModuleOp, whose: list[str], ops: Sequence[type[Operation]]) -> None:
    """Verifies what came about with the help of plug-ins. Raises PluginError."""
    from wengert.ir.verification.verifier import verify

    try:
        verify(module)
    except DiagnosticError as error:
        named = [*whose, *(f"the rule of {cls.name} of {owner_of(cls)}" for cls in ops)]
        raise PluginError(f"{' or '.join(named)} left invalid IR", error.render()) from error


def _check_type(whose: str, mode: Mode, function: FuncOp, wanted: FunctionType) -> None:
    if function.function_type != wanted:
        raise PluginError(f"{whose} made a function of type {function.function_type} where the {mode.upper()} has the type {wanted}")


def _type_of_derivative(request: Request, mode: Mode) -> FunctionType:
    """The type that a derivative has."""
    inputs, outputs = list(request.function.function_type.inputs), list(request.function.function_type.outputs)
    moved, asked = [inputs[i] for i in request.wrt], [outputs[j] for j in request.of]
    given, made = (moved, asked) if mode == "jvp" else (asked, moved)
    return FunctionType.from_lists([*inputs, *given], [*outputs, *made])


def derive(module: ModuleOp, make: Callable[[Request, str], FuncOp], fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None) -> None:
    """Replaces ``fn`` by its transform by ``make``, at core level and with all requests for derivatives expanded."""
    prepare(module)
    function = function_named(module, fn)
    replace_function(module, function, [make(make_request(function, wrt, of), fn)])
    _expand_requests(module)


def transpose_functions(module: ModuleOp, fn: str = "", wrt: Sequence[int] | None = None) -> None:
    """Replaces a function that is linear in ``wrt`` by its transpose, in place; without a name, every function that declares its linear arguments.

    ``ad.pushforward``, ``ad.transposed_call`` and ``ad.replay`` are not expanded: these have transposes of their own.
    """
    _to_core(module)
    if ops_of(module, *(cls for cls in REQUESTS if cls not in LINEAR_REQUESTS)):
        _expand_requests(module, replays=False)
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    chosen = [] if fn or wrt is not None else [function for function in functions if linear_arguments(function) is not None]
    for function in chosen or [function_named(module, fn or "main_linear")]:
        positions = linear_arguments(function) if wrt is None else wrt
        replace_function(module, function, [transpose_function(make_request(function, positions), function.sym_name.data)])


def join(module: ModuleOp) -> None:
    """Replaces every function that has a linear part, and this part, by the two joined, in place."""
    pairs = parts_of(module)
    if not pairs:
        raise error_at(module, f"no function of the module has a linear part ({LINEAR_PART}) to be joined with", hint="linearize makes one")
    for pair in pairs:
        replace_function(module, pair.forward, [join_function(pair, pair.forward.sym_name.data)])
    used = {name for op in module.ops for name in references(op)}
    for linear in {pair.linear for pair in pairs}:
        if linear.sym_name.data not in used:
            erase(linear)
    _expand_requests(module)


def replace_function(module: ModuleOp, function: FuncOp, replacements: Sequence[FuncOp]) -> None:
    """Replaces a function by others, in place."""
    for new in replacements:
        insert_before(function, new)
    erase(function)


def prepare(module: ModuleOp) -> None:
    """Rewrites a module to the form that can be differentiated: core level, no requests, only calls of functions that declare their
    derivative, no reductions or scatters by general regions, and only tapes that grow."""
    forget_offloads(module)
    tapes_to_stacks(module)
    _to_core(module)
    _expand_requests(module)


def _to_core(module: ModuleOp) -> None:
    to_core(module, keep_custom=True)
    if ops_of(module, hlo.ReduceOp, hlo.ReduceWindowOp):
        from wengert.transforms.ad.rewrites.reduce_regions import expand_regions  # with all of batching, which most programs do without

        expand_regions(module)
    if ops_of(module, core.AllReduceOp, core.ReduceScatterOp, hlo.AllReduceOp, hlo.ReduceScatterOp):
        from wengert.transforms.ad.rewrites.collective_regions import expand_collectives  # as above

        expand_collectives(module)
    expand_selections(module)
    if ops_of(module, hlo.ScatterOp):
        from wengert.transforms.ad.rewrites.scatter_regions import expand_scatters  # as above

        expand_scatters(module)


def _expand_requests(module: ModuleOp, *, replays: bool = True) -> None:
    if has_requests(module):
        from wengert.transforms.ad.requests.expand import expand_ad  # as above

        expand_ad(module, replays=replays)
    elif replays:
        expand_replays(module)
