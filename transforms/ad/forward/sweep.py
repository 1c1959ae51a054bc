"""The forward sweep: walks a function once, and emits its primal ops, the coefficients of its derivative, and linear ops.

Forward mode and linearization are both this sweep; they differ only in the block that receives the linear ops. Activity is
determined on the way: for an op without tangents only the op itself is emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import copy_op
from wengert.ir.location.locations import Role, rewritten
from wengert.ir.tensor_types import size
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.errors import no_rule, refuse
from wengert.transforms.ad.forward.activity import Known
from wengert.transforms.ad.forward.lengths import Lengths
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.shift_invariance import invariant_values
from wengert.transforms.ad.forward.tangents import check_has_zero, has_tangent
from wengert.transforms.ad.residuals.policies import AUTO, Policy
from wengert.transforms.ad.rule import RULES, STEPS, Rule, Tangent


class ForwardSweep:
    """A forward sweep, with maps from values of the old function to their primals and tangents in the new one."""

    def __init__(self, b: OpBuilder, lb: LinearBuilder, module: ModuleOp, policy: Policy = AUTO):
        self.b = b
        self.lb = lb
        self.module = module
        self.policy = policy
        self.primals: dict[SSAValue, Value] = {}
        self.tangents: dict[SSAValue, Tangent] = {}
        self.invariant: set[SSAValue] = set()
        self.activity: Known = {}
        self.lengths = Lengths()

    def bind(self, old: Sequence[SSAValue], new: Sequence[Value], tangents: Sequence[Tangent]) -> None:
        """Maps values of the old function to their primals and tangents in the new one."""
        for value, primal, x_dot in zip(old, new, tangents, strict=True):
            self.primals[value] = primal
            if x_dot is not None:
                self.tangents[value] = x_dot

    def run(self, ops: Iterable[Operation]) -> None:
        """Sweeps over ops in order."""
        ops = list(ops)
        self.invariant |= invariant_values(ops)
        for op in ops:
            self._step(op)

    def primal(self, value: SSAValue) -> Value:
        """The primal of a value of the old function in the new one."""
        return self.primals[value]

    def tangent(self, value: SSAValue) -> Tangent:
        """The tangent of a value of the old function, None if it is structurally zero."""
        return self.tangents.get(value)

    @property
    def fused(self) -> bool:
        """Whether linear ops are emitted among the primal ones (forward mode) or into another block (linearization)."""
        return self.lb.block is self.b.block

    def nested(self, primal: Block, linear: Block, tangents: Iterable[Value]) -> ForwardSweep:
        """A sweep over the body of an op, into blocks of its own; the body is closed, so the maps start empty."""
        b = OpBuilder(primal, location=self.b.location, pass_name=self.b.pass_name)
        inner = ForwardSweep(b, LinearBuilder(linear, b, tangents), self.module, self.policy)
        inner.activity, inner.lengths = self.activity, self.lengths
        return inner

    def set(self, old: Sequence[SSAValue], primals: Sequence[Value], tangents: Sequence[Tangent]) -> None:
        """Binds results of an op with regions, and marks their tangents as linear.

        A linear map of no tangent is zero: tangents that were computed among the primals, because nothing that they are computed from depends on a
        tangent, are structural zeros. (A value may be active by a function without a derivative, such as floor.) So are those without elements.
        """
        dots = [x_dot if x_dot is not None and self._is_linear(x_dot) and not _is_empty(x_dot) else None for x_dot in tangents]
        self.bind(old, primals, dots)
        self.lb.linear.update(x_dot for x_dot in dots if x_dot is not None)

    def run_instead(self, op: Operation, others: Sequence[Operation]) -> None:
        """Sweeps over ops that compute the same as an op; the last one has its results."""
        self.run(others)
        for old, new in zip(op.results, others[-1].results, strict=True):
            self.bind([old], [self.primal(new)], [self.tangent(new)])
        for each in reversed(others):
            each.drop_all_references()

    def _step(self, op: Operation) -> None:
        step = STEPS.get(type(op))
        if step is not None and any(operand in self.tangents for operand in operands_of(op)):
            with self.b.at(rewritten(op.location, op.name, self.b.pass_name)), self.lb.deriving(op, Role.TANGENT):
                step(self, op)
            return
        new = self._emit_primal(op)
        self.primals.update(zip(op.results, new.results, strict=True))
        x_dots = [self.tangents.get(operand) for operand in operands_of(op)]
        captured = step is None and self._captures_tangent(op)  # a comparator only determines an order, which has no derivative
        if not captured and x_dots.count(None) == len(x_dots):
            return
        if not any(has_tangent(result.type) and result.first_use is not None and result not in self.invariant for result in op.results):
            return
        rule = self._rule(op, captured)
        with self.b.deriving(op, Role.COEFFICIENT), self.lb.deriving(op, Role.TANGENT):
            y_dots = rule(self.b, new)(self.lb, x_dots)
        for result, y_dot in zip(op.results, y_dots, strict=True):
            if y_dot is not None and has_tangent(result.type) and result not in self.invariant and not _is_empty(result):
                check_has_zero(op, result.type)
                self.tangents[result] = y_dot

    def _is_linear(self, x_dot: Value) -> bool:
        return isinstance(x_dot.owner, Block) or x_dot.owner.parent is self.lb.block

    def _rule(self, op: Operation, captured: bool) -> Rule:
        rule = RULES.get(type(op))
        if rule is None:
            raise no_rule(op)
        if captured:
            raise refuse(op, "captures a value with a tangent in its region, which is not supported")
        return rule

    def _emit_primal(self, op: Operation) -> Operation:
        if not op.regions:
            results = self.b.copy(op, [self.primals[operand] for operand in operands_of(op)])
            owner = results[0].owner if results else self.b.block.last_op
            assert isinstance(owner, Operation)
            return owner
        return self.b.insert(copy_op(op, self.primals))

    def _captures_tangent(self, op: Operation) -> bool:
        if not op.regions:
            return False
        return any(operand in self.tangents for inner in op.walk() if inner is not op for operand in operands_of(inner))


def _is_empty(value: SSAValue) -> bool:
    """Whether a value has no elements: nothing depends on its tangent, which is a structural zero."""
    return isinstance(value.type, TensorType) and not size(value)
