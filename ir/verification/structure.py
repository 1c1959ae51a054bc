"""The structure that an op's definition asks for: how many operands, results and regions, and which properties.

IRDL checks this too, for every op anew and in general. Definitions whose operands and results may have any type (their
typing rules say more) need only counts; this compiles a definition to those counts once, which is ten times faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct
from xdsl.ir import Attribute, Operation
from xdsl.irdl import AnyAttr, AttrSizedSegments, IRDLOperation, OpDef, OptPropertyDef, RangeOf, VariadicDef
from xdsl.irdl.constraints import RangeLengthConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.traversal import operands_of

_ANY = RangeOf(AnyAttr())


class Count(Struct, frozen=True):
    """The number of operands (results, regions) of an op: one for each name, any number for each variadic one, those alike."""

    what: str
    names: tuple[str, ...]
    variadic: int

    def allows(self, count: int) -> bool:
        """Whether the op can have this many."""
        more = count - len(self.names) + self.variadic
        return more == 0 if not self.variadic else more >= 0 and more % self.variadic == 0

    def check(self, count: int) -> None:
        """Raises VerifyException where the op cannot have this many."""
        fixed = len(self.names) - self.variadic
        if count == fixed and not self.variadic:
            return
        if not self.variadic or count < fixed:
            listed = f" ({', '.join(self.names)})" if self.names else ""
            least = "at least " if self.variadic else ""
            raise VerifyException(f"expected {least}{fixed} {self.what if fixed == 1 else self.what + 's'}{listed}, found {count}")
        if (count - fixed) % self.variadic:
            raise VerifyException(f"expected equally many of each of the {self.what}s {', '.join(self.names)}, found {count} in all")


class Structure(Struct, frozen=True):
    """The checks of an op's structure, which come before its typing rule."""

    operands: Count
    results: Count
    regions: Count
    properties: Mapping[str, Any]
    required: frozenset[str]

    def check(self, op: Operation) -> None:
        """Raises VerifyException where the op is not built as its definition says."""
        self.operands.check(len(op.operands))
        self.results.check(len(op.results))
        self.regions.check(len(op.regions))
        if op.successors:
            raise VerifyException(f"expected no successors, found {len(op.successors)}")
        properties = op.properties
        for name in self.required:
            if name not in properties:
                raise VerifyException(f"missing attribute '{name}'")
        for name, value in properties.items():
            self.check_property(name, value)

    def check_property(self, name: str, value: Attribute) -> None:
        """Raises VerifyException for a property that the op does not have, or that is of another kind."""
        definition = self.properties.get(name)
        if definition is None:
            near = did_you_mean(name, self.properties)
            raise VerifyException(f"unknown attribute '{name}'" + (f"; {near}" if near else ""))
        try:
            definition.constr.verify(value, VerificationContext())
        except VerifyException as error:
            raise VerifyException(f"attribute '{name}': {error}") from error


def _count(what: str, defs: Sequence[tuple[str, Any]]) -> Count:
    return Count(what, tuple(name for name, _ in defs), sum(isinstance(d, VariadicDef) for _, d in defs))


def _is_any(constraint: Any) -> bool:
    return constraint == _ANY or (isinstance(constraint, RangeLengthConstraint) and cast(Any, constraint).constraint == _ANY)


@lru_cache(maxsize=2048)
def structure_of(cls: type[IRDLOperation]) -> Structure | None:
    """The compiled structure of an op class, or None if its definition constrains more than counts and properties."""
    definition: OpDef = cls.get_irdl_definition()
    values = [d for _, d in (*definition.operands, *definition.results)]
    simple = all(_is_any(d.constr) for d in values) and all(_is_any(d.entry_args) for _, d in definition.regions)
    if not simple or definition.successors or definition.attributes or any(isinstance(o, AttrSizedSegments) for o in definition.options):
        return None
    return Structure(
        _count("operand", definition.operands),
        _count("result", definition.results),
        _count("region", definition.regions),
        definition.properties,
        frozenset(name for name, d in definition.properties.items() if not isinstance(d, OptPropertyDef)),
    )


@lru_cache(maxsize=4096)
def _counts_of(cls: type[IRDLOperation]) -> tuple[Count, Count, Count]:
    definition = cls.get_irdl_definition()
    sized = any(isinstance(option, AttrSizedSegments) for option in definition.options)
    operands, results, regions = _count("operand", definition.operands), _count("result", definition.results), _count("region", definition.regions)
    return (_of_groups(operands), _of_groups(results), regions) if sized else (operands, results, regions)


def _of_groups(count: Count) -> Count:
    """The count where attributes say how many each group has: groups of different sizes, together any number."""
    return Count(count.what, count.names[: len(count.names) - count.variadic + 1], 1) if count.variadic else count


@lru_cache(maxsize=1 << 14)
def _allows(cls: type[Operation], operands: int, results: int, regions: int) -> bool:
    if not issubclass(cls, IRDLOperation):
        return True
    return all(count.allows(number) for count, number in zip(_counts_of(cls), (operands, results, regions), strict=True))


def has_all_parts(op: Operation) -> bool:
    """Whether an op has as many operands, results and regions as its definition allows; how many each group has where sizes say so is not looked at."""
    return _allows(type(op), len(operands_of(op)), len(op.results), len(op.regions))


def is_built_as_defined(op: Operation) -> bool:
    """Whether an op has the operands, results, regions and kinds of properties of its definition, so that the ops inside of it can read them."""
    if not isinstance(op, IRDLOperation):
        return True
    try:
        op.get_irdl_definition().verify(op)
    except VerifyException:
        return False
    return True


def verify_carried(op: Operation) -> None:
    """Raises VerifyException for a loop of xDSL's that returns other types than it carries: its own verifier does not look at results."""
    if op.name == "scf.for" and op.operand_types[3:] != op.result_types:
        raise VerifyException("must have a result of the type of each value that it carries from iteration to iteration")
