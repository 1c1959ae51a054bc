"""Derivatives of the ops that are linear or bilinear by their facts: the op itself, on tangents. The files of the families have their transposes."""

from __future__ import annotations

from wengert.dialects.ad import AD
from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo import StableHLO
from wengert.transforms.ad.rule import RULES, bilinear, linear


def declare_linear_ops() -> None:
    """Declares the linear and bilinear ops without a rule of their own. (Some have one that exploits structural zeros, or other active operands.)"""
    for op in (op for dialect in (StableHLO, Chlo, Core, AD) for op in dialect.operations if op not in RULES):
        facts = facts_of(op)
        if facts.bilinear:
            bilinear(op)
        elif facts.linear:
            linear(op, operands=None if facts.linear == "all" else facts.linear)
