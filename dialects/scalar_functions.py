"""Scalar functions by name: what the facts of elementwise ops say of ``kernel.apply``, whose functions are those ops on one element."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation, SSAValue

from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import Effort, Facts, facts_of
from wengert.dialects.kernel import ApplyOp
from wengert.dialects.stablehlo import StableHLO
from wengert.ir.traversal import operands_of

_item = tuple[SSAValue, ...].__getitem__
"""Asked for every op of every kernel; xDSL's own indexing of operands takes twenty times as long."""


def scalar_name(cls: type[Operation]) -> str:
    """The name of an op's scalar function, if its attributes say no more: the op's own without the dialect's."""
    return cls.name.partition(".")[2]


@cache
def _by_name() -> dict[str, Facts]:
    known = [(cls, facts_of(cls)) for dialect in (StableHLO, Chlo, Core) for cls in dialect.operations]
    return {name: facts for cls, facts in known if facts.has_function for name in facts.functions or (scalar_name(cls),)}


@cache
def function_facts(name: str) -> Facts:
    """The facts of the op that a function is of. Some names end with numbers: ``reduce_precision_e5m2``."""
    return _by_name().get(name) or _by_name()[name.rpartition("_")[0]]


def effort(op: ApplyOp) -> Effort:
    """The effort of a function on its operands."""
    element = _item(operands_of(op), -1).type
    needed = function_facts(op.function.data).effort(element)
    assert needed is not None, f"{op.function.data} has no code on {element}"
    return needed
