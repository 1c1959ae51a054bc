"""The rules by which the ops of a document were derived: their line of mathematics, and where they are declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.ir.location.locations import Role
from wengert.lab.provenance.rules import rule_of, sum_of_uses
from wengert.transforms.ad.rule import RULES, STEPS


def rules_of(derivations: Iterable[str], strategy: str) -> dict[str, dict[str, Any]]:
    """The rules of derivations as the columns of ops write them (``vjp/cotangent/stablehlo.sine``), each under its last step; steps whose rule is not known
    are left out."""
    classes = {cls.name: cls for table in (RULES, STEPS) for cls in table}
    rules: dict[str, dict[str, Any]] = {}
    for step in dict.fromkeys(derivation.split(" < ")[0] for derivation in derivations):
        _, _, rest = step.partition("/")
        role, _, op = rest.partition("/")
        cls = classes.get(op)
        rule = sum_of_uses() if role == Role.ACCUMULATION else rule_of(cls, strategy) if cls is not None else None
        if rule is not None:
            rules[step] = {"math": rule.math, "kind": rule.kind, "op": rule.op_name, "place": rule.place}
    return rules
