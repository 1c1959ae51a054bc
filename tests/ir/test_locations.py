"""Roles of derived ops, also of those that were inlined since."""

from __future__ import annotations

from wengert.dialects import stablehlo
from wengert.ir.location.locations import Role, at, called_from, derived, provenance, with_role
from wengert.ir.location.places import describe
from wengert.ir.tensor_types import f64, tensor


def test_roles_are_changed_inside_of_calls() -> None:
    op = stablehlo.SineOp.create(operands=[], result_types=[tensor((), f64)], location=at("f.py", 3, 5))
    inlined = called_from(derived(op, Role.TANGENT, "jvp"), at("g.py", 7, 1))
    changed = with_role(inlined, Role.PRIMAL)
    origin = provenance(changed)
    assert origin is not None
    assert (origin.pass_name, origin.role, origin.op_name) == ("jvp", Role.PRIMAL, "stablehlo.sine")
    assert describe(changed) == "f.py:3:5"
    assert 'g.py":7:1' in str(changed)
    assert with_role(at("f.py", 1, 1), Role.PRIMAL) == at("f.py", 1, 1)
