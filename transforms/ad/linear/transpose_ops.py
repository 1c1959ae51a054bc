"""Transposition of linear ops, in a walk backward from cotangents of results to cotangents of inputs.

Each linear op is replaced by its transpose; a value used several times receives the sum of its users' contributions. An
op whose results have no cotangent is skipped: structural zeros flow backward as they flow forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.dialects.facts import facts_of
from wengert.ir.construction import copy_region
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.locations import Role, derived, provenance, with_role
from wengert.ir.tensor_types import type_of
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.linear.affine import adds_a_constant
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, TRANSPOSES


def copy_linear(ops: Iterable[Operation], env: dict[SSAValue, SSAValue], lb: LinearBuilder, *, affine: bool = False, take: bool = False) -> None:
    """Copies the body of a linear function, renaming by ``env``: linear ops through ``lb``, all others through its primal
    builder, so that the coefficients are in the block of the transposes.

    With ``take`` the regions of ops go over to their copies, and the ops are of no use afterwards.

    Raises a DiagnosticError for an op that adds a nonzero term without tangents, as far as this can be decided, unless the function may be affine.
    """
    for op in ops:
        operands = [env[operand] for operand in operands_of(op)]
        if not affine:
            operands = _with_zeros(op, operands, lb)
        target = lb.primal if lb.linear.isdisjoint(operands) else lb
        if op.regions:
            # closed, so there is nothing to rename inside
            regions = [op.detach_region(region) for region in list(op.regions)] if take else [copy_region(region) for region in op.regions]
            with target.at(op.location if target is lb else with_role(op.location, Role.COEFFICIENT)):
                results = target.create(type(op), operands, [r.type for r in op.results], op.properties, regions)
        else:
            results = lb.copy(op, operands) if target is lb else _copy_coefficient(lb.primal, op, operands)
        env.update(zip(op.results, results, strict=True))


def _copy_coefficient(b: OpBuilder, op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Copies an op of a linear function that does not depend on a tangent, whatever it is derived from: what it computes is a coefficient."""
    results = b.copy(op, operands)
    owner = results[0].owner if results else None
    if isinstance(owner, Operation) and owner.location is op.location:
        owner.location = with_role(op.location, Role.COEFFICIENT)
    return results


def _with_zeros(op: Operation, operands: Sequence[SSAValue], lb: LinearBuilder) -> Sequence[SSAValue]:
    """The operands of an op, with explicit zeros for terms without tangents that it adds to a tangent (these are taken to be zero)."""
    flags = [operand in lb.linear for operand in operands]
    if adds_a_constant(op, operands, flags):
        raise affine_op(op)
    positions = facts_of(type(op)).linear_operands(len(operands))
    if not any(flags[i] for i in positions) or all(flags[i] for i in positions):
        return operands
    return [lb.primal.zeros(type_of(operand)) if i in positions and not flags[i] else operand for i, operand in enumerate(operands)]


def affine_op(op: Operation) -> DiagnosticError:
    """The error to raise for an op that makes a function affine which was declared linear."""
    return refuse(op, "adds something that does not depend on a tangent, so that the function is affine, not linear, and has no transpose")


def not_linear(op: Operation) -> DiagnosticError:
    """The error to raise for an op that has no transpose. A call that is left has a rule of its own, which says nothing about tangents."""
    if isinstance(op, CallOp):
        hint = "functions with a reverse rule have forward derivatives only where that rule is written in linear ops of its cotangents"
        return refuse(op, f"of @{op.callee.string_value()}, which declares its own derivative, is not linear: it has no transpose", hint)
    return refuse(op, "is not a linear op: it has no transpose")


def _is_linear(op: Operation, flags: Sequence[bool]) -> bool:
    """Whether an op is linear in the flagged operands jointly; an op without a transpose is refused elsewhere."""
    facts = facts_of(type(op))
    if facts.bilinear:
        return not (flags[0] and flags[1])
    positions = facts.linear_operands(len(flags))
    return not positions or all(position in positions for position, flag in enumerate(flags) if flag)


def _transposed(op: Operation, pass_name: str) -> LocationAttr:
    """The location of the transpose of a linear op: of what the op was derived from, or of the op if a user wrote it."""
    location = with_role(op.location, Role.COTANGENT)
    return derived(op, Role.COTANGENT, pass_name) if location is op.location and provenance(location) is None else location


def transpose_ops(b: OpBuilder, ops: Iterable[Operation], linear: set[SSAValue], cotangents: Cotangents) -> None:
    """Transposes linear ops, given from the last to the first; ``linear`` is the set of values that depend on a tangent."""
    for op in ops:
        y_bars = [cotangents.take(result) for result in op.results]
        if y_bars.count(None) == len(y_bars):
            continue
        is_linear = [operand in linear for operand in operands_of(op)]
        step = TRANSPOSE_STEPS.get(type(op))
        rule: Any = TRANSPOSES.get(type(op))
        if step is None and rule is None:
            raise not_linear(op)
        if not _is_linear(op, is_linear):
            raise refuse(op, "is not linear in its operands that depend on a tangent, so it has no transpose")
        with b.at(_transposed(op, b.pass_name)):
            if step is not None:
                step(b, op, is_linear, y_bars, cotangents)
                continue
            x_bars = rule(b, op, is_linear, y_bars)
            for operand, flag, x_bar in zip(operands_of(op), is_linear, x_bars, strict=True):
                if flag:
                    cotangents.add(operand, x_bar)
