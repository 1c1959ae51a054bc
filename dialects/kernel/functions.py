"""Names the scalar functions of the kernel dialect: those of elementwise ops of which facts say that compiled code has them.

Ops whose attributes choose a function have a name for each: ``lt`` and ``total_lt`` for comparisons, ``reduce_precision_e5m10``, and ``trigamma`` for the
only ``polygamma`` that has code, which takes its order 1 along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from xdsl.ir import Operation

from wengert.ir.operations import DialectOperation

COMPARISON = re.compile(r"(total_)?(eq|ne|lt|le|gt|ge)")
PRECISION = re.compile(r"(reduce_precision)_e(\d{1,3})m(\d{1,3})")


@cache
def op_classes() -> Mapping[str, type[Operation]]:
    """The op that each function is of, by name; ``reduce_precision`` stands for all formats."""
    from wengert.dialects.chlo import Chlo
    from wengert.dialects.core import Core
    from wengert.dialects.facts import facts_of
    from wengert.dialects.stablehlo import StableHLO

    known = [(op, facts_of(op)) for dialect in (StableHLO, Chlo, Core) for op in dialect.operations]
    return {name: op for op, facts in known if facts.has_function for name in facts.functions or (op.name.partition(".")[2],)}


def op_class(name: str) -> type[Operation] | None:
    """The op that a function is of; None if there is none of this name."""
    match = PRECISION.fullmatch(name)
    if match is not None:
        return op_classes()[match[1]]
    return op_classes().get(name) if name != "reduce_precision" else None


def is_comparison(name: str) -> bool:
    """Whether a function is a comparison, whose result is i1."""
    return COMPARISON.fullmatch(name) is not None


@cache
def arity(name: str) -> int | None:
    """How many operands a function takes; None if there is none of this name."""
    cls = op_class(name)
    return len(cls.get_irdl_definition().operands) if cls is not None and issubclass(cls, DialectOperation) else None
