"""Constants are folded to what the interpreter computes, bit for bit, and left alone where the result is open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bitwise import assert_same_bits, special_inputs
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import bf16, c128, dtype_of, element, f16, f32, f64, i1, i8, i32, tensor, ui8, ui32
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.optimize.simplify import simplify

FLOATS = [f64, f32, f16, bf16]
INTEGERS = [i32, i8, ui8, ui32]
BOTH = [*FLOATS, *INTEGERS]
ARITHMETIC = [stablehlo.AddOp, stablehlo.SubtractOp, stablehlo.MultiplyOp, stablehlo.DivideOp, stablehlo.RemainderOp, stablehlo.MaximumOp, stablehlo.MinimumOp]
LOGIC = [stablehlo.AndOp, stablehlo.OrOp, stablehlo.XorOp]
SHIFTS = [stablehlo.ShiftLeftOp, stablehlo.ShiftRightArithmeticOp, stablehlo.ShiftRightLogicalOp]
ROUNDING = [stablehlo.FloorOp, stablehlo.CeilOp, stablehlo.RoundNearestEvenOp, stablehlo.SqrtOp]

BINARY = [
    *((cls, element_type) for cls in ARITHMETIC for element_type in BOTH),
    *((cls, element_type) for cls in LOGIC for element_type in [*INTEGERS, i1]),
    *((cls, element_type) for cls in SHIFTS for element_type in INTEGERS),
    *((cls, c128) for cls in (stablehlo.AddOp, stablehlo.SubtractOp)),
    *((cls, i1) for cls in (stablehlo.AddOp, stablehlo.MultiplyOp)),
]
UNARY = [
    *((cls, element_type) for cls in ROUNDING for element_type in FLOATS),
    *((cls, element_type) for cls in (stablehlo.NegateOp, stablehlo.AbsOp, stablehlo.SignOp) for element_type in [*FLOATS, i32, i8]),
    *((chlo.SquareOp, element_type) for element_type in FLOATS),
    *((stablehlo.NotOp, element_type) for element_type in [*INTEGERS, i1]),
    *((cls, c128) for cls in (stablehlo.NegateOp, chlo.ConjOp)),
]
CONVERSIONS = [(source, target) for source in [*BOTH, i1] for target in [*BOTH, i1] if source != target]


def values(element_type: Attribute, count: int, shape: tuple[int, ...] = (121,)) -> list[np.ndarray[Any, np.dtype[Any]]]:
    return special_inputs([(shape, dtype_of(element_type))] * count, 0)


def module_of(build: Any) -> ModuleOp:
    block = Block()
    result = build(OpBuilder(block))
    block.add_op(ReturnOp(result))
    module = ModuleOp([FuncOp("main", FunctionType.from_lists([], [result.type]), Region([block]), visibility=StringAttr("public"))])
    verify(module)
    return module


def check(build: Any) -> bool:
    """Whether the op was folded; what it was folded to is what the interpreter says."""
    module = module_of(build)
    with np.errstate(all="ignore"):
        (expected,) = run(module, [])
        simplify(module)
        verify(module)
        (actual,) = run(module, [])
    assert_same_bits(np.asarray(expected), np.asarray(actual))
    ops = [op.name for op in module.walk()]
    return ops.count("stablehlo.constant") == len(ops) - 3 == 1


def splits(arrays: list[Any]) -> list[list[Any]]:
    """The arrays whole, and each of their elements alone (so that one open result does not keep the others from folding)."""
    return [arrays, *([np.asarray(a[k]) for a in arrays] for k in range(0, 121, 17))]


@pytest.mark.parametrize(("cls", "element_type"), BINARY, ids=lambda p: p.name if isinstance(p, Attribute) else getattr(p, "name", str(p)))
def test_binary(cls: type[Operation], element_type: Attribute) -> None:
    folded = [check(lambda b, s=s: b.like(cls, *(b.constant(a) for a in s))) for s in splits(values(element_type, 2))]
    assert any(folded)


@pytest.mark.parametrize(("cls", "element_type"), UNARY, ids=lambda p: getattr(p, "name", str(p)))
def test_unary(cls: type[Operation], element_type: Attribute) -> None:
    assert check(lambda b: b.like(cls, b.constant(values(element_type, 1)[0])))


@pytest.mark.parametrize(("source", "target"), CONVERSIONS, ids=str)
def test_convert(source: Attribute, target: Attribute) -> None:
    folded = [check(lambda b, s=s: b.convert(b.constant(s[0]), target)) for s in splits(values(source, 1))]
    assert any(folded)


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("element_type", [*BOTH, i1], ids=str)
def test_compare(direction: str, element_type: Attribute) -> None:
    assert check(lambda b: b.compare(direction, *(b.constant(a) for a in values(element_type, 2))))


def test_movement() -> None:
    (x,) = values(f64, 1, (2, 3, 4))
    assert check(lambda b: b.transpose(b.constant(x), (2, 0, 1)))
    assert check(lambda b: b.reverse(b.constant(x), (0, 2)))
    assert check(lambda b: b.slice(b.constant(x), (0, 1, 0), (2, 3, 4), (1, 1, 2)))
    assert check(lambda b: b.concatenate([b.constant(x), b.constant(x)], 1))
    assert check(lambda b: b.pad(b.constant(x), b.scalar(7.0, f64), (1, -1, 0), (0, 2, -1), (0, 1, 2)))
    assert check(lambda b: b.reshape(b.constant(x), (6, 4)))
    assert check(lambda b: b.broadcast_in_dim(b.constant(x), (0, 2, 3), (2, 1, 3, 4)))


@pytest.mark.parametrize(("x", "y"), [(1, 0), (-(2**31), -1)])
def test_division_of_integers_that_is_open_is_left(x: int, y: int) -> None:
    assert not check(lambda b: b.divide(b.scalar(x, i32), b.scalar(y, i32)))


def test_functions_that_backends_round_differently_are_left() -> None:
    assert not check(lambda b: b.exponential(b.scalar(1.5, f64)))


def test_large_constants_are_left_unless_one_element_fills_them() -> None:
    large = np.arange(5000.0)
    assert not check(lambda b: b.negate(b.constant(large)))
    assert check(lambda b: b.negate(b.full(2.0, tensor((5000,), f64))))


def test_dynamic_shapes_are_left_alone() -> None:
    module = parse_module("""
      func.func public @main(%x: tensor<?xf64>, %y: tensor<3xf64>) -> tensor<?xf64> {
        %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?xf64>, tensor<3xf64>) -> tensor<?xf64>
        %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
        %2 = stablehlo.negate %1 : tensor<?xf64>
        %3 = stablehlo.negate %2 : tensor<?xf64>
        return %3 : tensor<?xf64>
      }""")
    simplify(module)
    verify(module)
    assert all(element(op.results[0]) == f64 for op in module.walk() if op.results)
