"""The typing rule of each op class: one function that decides whether an op is well-typed.

A rule is called after the op's structure was checked (numbers of operands, results and regions; the kinds of its
properties), so that it may index them freely. It raises VerifyException with a message that states what is wrong.
It may look at the op's operand and result types, its properties and its regions, and at nothing else: the verifier
does not ask again about an op without regions that has the types and properties of one that it has accepted. What the
constants say that an op takes as operands (the shape of a ``dynamic_reshape``) is looked at by a rule of its own, its constant
rule, which the verifier asks about every op.

What an attribute means that a dialect puts on functions of another one is checked by the attribute's rule, which may look at the module.

A rule that knows what the results' types must be also says so, to :func:`inferred_types`, which the refinement of shapes asks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any, TypeVar

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

TypingRule = Callable[[Any], None]
Rule = TypeVar("Rule", bound=TypingRule)

TYPING_RULES: dict[type[Operation], TypingRule] = {}
"""The typing rule of each op class."""
CONSTANT_RULES: dict[type[Operation], TypingRule] = {}
"""The constant rule of each op class that has one; it is asked after the typing rule has accepted the op."""

AttributeRule = Callable[[Any, Attribute], None]
ATTRIBUTE_RULES: dict[str, AttributeRule] = {}
"""The rules of attributes that functions may carry, by name; each takes the function and the attribute (MLIR: ``verifyOperationAttribute``)."""
ATTRIBUTE_MODULES: dict[str, str] = {}
"""The modules that declare the rules of a dialect's attributes, by dialect; imported when a function carries one."""

INFERRED: ContextVar[dict[int, Attribute] | None] = ContextVar("inferred result types", default=None)
"""The types that rules say results must have, by number, while :func:`inferred_types` asks for them."""


class TypingError(VerifyException):
    """An op that breaks its typing rule, with a hint at what might be meant."""

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


def constant_rule(*classes: type[Operation]) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the constant rule of these op classes."""

    def register(rule: Rule) -> Rule:
        CONSTANT_RULES.update(dict.fromkeys(classes, rule))
        return rule

    return register


def attribute_rule(name: str) -> Callable[[AttributeRule], AttributeRule]:
    """Registers the decorated function as the rule of a function attribute of this name."""

    def register(rule: AttributeRule) -> AttributeRule:
        ATTRIBUTE_RULES[name] = rule
        return rule

    return register


def rule_of_attribute(name: str) -> AttributeRule | None:
    """The rule of a function attribute of this name, if there is one."""
    rule = ATTRIBUTE_RULES.get(name)
    if rule is None and (module := ATTRIBUTE_MODULES.get(name.partition(".")[0])) is not None:
        import_module(module)
        rule = ATTRIBUTE_RULES.get(name)
    return rule


def inferred_types(op: Operation) -> dict[int, Attribute]:
    """Infers the types of an op's results by its rules, by the results' numbers. Raises VerifyException as they do."""
    types: dict[int, Attribute] = {}
    token = INFERRED.set(types)
    try:
        for rules in (TYPING_RULES, CONSTANT_RULES):
            if (rule := rules.get(type(op))) is not None:
                rule(op)
    finally:
        INFERRED.reset(token)
    return types
