"""Ops that are defined by others: what they compute is what their expansions compute."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.ops import elementwise, random, reduction, shape  # noqa: F401  # pyright: ignore[reportUnusedImport]  (whose rules come first)
from wengert.runtime.interpreter.rules import EVALUATION_RULES, Function, Scope, evaluates_in_scope, one_or_tuple
from wengert.transforms.core.compound import EXPANSIONS, expand
from wengert.transforms.core.functions import EXPANSIONS as EXPANSIONS_OF_PLUGINS

_OWN = {op: EVALUATION_RULES[op] for op in EXPANSIONS if op in EVALUATION_RULES}
"""The rules of ops that have one besides: for those that have no expansion in themselves, such as random numbers of the standard distributions."""


@evaluates_in_scope(*EXPANSIONS)
def compound(op: Operation, scope: Scope) -> Function:
    """The expansion as a function of the operands. What the op's regions capture is captured by the expansion."""
    block = Block(arg_types=[value.type for value in op.operands])
    b = OpBuilder(block, location=op.location, pass_name="expand-compound")
    given = [_constant_again(b, value) or argument for value, argument in zip(op.operands, block.args, strict=True)]
    results = expand(b, op.clone(value_mapper=dict(zip(op.operands, given, strict=True))))
    if results is None:
        if type(op) in _OWN:
            return _OWN[type(op)](op, scope)
        raise UnsupportedOpError(op, "cannot be run where shapes are not known")
    block.add_op(hlo.ReturnOp.create(operands=list(results)))
    run = scope.uncounted_region(Region([block]))

    def call(*operands: Any) -> Any:
        return one_or_tuple(op, run(*operands))

    return call


def expanded(op: Operation, scope: Scope) -> Function:
    """An op of a plug-in that has no rule of its own, by its expansion."""
    block = Block(arg_types=[value.type for value in op.operands])
    results = EXPANSIONS_OF_PLUGINS[type(op)](OpBuilder(block, location=op.location), op.clone(value_mapper=dict(zip(op.operands, block.args, strict=True))))
    if results is None:
        raise UnsupportedOpError(op, "is not written out in other ops for these types")
    block.add_op(hlo.ReturnOp.create(operands=list(results)))
    run = scope.uncounted_region(Region([block]))
    return lambda *operands: one_or_tuple(op, run(*operands))


def _constant_again(b: OpBuilder, value: SSAValue) -> SSAValue | None:
    """An operand that is a constant, for expansions that look at it."""
    return b.copy(value.owner, ())[0] if isinstance(value.owner, hlo.ConstantOp) else None
