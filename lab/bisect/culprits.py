"""Finds the fault within a step: a rewrite, a derivative rule, or an op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wengert.ir.location.places import describe, describe_within
from wengert.lab.bisect.derivatives import EXPECTATIONS
from wengert.lab.bisect.judgement import Point
from wengert.lab.bisect.rewrites import WrongRewrite, find_rewrite
from wengert.lab.bisect.rules import WrongRule, defined_at, rule_of
from wengert.lab.bisect.single_ops import WrongOp, find_op
from wengert.lab.bisect.walk import Broken

Kind = Literal["rewrite", "rule", "transpose", "adjoint", "op"]
_WORDS: dict[Kind, str] = {
    "rewrite": "rewrite",
    "rule": "derivative rule of",
    "transpose": "transpose of",
    "adjoint": "adjoint of",
    "op": "op that it gets wrong by itself:",
}


@dataclass(frozen=True)
class Culprit:
    """The fault within a step.

    Attributes:
        kind: a counted rewrite of the pass; the derivative rule, the transpose or the adjoint of an op; or an op that the step gets wrong by itself.
        name: the name of the rewrite, or of the op whose rule it is.
        op: the name of the op of the program that it is about.
        place: where that was written.
        defined: where our source defines the rewrite or rule, as ``file:line``; empty if that is not known.
        number, of: of a rewrite, its number among all that the pass makes.
        finding: what is wrong with the op alone.
    """

    kind: Kind
    name: str
    op: str
    place: str
    defined: str = ""
    number: int = 0
    of: int = 0
    finding: str = ""

    def __str__(self) -> str:
        about = f", of {self.op} at {self.place}" if self.op != self.name else f", at {self.place}"
        number = f", {self.number} of {self.of} that it makes" if self.number else ""
        defined = f"\n  defined in {self.defined}" if self.defined else ""
        finding = f"\n  alone: {self.finding}" if self.finding else ""
        return f"{_WORDS[self.kind]} {self.name}{number}{about}{defined}{finding}"


def find_culprit(broken: Broken, *, every_rewrite: bool = True) -> tuple[Culprit | None, int]:
    """Finds what is wrong within a step; None if it is wrong without its rewrites, and each op is right by itself. And how many ops there was no time for.

    ``every_rewrite``: whether to look for the rewrite too, which makes and runs the step a dozen times.
    """
    rewrite = find_rewrite(broken.before, broken.step, broken.point, broken.fault) if every_rewrite else None
    if rewrite is not None:
        return _of_rewrite(rewrite), 0
    derivative = broken.step.name in EXPECTATIONS
    stage = broken.before if derivative else broken.values
    point = broken.point if derivative else Point(broken.point.inputs, seed=broken.point.seed)
    wrong, left = find_op(stage.module, (broken.step,) if derivative else broken.behind, point, broken.fault)
    if wrong is None:
        return None, left
    rule = rule_of(wrong, broken.step) if derivative else None
    return _of_op(wrong) if rule is None else _of_rule(wrong, rule), 0


def _of_rewrite(wrong: WrongRewrite) -> Culprit:
    action = wrong.action
    return Culprit("rewrite", action.name, action.op, describe(action.location), _rewrite_defined_at(action.name), action.number, wrong.of)


def _of_rule(wrong: WrongOp, rule: WrongRule) -> Culprit:
    return Culprit(rule.kind, rule.op, wrong.op.name, describe(wrong.op.location), rule.defined, finding=str(wrong.fault))


def _of_op(wrong: WrongOp) -> Culprit:
    return Culprit("op", wrong.op.name, wrong.op.name, describe_within(wrong.op), finding=str(wrong.fault))


def _rewrite_defined_at(name: str) -> str:
    """Where a rewrite of ``simplify`` or a recogniser of ``to-core`` is defined."""
    from wengert.transforms.core.to_core import RECOGNISERS
    from wengert.transforms.optimize.rewrites import REWRITES

    functions = [known.function for known in REWRITES if known.name == name]
    functions += [r for recognisers in RECOGNISERS.values() for r in recognisers if r.__name__.strip("_").replace("_", "-") == name]
    return defined_at(functions[0]) if functions else ""
