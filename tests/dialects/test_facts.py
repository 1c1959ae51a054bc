"""Every op says what it is, and what it says is true of the tables that its facts point to."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import iter_modules

import pytest
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects.ad import AD
from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import CHEAP, SPECIAL, Batching, Effort, MissingFactsError, Traffic, Work, facts_of
from wengert.dialects.gpu import GPU
from wengert.dialects.kernel import ApplyOp, string
from wengert.dialects.scalar_functions import effort, function_facts, scalar_name
from wengert.dialects.sdy import Sdy
from wengert.dialects.stablehlo import StableHLO, TanhOp
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.element_classes import FLOAT
from wengert.ir.operations import op_definition
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import c64, f32, f64, i32, tensor
from wengert.runtime.interpreter.rules import EVALUATION_RULES
from wengert.transforms.ad import batching
from wengert.transforms.ad.batching.rule import BATCH_RULES
from wengert.transforms.ad.rule import RULES, TRANSPOSES
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.analysis.opcost import FORMULAS, cost
from wengert.transforms.core import compound, functions
from wengert.transforms.fuse.roles import Role, role

OPS: list[type[Operation]] = [*(op for dialect in (StableHLO, Chlo, Core, AD, Sdy, GPU) for op in dialect.operations), CallOp, ReturnOp]


@op_definition
class UnknownOp(UnaryOp):
    """An op of which nobody has said anything."""

    name = "core.unknown"


def names(ops: Iterable[type[Operation]]) -> set[str]:
    return {op.name for op in ops}


def test_every_op_has_facts() -> None:
    missing: list[str] = []
    for op in OPS:
        try:
            facts_of(op)
        except MissingFactsError:
            missing.append(op.name)
    assert not missing


def test_the_ops_that_are_batched_by_a_rule_are_those_that_have_one() -> None:
    assert {module.name for module in iter_modules(batching.__path__)} - {"alignment", "flow", "function", "passes", "rule"} == set(batching.__all__)
    assert names(op for op in OPS if facts_of(op).batching is Batching.RULE) == names(BATCH_RULES)


def test_the_ops_whose_work_is_counted_by_a_formula_are_those_that_have_one() -> None:
    assert names(op for op in OPS if facts_of(op).work is Work.FORMULA) == names(FORMULAS)


def test_an_op_that_costs_what_it_is_written_out_in_is_written_out_somewhere() -> None:
    assert names(op for op in OPS if facts_of(op).work is Work.EXPANSION) <= names(compound.EXPANSIONS) | names(functions.EXPANSIONS)


def test_flops_are_counted_by_the_element_for_elementwise_ops_alone() -> None:
    for op in OPS:
        facts = facts_of(op)
        assert not facts.elementwise or facts.work in (Work.ELEMENTS, Work.EXPANSION), op.name
        assert facts.work is not Work.ELEMENTS or facts.elementwise, op.name
        assert not facts.transcendental or facts.flops == (1, 1), op.name
        assert not facts.one_type or facts.takes, op.name


def test_a_linear_op_has_a_rule_and_a_transpose() -> None:
    assert ALL_CASES
    linear = names(op for op in OPS if facts_of(op).linear or facts_of(op).bilinear)
    assert len(linear) > 15
    assert linear <= names(RULES) & names(TRANSPOSES)


def test_an_op_with_a_scalar_function_has_an_evaluation_rule() -> None:
    computed = [op for op in OPS if facts_of(op).elementwise and facts_of(op).has_function]
    assert len(computed) > 60
    assert names(computed) <= names(EVALUATION_RULES)


def test_an_op_without_facts_is_an_error_that_names_the_op() -> None:
    op = UnknownOp.create(operands=[parse_module("%0 = stablehlo.constant dense<1.0> : tensor<f64>").body.block.ops.first.results[0]], result_types=[tensor((), f64)])  # fmt: skip
    for ask in (cost, role):
        with pytest.raises(MissingFactsError, match=r"core\.unknown.*FACTS.*wengert\.dialects\.facts"):
            ask(op)


def test_calls_and_returns_of_functions_cost_nothing_themselves() -> None:
    module = parse_module("func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  %0 = call @main(%x) : (tensor<4xf64>) -> tensor<4xf64>\n  return %0 : tensor<4xf64>\n}")  # fmt: skip
    call, end = [op for op in module.walk() if op.name in ("func.call", "func.return")]
    assert cost(call).bytes == cost(end).bytes == 0
    assert facts_of(type(call)).traffic is Traffic.NONE


def test_one_declaration_is_what_all_readers_see() -> None:
    facts = facts_of(TanhOp)
    assert facts.elementwise
    assert facts.takes & FLOAT
    assert (facts.floats, facts.complex, facts.integers) == (Effort.ELEMENTARY, SPECIAL, None)
    assert function_facts(scalar_name(TanhOp)) is facts
    block = parse_module(
        "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n  %0 = stablehlo.tanh %x : tensor<4x4xf32>\n  return %0 : tensor<4x4xf32>\n}"
    )
    op = next(op for op in block.walk() if isinstance(op, TanhOp))
    assert role(op) is Role.SCALAR
    assert (cost(op).flops, cost(op).transcendentals) == (16, 16)
    assert not facts_of(ReturnOp).has_function


@pytest.mark.parametrize(
    ("name", "type", "wanted"),
    [
        ("add", f32, CHEAP),
        ("divide", f64, Effort.DIVISION),
        ("divide", i32, SPECIAL),
        ("total_lt", f64, CHEAP),
        ("trigamma", f64, SPECIAL),
        ("reduce_precision_e5m10", f32, CHEAP),
        ("rsqrt", f32, Effort.ROOT),
        ("rsqrt", c64, SPECIAL),
    ],
)
def test_the_effort_of_a_scalar_function_is_that_on_its_elements(name: str, type: Attribute, wanted: Effort) -> None:
    block = Block(arg_types=[type])
    assert effort(ApplyOp.create(operands=[block.args[0]], result_types=[block.args[0].type], properties={"function": string(name)})) is wanted
