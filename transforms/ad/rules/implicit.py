"""Derivatives of values that are given by an equation: another linear system, with the equation's derivative on the right.

What solves the equation is not differentiated: a forward sweep goes over the equation once, at the solution, so that the memory of a derivative
does not depend on how many iterations the solver made, and its error is that of the two solutions. The implicit function theorem is the method of A. Griewank,
A. Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, chapter 15; B. Christianson, "Reverse accumulation and implicit functions", Optimization
Methods and Software 9, 1998; M. Blondel et al., "Efficient and Modular Implicit Differentiation", NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.dialects.ad_implicit import CustomFixedPointOp, CustomLinearSolveOp, CustomRootOp, ImplicitOp
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import bool_attr, int_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.implicit.equations import check_linear, derivative_in_unknowns, equation_of, transposed_map
from wengert.transforms.ad.linear.transpose_ops import affine_op
from wengert.transforms.ad.linear.zeros import is_zero
from wengert.transforms.ad.rule import STEPS, Tangent, transpose


def _linear_solve(sweep: ForwardSweep, op: CustomLinearSolveOp) -> None:
    """a(p) x = b: dx = a(p)^-1 (db - da x), by the same solver."""
    results = sweep.b.copy(op, [sweep.primal(v) for v in op.operands])
    check_linear(sweep.module, op)
    b_dots = [sweep.tangent(b) for b in op.given]
    if any(sweep.tangent(p) is not None for p in op.parameters):
        function = transposed_map(sweep.module, op) if op.is_transposed else equation_of(sweep.module, op)
        products = _along_parameters(sweep, op, function, results)
        b_dots = [_difference(sweep.lb, b_dot, product) for b_dot, product in zip(b_dots, products, strict=True)]
    _solve(sweep, op, results, [sweep.primal(p) for p in op.parameters], b_dots, op.properties)


def _equation(sweep: ForwardSweep, op: CustomRootOp | CustomFixedPointOp) -> None:
    """f(p, x) = 0: df/dx dx = -df/dp dp; g(p, x) = x: (1 - dg/dx) dx = dg/dp dp."""
    results = sweep.b.copy(op, [sweep.primal(v) for v in op.operands])
    if not any(sweep.tangent(p) is not None for p in op.parameters):
        sweep.bind(op.results, results, [None] * len(results))
        return
    y_dots = _along_parameters(sweep, op, equation_of(sweep.module, op), results)
    if isinstance(op, CustomRootOp):
        y_dots = [None if y_dot is None else sweep.lb.negate(y_dot) for y_dot in y_dots]
    parameters = [*(sweep.primal(p) for p in op.parameters), *results[: op.count]]
    _solve(sweep, op, results, parameters, y_dots, tangent_system(op, derivative_in_unknowns(sweep.module, op)))


STEPS[CustomLinearSolveOp] = _linear_solve
STEPS[CustomRootOp] = STEPS[CustomFixedPointOp] = _equation


def tangent_system(op: CustomRootOp | CustomFixedPointOp, derivative: FuncOp) -> dict[str, Attribute]:
    """The properties of the linear system that tangents of an implicit function are the solution of."""
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(derivative.sym_name.data), "solve": op.tangent_solve}
    if op.transpose_solve is not None:
        properties["transpose_solve"] = op.transpose_solve
    return properties


def _along_parameters(sweep: ForwardSweep, op: ImplicitOp, equation: FuncOp, results: Sequence[Value]) -> list[Tangent]:
    """The tangents of what an equation's function gives at the solution, where parameters move and the solution does not."""
    block = equation.body.block
    inner = ForwardSweep(sweep.b, sweep.lb, sweep.module, sweep.policy)
    primals = [*(sweep.primal(p) for p in op.parameters), *results[: op.count]]
    inner.bind(block.args, primals, [*(sweep.tangent(p) for p in op.parameters), *[None] * op.count])
    inner.run(list(block.ops)[:-1])
    return [inner.tangent(y) for y in terminator_operands(block)]


def _difference(lb: OpBuilder, x: Tangent, y: Tangent) -> Tangent:
    if y is None:
        return x
    return lb.negate(y) if x is None else lb.subtract(x, y)


def _solve(
    sweep: ForwardSweep, op: ImplicitOp, results: Sequence[Value], parameters: Sequence[Value], b_dots: Sequence[Tangent], properties: dict[str, Attribute]
) -> None:
    """Binds the solution, and the solution of the same system for tangents as its tangent."""
    unknowns = results[: op.count]
    if all(b_dot is None for b_dot in b_dots):
        sweep.bind(op.results, results, [None] * len(results))
        return
    right = [materialized(sweep.lb, b_dot, x.type) for b_dot, x in zip(b_dots, unknowns, strict=True)]
    properties = {key: value for key, value in properties.items() if key != "aux"}
    x_dots = sweep.lb.create(CustomLinearSolveOp, [*parameters, *right], [x.type for x in unknowns], properties)
    sweep.set(op.results, results, [*x_dots, *[None] * op.others])


@transpose(CustomLinearSolveOp)
def linear_solve_transpose(b: OpBuilder, op: CustomLinearSolveOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    # x = a^-1 b  <->  b_bar = a^-T x_bar
    count = len(op.parameters)
    if any(linear[:count]):
        raise refuse(op, "is linear in its right-hand side only")
    if any(not flag and not is_zero(given) for given, flag in zip(op.given, linear[count:], strict=True)):
        raise affine_op(op)
    right = [materialized(b, y_bar, x.type) for y_bar, x in zip(y_bars, op.results[: op.count], strict=False)]
    x_bars = transposed_solution(b, op.properties, op.parameters, right)
    return [*[None] * count, *(x_bar if flag else None for x_bar, flag in zip(x_bars, linear[count:], strict=True))]


def transposed_solution(b: OpBuilder, properties: dict[str, Attribute], parameters: Sequence[Value], right: Sequence[Value]) -> Sequence[Value]:
    """The solution of the transpose of the system with these properties and parameters."""

    def holds(name: str) -> bool:
        return name in properties and bool(int_of(properties[name]))

    turned = {key: value for key, value in properties.items() if key not in ("aux", "transposed")}
    if not holds("symmetric") and not holds("transposed"):
        turned["transposed"] = bool_attr(True)
    return b.create(CustomLinearSolveOp, [*parameters, *right], [y_bar.type for y_bar in right], turned)
