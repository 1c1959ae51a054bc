"""Taylor coefficients of values that are given by an equation: one linear system for each order, all with the same matrix.

Along a path ``f(p(t), x(t)) = 0``, and coefficient j of the left-hand side is ``J x_j`` plus what it is with x_j left out, J = df/dx at the point. So

    J x_j = -(coefficient j of f(p(t), x_0 + ... + x_{j-1} t^{j-1}))

and of a linear system ``a(p(t)) x(t) = b(t)`` likewise, ``a x_j = b_j - (coefficient j of a(p(t)) (x_0 + ...))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.ad_implicit import CustomFixedPointOp, CustomLinearSolveOp, CustomRootOp, ImplicitOp
from wengert.dialects.builder import Value
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.implicit.equations import check_linear, derivative_in_unknowns, equation_of, transposed_map
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.implicit import tangent_system
from wengert.transforms.ad.taylor.series import Compute, Series, given

if TYPE_CHECKING:
    from wengert.transforms.ad.taylor.sweep import TaylorSweep


def implicit(sweep: TaylorSweep, op: ImplicitOp, operands: Sequence[Series]) -> list[Series]:
    """The series of the unknowns; what the solver gives besides does not change."""
    results = sweep.b.copy(op, [x.primal for x in operands])
    parameters, right = operands[: len(op.parameters)], operands[len(op.parameters) :]
    moving = parameters if isinstance(op, CustomRootOp | CustomFixedPointOp) else operands
    if all(x.is_constant for x in moving):
        return [Series(result) for result in results]
    equations = _Equations(sweep, op, parameters, right, results[: op.count])

    def compute(n: int) -> Compute:
        return lambda j: equations.solution(j)[n]

    return [*(Series(x, compute(n)) for n, x in enumerate(results[: op.count])), *(Series(other) for other in results[op.count :])]


class _Equations:
    """The systems for the coefficients of the unknowns, each solved when it is asked for."""

    def __init__(self, sweep: TaylorSweep, op: ImplicitOp, parameters: Sequence[Series], right: Sequence[Series], unknowns: Sequence[Value]):
        self.sweep, self.op, self.parameters, self.right, self.unknowns = sweep, op, parameters, right, unknowns
        self._known: list[Sequence[Tangent]] = [list(unknowns)]
        primals = [p.primal for p in parameters]
        self.function: FuncOp
        if isinstance(op, CustomLinearSolveOp):
            check_linear(sweep.module, op)
            self.function = transposed_map(sweep.module, op) if op.is_transposed else equation_of(sweep.module, op)
            self._system, properties = primals, op.properties
        else:
            assert isinstance(op, CustomRootOp | CustomFixedPointOp)
            self.function = equation_of(sweep.module, op)
            self._system, properties = [*primals, *unknowns], tangent_system(op, derivative_in_unknowns(sweep.module, op))
        self._properties: dict[str, Attribute] = {key: value for key, value in properties.items() if key != "aux"}

    def solution(self, j: int) -> Sequence[Tangent]:
        """The coefficients of order j."""
        while len(self._known) <= j:
            self._known.append(self._solved(len(self._known)))
        return self._known[j]

    def _solved(self, j: int) -> Sequence[Tangent]:
        b = self.sweep.b
        rest = [self._right_side(y_j, right.at(j)) for y_j, right in zip(self._without(j), self.right, strict=True)]
        if all(x is None for x in rest):
            return rest
        right = [materialized(b, value, x.type) for value, x in zip(rest, self.unknowns, strict=True)]
        return b.create(CustomLinearSolveOp, [*self._system, *right], [x.type for x in self.unknowns], self._properties)

    def _right_side(self, y_j: Tangent, b_j: Tangent) -> Tangent:
        """From coefficient j of the function without x_j, and that of what else is given."""
        if isinstance(self.op, CustomFixedPointOp):
            return y_j
        turned = None if y_j is None else self.sweep.b.negate(y_j)
        if isinstance(self.op, CustomRootOp) or b_j is None:
            return turned
        return b_j if y_j is None else self.sweep.b.subtract(b_j, y_j)

    def _without(self, j: int) -> list[Tangent]:
        """Coefficient j of the function, where that of the unknowns is zero."""
        unknowns = [given(x, [self._known[i][n] for i in range(1, j)]) for n, x in enumerate(self.unknowns)]
        block = self.function.body.block
        series: dict[SSAValue, Series] = dict(zip(block.args, [*self.parameters, *unknowns], strict=True))
        for op in list(block.ops)[:-1]:
            series.update(zip(op.results, self.sweep.apply(op, series), strict=True))
        return [series[y].at(j) for y in terminator_operands(block)]
