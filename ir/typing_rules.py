"""The typing rule of each op class: one function that decides whether an op is well-typed.

A rule is called after the op's structure was checked (numbers of operands, results and regions; the kinds of its
properties), so that it may index them freely. It raises VerifyException with a message that states what is wrong.
It may look at the op's operand and result types, its properties and its regions, and at nothing else: the verifier
does not ask again about an op without regions that has the types and properties of one that it has accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

TypingRule = Callable[[Any], None]
Rule = TypeVar("Rule", bound=TypingRule)

TYPING_RULES: dict[type[Operation], TypingRule] = {}
"""The typing rule of each op class."""


class TypingError(VerifyException):
    """What is wrong with an op, and what might be meant."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


def typing_rule(*classes: type[Operation]) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the typing rule of these op classes."""

    def register(rule: Rule) -> Rule:
        for cls in classes:
            if cls in TYPING_RULES:
                raise ValueError(f"{cls.name} has a typing rule already")
            TYPING_RULES[cls] = rule
        return rule

    return register
