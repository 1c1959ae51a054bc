"""Replaces implicit functions by calls of their solvers.

Before and after, of a root that is differentiated no more::

    %x = ad.custom_root @f(%p) initial(%x0), solve = @newton, tangent_solve = @s    ->    %x = call @newton(%p, %x0)

A system that is solved transposed calls its ``transpose_solve``, or the transpose of its ``solve``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects.ad_implicit import IMPLICIT, CustomLinearSolveOp, ImplicitOp
from wengert.ir.attributes import int_array
from wengert.ir.construction import insert_before
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.implicit.equations import check_linear
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import function_named, replace_request


def lower_implicit(module: ModuleOp) -> None:
    """Replaces every implicit function of a core-level module without requests by a call of its solver, in place.

    Raises a DiagnosticError for a map that is not linear, and for a solver that has to be transposed and cannot be.
    """
    for op in ops_of(module, CustomLinearSolveOp):
        check_linear(module, op)
    while pending := [op for op in ops_of(module, CustomLinearSolveOp) if op.is_transposed and op.transpose_solve is None]:
        for op in pending:  # a solver may hold such ops itself, which are transposed with it
            replace_request(op, _transposed_solver(module, op))
        _expand(module)
    for op in ops_of(module, *IMPLICIT):
        solver = function_named(module, _solver(op).string_value())
        results = _before(op, CallOp, {"callee": _solver(op)}, solver.function_type.outputs.data)
        replace_request(op, results[: len(op.results)])


def _solver(op: ImplicitOp) -> SymbolRefAttr:
    """The function that is called in place of an op."""
    return op.transpose_solve if isinstance(op, CustomLinearSolveOp) and op.is_transposed and op.transpose_solve is not None else op.solve


def _transposed_solver(module: ModuleOp, op: CustomLinearSolveOp) -> Sequence[SSAValue]:
    """The transpose of the solver, applied to the right-hand side."""
    solver, first = function_named(module, op.solve.string_value()), len(op.parameters)
    if len(solver.function_type.outputs) != op.count:
        raise refuse(op, f"cannot be solved transposed by @{solver.sym_name.data}, which has results besides the solution", _HINT)
    return _before(op, ad.TransposedCallOp, {"callee": op.solve, "wrt": int_array(range(first, first + op.count))}, [r.type for r in op.results])


_HINT = "give a transpose_solve, which solves the transposed system"


def _before(op: ImplicitOp, cls: type[Operation], properties: dict[str, Attribute], types: Sequence[Attribute]) -> Sequence[SSAValue]:
    """The results of a call that is put before an op, with its operands."""
    call = cls.create(operands=op.operands, result_types=types, properties=properties, location=op.location)
    insert_before(op, call)
    return call.results


def _expand(module: ModuleOp) -> None:
    """Expands the requests, whose errors are about solvers that have no transpose."""
    try:
        expand_ad(module)
    except DiagnosticError as error:
        first, *rest = error.diagnostics
        raise DiagnosticError(structs.replace(first, hint=first.hint or f"a solver is transposed op by op; {_HINT}"), *rest) from None
