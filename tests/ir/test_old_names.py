"""Texts with names of ops from before MLIR took its standard dialect apart are refused, with the names of today."""

from __future__ import annotations

import pytest

from wengert.dialects.upstream.tables import FORMS
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.old_names import NEW_NAMES, hint_of_new_name
from wengert.ir.parsing.parser import parse_module


@pytest.mark.parametrize("old", NEW_NAMES)
def test_every_new_name_is_that_of_an_op_that_is_read(old: str) -> None:
    assert all(name in FORMS for name in NEW_NAMES[old].split("' or '"))
    assert NEW_NAMES[old] != old
    assert old not in FORMS


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("%0 = addf %a, %a : f32", "the old name of 'arith.addf'"),
        ("%0 = std.mulf %a, %a : f32", "the old name of 'arith.mulf'"),
        ('%0 = cmpf "olt", %a, %a : f32', "the old name of 'arith.cmpf'"),
        ("%0 = constant 1.0 : f32", "the old name of 'arith.constant'"),
        ("%0 = exp %a : f32", "the old name of 'math.exp'"),
        ("%0 = linalg.init_tensor [4] : tensor<4xf32>", "the old name of 'tensor.empty', with the extents that are not known as operands"),
        ("%0 = dim %t, %c : tensor<?xf32>", "the old name of 'tensor.dim' or 'memref.dim'"),
        ("%0 = load %m[%c] : memref<?xf32>", "the old name of 'memref.load'"),
        ("cond_br %c, ^a, ^b", "the old name of 'cf.cond_br'"),
    ],
)
def test_the_hint_has_the_new_name(line: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(f"func.func @f(%a: f32) -> f32 {{\n  {line}\n  return %a : f32\n}}", "t.mlir")
    diagnostic = caught.value.diagnostic
    assert diagnostic.message.startswith("unknown operation")
    assert diagnostic.line == 2
    assert diagnostic.hint.startswith(hint)


def test_quoted_predicates_and_what_has_no_dialect_in_functions_are_read() -> None:
    parse_module('func.func @f(%a: f32) -> i1 {\n  %0 = arith.cmpf "olt", %a, %a : f32\n  return %0 : i1\n}', "t.mlir")


def test_a_name_that_was_never_one_has_no_such_hint() -> None:
    assert hint_of_new_name("stablehlo.add") == ""
    assert hint_of_new_name("std.no_such_op") == ""
