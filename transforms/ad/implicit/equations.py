"""The linear maps that belong to equations, as functions of the module.

Of f(p, x) = 0 the derivative in x is a function ``(p, x, v) -> J v``, made by forward mode; of a linear system that is solved transposed, the map
is ``(p, y) -> a(p, .)^T y``, made by transposition. A function that is said to be linear is checked op by op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.ad_implicit import CustomFixedPointOp, CustomLinearSolveOp, CustomRootOp, ImplicitOp
from wengert.dialects.facts import facts_of
from wengert.ir.construction import copy_op
from wengert.ir.location.places import error_at
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.jvp import jvp_function
from wengert.transforms.ad.function import begin_function, detach_body, finish_function, pop_return, terminator_operands
from wengert.transforms.ad.linear.affine import adds_a_constant
from wengert.transforms.ad.linear.transpose import transpose_function
from wengert.transforms.ad.linear.zeros import is_zero
from wengert.transforms.ad.requests.request import fresh_name, function_named, make_request
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, TRANSPOSES


def equation_of(module: ModuleOp, op: ImplicitOp) -> FuncOp:
    """The function that says the equation."""
    return function_named(module, op.callee.string_value())


def derivative_in_unknowns(module: ModuleOp, op: CustomRootOp | CustomFixedPointOp) -> FuncOp:
    """A new private function ``(p, x, v) -> J v``, with J = df/dx for a root f(p, x) = 0 and J = 1 - dg/dx for a fixed point g(p, x) = x."""
    function, first, count = equation_of(module, op), len(op.parameters), op.count
    name = fresh_name(module, f"{function.sym_name.data}_tangent")
    body = detach_body(jvp_function(make_request(function, range(first, first + count), range(count)), name))
    y_dots = pop_return(body)[count:]
    if isinstance(op, CustomFixedPointOp):
        b = begin_function(body, function, "jvp")
        x_dots = body.args[first + count :]
        y_dots = [b.subtract(x_dot, y_dot) for x_dot, y_dot in zip(x_dots, y_dots, strict=True)]
    return _added(module, finish_function(body, y_dots, name, function))


def transposed_map(module: ModuleOp, op: CustomLinearSolveOp) -> FuncOp:
    """A new private function ``(p, y) -> a(p, .)^T y`` for the linear map a(p, .) of a system."""
    function, first = equation_of(module, op), len(op.parameters)
    copy = copy_op(function, {})  # transposition takes over the body of its function
    module.body.block.add_op(copy)
    name = fresh_name(module, f"{function.sym_name.data}_transpose")
    copy.sym_name = StringAttr(fresh_name(module, f"{name}_source"))
    made = transpose_function(make_request(copy, range(first, first + op.count)), name)
    module.body.block.erase_op(copy, safe_erase=False)
    made.attributes.clear()
    return _added(module, made)


def _added(module: ModuleOp, function: FuncOp) -> FuncOp:
    function.properties["sym_visibility"] = StringAttr("private")
    module.body.block.add_op(function)
    return function


def check_linear(module: ModuleOp, op: CustomLinearSolveOp) -> None:
    """Raises a DiagnosticError where the map of a system is seen not to be linear, at the op that is not."""
    function, first = equation_of(module, op), len(op.parameters)
    problem = nonlinearity(function, range(first, first + op.count))
    named = f"@{function.sym_name.data}, which {op.name} takes for a linear map"
    if isinstance(problem, FuncOp):
        raise error_at(function, f"a result of {named}, does not depend on the unknown and is not zero", hint=_NONLINEAR)
    if problem is not None:
        raise refuse(problem, f"is not linear in the unknown of {named}", _NONLINEAR)


_NONLINEAR = "a system is linear in its unknown; an equation that is not is an ad.custom_root (wg.custom_root)"


def nonlinearity(function: FuncOp, positions: Sequence[int]) -> Operation | None:
    """An op for which a function is not linear in these arguments, as far as can be seen without looking into loops, branches and calls; the function itself
    for a result that does not depend on them and is not zero; None where there is none."""
    linear: set[SSAValue] = {function.body.block.args[i] for i in positions}
    for op in function.body.block.ops:
        operands = operands_of(op)
        if not op.results or linear.isdisjoint(operands):
            continue
        if not _may_be_linear(op, [operand in linear for operand in operands]):
            return op
        linear.update(op.results)
    results = terminator_operands(function.body.block)
    return function if any(value not in linear and not is_zero(value) for value in results) else None


def _may_be_linear(op: Operation, flags: Sequence[bool]) -> bool:
    """Whether an op is linear in the flagged operands; one with a body, or a call, may be."""
    if op.regions or isinstance(op, CallOp):
        return True
    if type(op) not in TRANSPOSES and type(op) not in TRANSPOSE_STEPS:
        return False
    if isinstance(op, CustomLinearSolveOp):
        return not any(flags[: len(op.parameters)])
    facts = facts_of(type(op))
    if facts.bilinear:
        return not (flags[0] and flags[1])
    positions = facts.linear_operands(len(flags))
    if positions and any(flag and i not in positions for i, flag in enumerate(flags)):
        return False
    return not adds_a_constant(op, operands_of(op), flags)
