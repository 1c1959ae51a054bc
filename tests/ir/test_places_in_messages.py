"""The places that messages name, of ops whose own place no file has."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, NameLoc, StringAttr

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.locations import Role, at, called_from, derived_at
from wengert.ir.location.places import describe, describe_around, error_at
from wengert.runtime.errors import UnsupportedOpError

NAMED = NameLoc(StringAttr("schur"), UNKNOWN_LOC)
IN_A_FUNCTION = """func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = call @inner(%x) : (tensor<2xf64>) -> tensor<2xf64> loc("model.py":7:3)
  return %0 : tensor<2xf64> loc("model.py":8:3)
}
func.func private @inner(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.custom_call @unheard_of(%x) : (tensor<2xf64>) -> tensor<2xf64> loc("unheard_of")
  return %0 : tensor<2xf64> loc(unknown)
} loc("jit"("model.py":7:3))
"""


def place(error: DiagnosticError) -> str:
    return error.diagnostic.place


def test_a_place_of_its_own_comes_first() -> None:
    location = called_from(at("callee.py", 3, 5), at("caller.py", 7, 1))
    assert describe(location) == "callee.py:3:5"
    assert place(error_at(location, "")) == "callee.py:3:5"


def test_what_is_known_by_name_is_at_the_nearest_call() -> None:
    location = called_from(called_from(NAMED, NAMED), called_from(at("near.py", 7, 1), at("far.py", 1, 1)))
    assert describe(location) == "near.py:7:1"
    assert describe(derived_at(location, "stablehlo.sine", Role.COTANGENT, "vjp")) == "near.py:7:1"
    assert place(error_at(location, "")) == "near.py:7:1"


def test_calls_may_be_nested_deep() -> None:
    location: LocationAttr = at("f.py", 1, 2)
    for _ in range(5000):
        location = called_from(NAMED, location)
    assert describe(location) == "f.py:1:2"


def test_nothing_may_be_known() -> None:
    for location in (UNKNOWN_LOC, NAMED, called_from(NAMED, NAMED)):
        assert describe(location) == "<unknown>"
        assert place(error_at(location, "")) == "<unknown>"


def test_an_op_without_a_place_is_at_that_of_its_function() -> None:
    program = wg.parse(IN_A_FUNCTION, "p.mlir")
    call = next(op for op in program.module.walk() if op.name == "stablehlo.custom_call")
    assert describe(call.location) == "<unknown>"
    assert describe_around(call) == place(error_at(call, "")) == "model.py:7:3"


@pytest.mark.parametrize(
    "use",
    [
        lambda program: program.vjp(),
        lambda program: program.jvp(),
        lambda program: program.compile(),
        lambda program: program([1.0, 2.0]),
        lambda program: program.compile("interpreter")([1.0, 2.0]),
    ],
    ids=["vjp", "jvp", "compile", "call", "interpret"],
)
def test_every_way_to_use_a_program_names_that_place(use: Callable[[wg.Program], object]) -> None:
    with pytest.raises((DiagnosticError, UnsupportedOpError), match=r"^model\.py:7:3: error: "):
        use(wg.parse(IN_A_FUNCTION, "p.mlir"))
