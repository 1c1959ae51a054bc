"""expand-functions: a function without instructions of its own, made up for the test, where it may stand and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from xdsl.ir import Block, Operation, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import MissingFactsError, expanded
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.element_classes import FLOAT
from wengert.ir.operations import op_definition
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import f64, tensor
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.analysis.opcost import cost
from wengert.transforms.core import functions
from wengert.transforms.core.functions import expand_functions


@op_definition
class HyperbolicSecantOp(UnaryOp):
    """1 / cosh(x)."""

    name = "core.hyperbolic_secant"
    FACTS: ClassVar = expanded(FLOAT)


def expand(b: OpBuilder, op: HyperbolicSecantOp) -> Sequence[Value]:
    x = op.operand
    return [b.divide(b.full_like(x, 2), b.add(b.exponential(x), b.exponential(b.negate(x))))]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(functions.EXPANSIONS, HyperbolicSecantOp, expand)


REDUCTION = """func.func @main(%x: tensor<4x3xf64>) -> tensor<4xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    %t = stablehlo.tanh %s : tensor<f64>
    stablehlo.return %t : tensor<f64>
  }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}"""


@pytest.mark.usefixtures("known")
def test_an_expansion_in_elementwise_ops_stands_in_a_region_on_scalars_too() -> None:
    module = parse_module(REDUCTION)
    tanh = next(op for op in module.walk() if isinstance(op, hlo.TanhOp))
    new = HyperbolicSecantOp.create(operands=tanh.operands, result_types=[tanh.result.type])
    block = tanh.parent
    assert block is not None
    block.insert_op_before(new, tanh)
    tanh.result.replace_all_uses_with(new.result)
    tanh.detach()
    tanh.erase()
    expand_functions(module)
    verify(module)
    assert not any(isinstance(op, HyperbolicSecantOp) for op in module.walk())
    x = np.linspace(-1, 1, 12).reshape(4, 3)
    wanted = 0.0
    for column in x.T:
        wanted = 1 / np.cosh(wanted + column)
    np.testing.assert_allclose(run(module, [x])[0], wanted, rtol=1e-14)


def test_an_expansion_with_tensors_inside_does_not() -> None:
    module = parse_module(REDUCTION.replace("stablehlo.tanh %s : tensor<f64>", "chlo.zeta %s, %s : tensor<f64>, tensor<f64> -> tensor<f64>"))
    expand_functions(module)
    assert any(op.name == "chlo.zeta" for op in module.walk())


@pytest.fixture
def op() -> Operation:
    block = Block(arg_types=[tensor((5,), f64)])
    made = HyperbolicSecantOp.create(operands=block.args, result_types=[tensor((5,), f64)])
    block.add_op(made)
    Region([block])
    return made


@pytest.mark.usefixtures("known")
def test_an_op_costs_what_its_expansion_does(op: Operation) -> None:
    seen = cost(op)
    assert (seen.flops, seen.transcendentals, seen.bytes) == (5 * 5, 2 * 5, 2 * 5 * 8)


def test_an_op_that_nobody_writes_out_has_no_cost(op: Operation) -> None:
    with pytest.raises(MissingFactsError, match=r"core\.hyperbolic_secant.*written out.*wengert\.transforms\.core\.functions"):
        cost(op)
