"""The rules of the interpreter: for every op class, how one op of it becomes a function of arrays.

A rule reads the op's attributes and types once and returns a function from operand arrays to the result: an array where
the op has one result, else a tuple. Rules of ops with regions are also given the :class:`Scope` they run in, which turns
regions and callees into functions.

Operands and results are NumPy arrays, or NumPy scalars of the right dtype for rank 0 (they are what NumPy's ufuncs return,
and several times faster than rank-0 arrays). No function ever writes to its operands: results may share their memory. The
exception are the functions of :data:`UPDATES`, which write to their first operand; they are used where nothing else refers to it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from xdsl.ir import Operation, Region, SSAValue

from wengert.transforms.core.functions import EXPANSIONS

if TYPE_CHECKING:
    from wengert.runtime.interpreter.counter import Counter

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
Nullary = Callable[[], Any]
Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]
Ternary = Callable[[Any, Any, Any], Any]
RegionFunction = Callable[..., tuple[Any, ...]]
TakingFunction = Callable[[list[Any]], tuple[Any, ...]]


class Variadic(Protocol):
    """A function of any number of operands."""

    def __call__(self, *operands: Any) -> Any: ...


class Scope(Protocol):
    """The scope an op runs in: its regions and callees as functions, and the generator of the ``rng`` op."""

    generator: np.random.Generator
    counter: Counter | None
    """Counts what is executed in the scope, or None."""
    tapes: dict[int, Any]
    """The tapes whose handles lie in memory."""

    def region(self, region: Region) -> RegionFunction:
        """The region as a function of its arguments; the values it captures are those of the enclosing run."""
        ...

    def uncounted_region(self, region: Region) -> RegionFunction:
        """The same; what it does is counted as a part of the op that owns the region."""
        ...

    def loop_region(self, region: Region) -> TakingFunction:
        """The region as a function of a list of its arguments, which it empties, so that it alone refers to what the list alone held."""
        ...

    def scalar_region(self, region: Region) -> RegionFunction:
        """A region on scalars as a function of arrays of one shape, applied to each element; its ops are not counted."""
        ...

    def callee(self, op: Operation, name: str) -> RegionFunction:
        """The function of this name in the op's module."""
        ...

    def reader(self, value: SSAValue) -> Nullary:
        """A function that gives what a value is at the moment, for ops whose regions use what is around them."""
        ...


Rule = Callable[[Any, Scope], Function]
UpdateRule = Callable[[Any, Scope], Function | None]
EVALUATION_RULES: dict[type[Operation], Rule] = {}
LATE_RULES = {"gpu": "wengert.runtime.interpreter.gpu", "arith": "wengert.runtime.interpreter.gpu"}
"""The modules that register the rules of dialects that few programs have."""
UPDATES: dict[type[Operation], UpdateRule] = {}
"""For ops whose result is their first operand with a part replaced: the rule for functions that write to that operand and return it,
or None for an op that has no such function."""


def evaluates(*classes: type[Operation]) -> Callable[[Callable[[Any], Function]], Callable[[Any], Function]]:
    """Registers a rule for ops whose function depends on nothing but themselves."""

    def register(rule: Callable[[Any], Function]) -> Callable[[Any], Function]:
        EVALUATION_RULES.update({cls: lambda op, scope: rule(op) for cls in classes})
        return rule

    return register


def updates(*classes: type[Operation]) -> Callable[[UpdateRule], UpdateRule]:
    """Registers a rule for ops that replace a part of their first operand: its function writes to the array that it is given."""

    def register(rule: UpdateRule) -> UpdateRule:
        UPDATES.update(dict.fromkeys(classes, rule))
        return rule

    return register


def evaluates_in_scope(*classes: type[Operation]) -> Callable[[Rule], Rule]:
    """Registers a rule for ops with regions, callees or state."""

    def register(rule: Rule) -> Rule:
        EVALUATION_RULES.update(dict.fromkeys(classes, rule))
        return rule

    return register


def rule_of(cls: type[Operation]) -> Rule | None:
    """The rule of an op class; None if the interpreter does not implement it."""
    rule = EVALUATION_RULES.get(cls)
    if rule is None and (module := LATE_RULES.get(cls.name.partition(".")[0])) is not None:
        import_module(module)
        rule = EVALUATION_RULES.get(cls)
    if rule is None and cls in EXPANSIONS:
        from wengert.runtime.interpreter.ops.compound import expanded

        return expanded
    return rule


def one_or_tuple(op: Operation, results: tuple[Any, ...]) -> Any:
    """Results as a function must return them: alone if the op has one result."""
    return results[0] if len(op.results) == 1 else results
