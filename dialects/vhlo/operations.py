"""The ops of VHLO: a class for each version of each op, of any number of operands, results and regions."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from xdsl.ir import Operation
from xdsl.irdl import traits_def
from xdsl.traits import IsolatedFromAbove, IsTerminator

from wengert.dialects.vhlo.tables import split_name, vhlo_properties
from wengert.dialects.vhlo.text import VhloFunctionText
from wengert.ir.operations import made_quickly


class VhloOperation(Operation):
    """An op of VHLO. Nothing is demanded of it: it is checked as the op of StableHLO that it stands for."""

    __hash__ = object.__hash__

    PROPERTY_NAMES: ClassVar[frozenset[str]] = frozenset()
    OP: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1


@cache
def vhlo_class(name: str) -> type[VhloOperation]:
    """The class of an op by its name and version, ``add_v1``."""
    op, version = split_name(name)
    traits = {"func": traits_def(IsolatedFromAbove()), "return": traits_def(IsTerminator())}.get(op, traits_def())
    fields: dict[str, Any] = {"name": f"vhlo.{name}", "OP": op, "VERSION": version, "PROPERTY_NAMES": frozenset(vhlo_properties(op, version)), "traits": traits}
    if op == "func":
        fields["SYNTAX"] = VhloFunctionText()
    cls = type(f"Vhlo_{name}", (VhloOperation,), fields)
    made_quickly(cls)
    return cls
