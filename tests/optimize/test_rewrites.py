"""Every rewrite applies where its law does, leaves the ops it should, and changes no bit of the results that it may not."""

from __future__ import annotations

from typing import Any

import control_cases
import numpy as np
import pytest
import reduction_cases
import rewrite_cases
import shape_cases
from bitwise import assert_same_bits, special_inputs
from rewrite_cases import Case
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.optimize.rewrites import REWRITES, Assumption
from wengert.transforms.optimize.simplify import simplify

CASES = [*rewrite_cases.CASES, *shape_cases.CASES, *reduction_cases.CASES, *control_cases.CASES]
each_case = pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.id}" for i, case in enumerate(CASES)])


def entry(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def op_names(module: ModuleOp) -> str:
    return " ".join(op.name.split(".")[1] for op in entry(module).body.block.ops if op.name != "func.return")


def arguments(module: ModuleOp) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    return [(shape_of_type(t), dtype_of(t.element_type)) for t in entry(module).function_type.inputs]  # type: ignore[attr-defined]


@each_case
def test_case(case: Case) -> None:
    module = parse_module(case.text)
    verify(module)
    before = module.clone()
    fired: list[str] = []
    assume = [Assumption(a) for a in case.assume]
    simplify(module, assume=assume, trace=lambda name, op: fired.append(name))
    verify(module)
    assert case.rewrite in fired
    assert op_names(module) == case.left
    finite = Assumption.FINITE in assume
    for seed in range(3):
        inputs = special_inputs(arguments(before), seed, finite=finite)
        expected, actual = run(before, inputs), run(module, inputs)
        for x, y in zip(expected, actual, strict=True):
            if Assumption.UNORDERED in assume:
                np.testing.assert_allclose(x, y, rtol=1e-13)
            else:
                assert_same_bits(x, y, signed_zeros=Assumption.NO_SIGNED_ZEROS not in assume)


def test_every_rewrite_has_a_case() -> None:
    assert {known.name for known in REWRITES} - {case.rewrite for case in CASES} == set()


def test_names_are_distinct_and_laws_are_stated() -> None:
    names = [known.name for known in REWRITES]
    assert len(set(names)) == len(names)
    assert all(known.law for known in REWRITES)


@pytest.mark.parametrize("case", [c for c in CASES if c.assume], ids=lambda case: case.id)
def test_inexact_rewrites_are_off_unless_asked(case: Case) -> None:
    fired: list[str] = []
    simplify(parse_module(case.text), assume=(), trace=lambda name, op: fired.append(name))
    assert case.rewrite not in fired


@each_case
def test_provenance_is_kept(case: Case) -> None:
    module = parse_module(case.text, "case.mlir")
    simplify(module, assume=[Assumption(a) for a in case.assume])
    assert all("case.mlir" in str(op.location) for op in entry(module).body.block.ops)


def test_sums_over_dimensions_of_one_stay_after_the_product() -> None:
    """Taken before it, the initial zero would be added to a whole operand."""
    product = "stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x4xf64>, tensor<4x5xf64>) -> tensor<1x5xf64>"
    example = rewrite_cases.case(
        "none", "%x: tensor<1x4xf64>, %y: tensor<4x5xf64>", product, reduction_cases.reduces("%0", "add", "0", "1x5xf64", "5xf64"), "%1 : tensor<5xf64>"
    )
    module = parse_module(example.text)
    simplify(module)
    assert op_names(module) == "dot_general reshape constant add"
