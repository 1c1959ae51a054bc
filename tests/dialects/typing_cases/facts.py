"""Cases of the ops whose typing rule is a fact: operands and result have one type, of elements that the op takes (see ``notation``)."""

from __future__ import annotations

from typing_cases.notation import case

from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo import StableHLO
from wengert.dialects.stablehlo.base import BinaryOp
from wengert.ir.element_classes import BOOLEAN, COMPLEX, FLOAT, SIGNED

ELEMENTS = {BOOLEAN: "i1", SIGNED: "i32", FLOAT: "f64", COMPLEX: "c128"}
WELL: list[str] = []
ILL: list[tuple[str, str]] = []

for op in (op for dialect in (StableHLO, Chlo, Core) for op in dialect.operations if facts_of(op).one_type):
    for bit, element in ELEMENTS.items():
        x = f"2x{element}"
        operands = f"{x}, {x}" if issubclass(op, BinaryOp) else x
        if facts_of(op).takes & bit:
            WELL.append(case(op.name, f"{operands} -> {x}"))
            ILL.append((case(op.name, f"{operands} -> 3x{element}"), "does not match the inferred"))
        else:
            ILL.append((case(op.name, f"{operands} -> {x}"), f"{op.name} takes "))
