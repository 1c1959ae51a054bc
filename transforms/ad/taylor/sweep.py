"""The sweep of Taylor mode: walks a block once, and emits for each op the Taylor coefficients of its results.

==========================  ========================================================================================================
linear ops                  ``y_j = f(x_j)``: the linear map of their derivative rule
products                    ``y_j = sum f(x_i, w_{j-i})`` (Cauchy)
ops with a recurrence       as they declare it (:mod:`~wengert.transforms.ad.taylor.recurrences`)
values of equations         one linear system for each order (:mod:`~wengert.transforms.ad.taylor.implicit`)
loops, branches             carry the coefficients (:mod:`~wengert.transforms.ad.taylor.control`)
all other ops               their derivative rule as a differential equation (:mod:`~wengert.transforms.ad.taylor.by_rule`)
==========================  ========================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import ad, core
from wengert.dialects.ad_implicit import ImplicitOp
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import facts_of
from wengert.ir.location.locations import Role
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.errors import no_rule, refuse
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.rule import INACTIVE, RULES, STEPS, Tangent
from wengert.transforms.ad.taylor import by_rule, control, factorisations, powers, systems
from wengert.transforms.ad.taylor.implicit import implicit
from wengert.transforms.ad.taylor.recurrences import RECURRENCES
from wengert.transforms.ad.taylor.series import Compute, Series, total
from wengert.transforms.core.closing import free_values

_DECLARED = (powers, systems, factorisations)
"""Modules that declare recurrences."""


class TaylorSweep:
    """A sweep into one block.

    Attributes:
        b: the builder of the block.
        module: where functions are looked up that ops call.
        order: the highest order that is wanted.
        depth: 0 for a program's own ops; more for ops of derivative rules, and of rules of these.
    """

    def __init__(self, b: OpBuilder, module: ModuleOp, order: int):
        self.b = b
        self.module = module
        self.order = order
        self.depth = 0
        self._applied: dict[tuple[Any, ...], list[Series]] = {}

    def run(self, ops: Iterable[Operation], series: dict[SSAValue, Series]) -> None:
        """Sweeps over ops in order; ``series`` has the values that they use and receives those that they make."""
        for op in ops:
            with self.b.deriving(op, Role.TANGENT):
                results = self.apply(op, series)
                for result, made in zip(op.results, results, strict=True):
                    series[result] = made
                    if result.first_use is not None:
                        for j in range(1, self.order + 1):
                            made.at(j)

    def apply(self, op: Operation, series: dict[SSAValue, Series]) -> list[Series]:
        """The series of an op's results."""
        key = None
        if not op.regions:
            used = [(result.type, result.first_use is None) for result in op.results]
            key = (type(op), *op.properties.items(), *op.attributes.items(), *used, *(series[value] for value in operands_of(op)))
        if key is not None and key in self._applied:
            return self._applied[key]
        made = self._apply(op, series)
        if key is not None:
            self._applied[key] = made
        return made

    def _apply(self, op: Operation, series: dict[SSAValue, Series]) -> list[Series]:
        own: Any = self  # the modules beside this one know its class by name only
        operands = [series[value] for value in operands_of(op)]
        moving = any(not x.is_constant for x in operands)
        if moving and isinstance(op, core.ForOp | core.WhileOp):
            return control.loop(own, op, operands)
        if moving and isinstance(op, core.CaseOp):
            return control.case(own, op, operands)
        if moving and isinstance(op, ad.CheckpointOp):
            return control.checkpoint(own, op, operands)
        if moving and isinstance(op, ImplicitOp):
            return implicit(own, op, operands)
        if moving and type(op) in STEPS:
            return by_rule.step(own, op, series)
        captured = bool(op.regions) and any(not series[value].is_constant for value in free_values(op.regions))
        new = self.primal(op, series)
        if captured and type(op) not in INACTIVE:
            raise refuse(op, "captures a value with a tangent in its region, which is not supported")
        if not moving or type(op) in INACTIVE or not any(has_tangent(result.type) and result.first_use is not None for result in op.results):
            return [Series(result) for result in new.results]
        if type(op) not in RULES:
            raise no_rule(op)
        first = self._of_first_result(op, new, operands)
        if first is not None:
            return [first, *(Series(result) for result in new.results[1:])]
        linear = set(facts_of(type(op)).linear_operands(len(operands)))
        if all(x.is_constant or n in linear for n, x in enumerate(operands)):
            return self.linear(new, operands)
        return by_rule.results(own, op, new, series)

    def _of_first_result(self, op: Operation, new: Operation, operands: Sequence[Series]) -> Series | None:
        """The series of the first result of an op that is a product or has a recurrence (others do not change); None for another op."""
        if facts_of(type(op)).bilinear:
            return self._product(new, operands)
        rule = RECURRENCES.get(type(op))
        return None if rule is None else rule(self.b, new, operands)

    def _product(self, new: Operation, operands: Sequence[Series]) -> Series:
        """``y_j = sum_i f(x_i, w_{j-i})``."""
        x, w, *rest = operands

        def term(i: int, k: int) -> Tangent:
            first, second = x.at(i), w.at(k)
            if first is None or second is None:
                return None
            return self.b.create(type(new), [first, second, *(r.primal for r in rest)], [r.type for r in new.results], new.properties)[0]

        def compute(j: int) -> Tangent:
            return total(self.b, [term(i, j - i) for i in range(j + 1)])

        return Series(new.results[0], compute)

    def linear(self, new: Operation, operands: Sequence[Series]) -> list[Series]:
        """The series of the results of an op that is linear in all operands that change: its linear map at each order."""
        maps: dict[int, Sequence[Tangent]] = {}

        def at(j: int) -> Sequence[Tangent]:
            if j not in maps:
                x_js = [x.at(j) for x in operands]
                present = [x for x in x_js if x is not None]
                rule, lb = RULES[type(new)], LinearBuilder(self.b.block, self.b, present)
                lb.location = self.b.location
                maps[j] = rule(self.b, new)(lb, x_js) if present else [None] * len(new.results)
            return maps[j]

        def compute(n: int) -> Compute:
            return lambda j: at(j)[n]

        return [Series(result, compute(n)) if has_tangent(result.type) else Series(result) for n, result in enumerate(new.results)]

    def primal(self, op: Operation, series: dict[SSAValue, Series]) -> Operation:
        """The op on the primals of its operands, in the new block."""
        if not op.regions:
            results = self.b.copy(op, [series[value].primal for value in operands_of(op)])
            owner = results[0].owner if results else self.b.block.last_op
        else:
            used = (*operands_of(op), *free_values(op.regions))
            owner = self.b.insert(op.clone(value_mapper={value: series[value].primal for value in used}))
        assert isinstance(owner, Operation)
        return owner

    def nested(self, block: Block) -> TaylorSweep:
        """A sweep into the body of an op."""
        return TaylorSweep(OpBuilder(block, location=self.b.location, pass_name=self.b.pass_name), self.module, self.order)

    def coefficients(self, x: Series, order: int) -> list[Tangent]:
        """x_1, ..., up to an order."""
        return [x.at(j) for j in range(1, order + 1)]


def values_of(coefficients: Iterable[Tangent]) -> list[Value]:
    """Those that are there."""
    return [x for x in coefficients if x is not None]
