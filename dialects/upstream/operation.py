"""The class of an upstream op: any number of operands, results and regions, and MLIR's names for its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import traits_def, var_operand_def, var_region_def, var_result_def, var_successor_def
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.upstream.arities import group_sizes, wrong_count, wrong_groups
from wengert.dialects.upstream.attribute_kinds import wrong_attribute
from wengert.dialects.upstream.attribute_sizes import wrong_size
from wengert.dialects.upstream.checks import problem_of
from wengert.dialects.upstream.parts import wrong_parts
from wengert.dialects.upstream.tables import FORMS, TERMINATORS
from wengert.ir.operations import DialectOperation, op_definition

_NONE: Mapping[str, Attribute] = {}


class UpstreamOp(DialectOperation):
    """An op of an upstream dialect. All that MLIR keeps in properties is among its attributes."""

    SYNTAX: ClassVar[Any]
    ANY_PROPERTIES: ClassVar = True
    IS_UPSTREAM: ClassVar = True
    inputs = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()
    targets = var_successor_def()

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = _NONE,
        attributes: Mapping[str, Attribute] = _NONE,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """An op from its parts; properties become attributes."""
        entries = {**properties, **attributes} if properties else attributes
        return super().create(operands=operands, result_types=result_types, attributes=entries, location=location, successors=successors, regions=regions)

    def verify_(self) -> None:
        """Raises VerifyException where there are too many or too few operands, results or regions, attributes are missing or wrong, or types do not fit."""
        problem = wrong_count(self) or wrong_groups(self) or wrong_attribute(self) or wrong_parts(self) or wrong_size(self) or problem_of(self)
        if problem:
            raise VerifyException(problem)

    def groups(self) -> list[list[SSAValue]]:
        """The operands by group, for ops that say how many each has."""
        sizes = group_sizes(self)
        if sizes is None:
            return [list(self.operands)]
        groups, first = list[list[SSAValue]](), 0
        for size in sizes:
            groups.append(list(self.operands[first : first + size]))
            first += size
        return groups


@cache
def upstream_class(name: str) -> type[UpstreamOp]:
    """The class of the upstream op of this name."""
    members: dict[str, Any] = {
        "name": name,
        "SYNTAX": FORMS.get(name),
        "__annotations__": {"SYNTAX": ClassVar[Any]},
        "__module__": __name__,
        "__doc__": f"``{name}``, an op of upstream MLIR.",
    }
    if name in TERMINATORS:
        members["traits"] = traits_def(IsTerminator(), NoTerminator()) if name == "scf.forall.in_parallel" else traits_def(IsTerminator())
    return op_definition(type(name, (UpstreamOp,), members))
