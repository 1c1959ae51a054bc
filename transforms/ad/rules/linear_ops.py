"""Derivatives of the ops that are linear by their facts: the op itself, applied to tangents. Their transposes are in the files of their families."""

from __future__ import annotations

from wengert.dialects.ad import AD
from wengert.dialects.chlo import Chlo
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo import StableHLO
from wengert.transforms.ad.rule import linear

for dialect in (StableHLO, Chlo, AD):
    for op in dialect.operations:
        operands = facts_of(op).linear
        if operands:
            linear(op, operands=None if operands == "all" else operands)
