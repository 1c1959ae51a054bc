"""Residuals chosen by a minimum cut: the cheapest choice there is, the same derivatives, less memory where loops record much."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from xdsl.ir import Block, Operation, SSAValue

import wengert as wg
from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import f64, rank, shape, size, tensor
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.residuals import plan as planning
from wengert.transforms.ad.residuals.fewest_bytes import STORING, fewest_bytes
from wengert.transforms.ad.residuals.plan import plan, recomputable_from, recomputation

CHEAP = (hlo.AddOp, hlo.MultiplyOp, hlo.SliceOp, hlo.ConcatenateOp, hlo.ConstantOp)


def random_block(seed: int) -> tuple[Block, list[SSAValue], list[SSAValue]]:
    """A block of cheap and dear ops on vectors of several lengths, its residuals, and what need not be stored."""
    rng = np.random.default_rng(seed)
    block = Block(arg_types=[tensor((int(n),), f64) for n in rng.integers(1, 9, 3)])
    b = OpBuilder(block)
    values: list[SSAValue] = list(block.args)
    for _ in range(8):
        x, y = (values[int(k)] for k in rng.integers(0, len(values), 2))
        kind = int(rng.integers(5))
        if kind == 0:
            values.append(b.sine(x))
        elif kind == 1 and size(x) > 1:
            values.append(b.slice(x, (0,), (size(x) // 2,)))
        elif kind == 2:
            values.append(b.concatenate([x, y], 0))
        elif shape(x) == shape(y):
            values.append(b.multiply(x, y))
        else:
            values.append(b.add(x, x))
    residuals = [value for value in values if rng.random() < 0.4]
    return block, residuals, [block.args[0]] if rng.random() < 0.5 else []


def bytes_of(value: SSAValue) -> int:
    return 8 * size(value)


def price(block: Block, residuals: list[SSAValue], stored: set[SSAValue], derivable: set[SSAValue]) -> float:
    """What it costs to store these values and to compute the residuals again; infinite if that takes a dear op."""
    total, seen = STORING * sum(map(bytes_of, stored)), set[SSAValue]()
    pending = [value for value in residuals if value not in derivable]
    while pending:
        value = pending.pop()
        if value in seen or value in stored:
            continue
        seen.add(value)
        if not isinstance(value.owner, CHEAP):
            return float("inf")
        total += bytes_of(value)
        pending += [operand for operand in value.owner.operands if operand not in derivable]
    return total


def choices(values: list[SSAValue]) -> Iterator[set[SSAValue]]:
    for count in range(len(values) + 1):
        yield from map(set, combinations(values, count))


@pytest.mark.parametrize("seed", range(60))
def test_no_other_choice_is_cheaper(seed: int) -> None:
    block, residuals, available = random_block(seed)
    derivable = recomputable_from(block, set(available))
    values = [*block.args, *(value for op in block.ops for value in op.results)]
    best = min(price(block, residuals, stored, derivable) for stored in choices([value for value in values if value not in derivable]))
    stored = fewest_bytes(block, residuals, derivable, bytes_of)
    assert price(block, residuals, set(stored), derivable) == best
    assert stored == [value for value in values if value in stored]
    again = recomputation(block, residuals, {*stored, *available})
    assert all(isinstance(op, CHEAP) for op in again)


def step(n: int, steps: int) -> wg.Program:
    """Steps of the method of Heun for y[k]' = x[k] y[k - 1], in a loop."""

    def slope(name: str, y: str) -> str:
        return f"""
    %{name}0 = stablehlo.slice {y} [0:{n - 1}] : (tensor<{n}xf64>) -> tensor<{n - 1}xf64>
    %{name}1 = stablehlo.concatenate %one, %{name}0, dim = 0 : (tensor<1xf64>, tensor<{n - 1}xf64>) -> tensor<{n}xf64>
    %{name}2 = stablehlo.multiply %a, %{name}1 : tensor<{n}xf64>
    %{name} = stablehlo.multiply %h, %{name}2 : tensor<{n}xf64>"""

    return wg.parse(f"""
func.func public @main(%x: tensor<{n}xf64>, %y: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %n = stablehlo.constant dense<{steps}> : tensor<i64>
  %0 = core.for %i to %n constants(%a = %x: tensor<{n}xf64>) carried(%c = %y: tensor<{n}xf64>) {{
    %h = stablehlo.constant dense<0.1> : tensor<{n}xf64>
    %one = stablehlo.constant dense<1.0> : tensor<1xf64>{slope("k", "%c")}
    %d = stablehlo.add %c, %k : tensor<{n}xf64>{slope("l", "%d")}
    %e = stablehlo.add %k, %l : tensor<{n}xf64>
    %f = stablehlo.add %c, %e : tensor<{n}xf64>
    stablehlo.return %f : tensor<{n}xf64>
  }}
  return %0 : tensor<{n}xf64>
}}""")


def recorded(program: wg.Program) -> int:
    """How many tensors of each iteration the loop of a derivative records."""
    return max(sum(rank(value) == 2 for value in op.operands) for op in ops_of(program.module, core.ForOp, hlo.WhileOp))


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_large_loops_record_their_states_alone(strategy: str) -> None:
    small, large = (step(n, 100).vjp(strategy=strategy) for n in (100, 20_000))
    assert (recorded(small), recorded(large)) == (2, 1)


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_the_derivatives_are_the_same(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(5) for _ in range(3)]
    expected = step(5, 7).vjp(strategy=strategy)(*inputs)
    monkeypatch.setattr(planning, "CACHE", 0)
    monkeypatch.setenv("WENGERT_CACHE", "off")
    for backend in ("interpreter", "cpu"):
        for actual, wanted in zip(step(5, 7).vjp(strategy=strategy).compile(backend)(*inputs), expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-14)


def test_few_bytes_are_stored_as_before() -> None:
    """A tape that stays in a cache is read faster than its values are computed again; one of unknown length may be short."""
    block = Block(arg_types=[tensor((1000,), f64)])
    b = OpBuilder(block)
    first = b.sine(block.args[0])
    second = b.multiply(b.add(first, first), block.args[0])
    third = b.add(second, first)
    residuals = [first, second, third, block.args[0]]
    for times, count in ((1, 2), (100, 2), (10_000, 2), (None, 2)):
        assert len(plan(block, residuals, (), times).stored) == count
    assert all(isinstance(op, Operation) for op in plan(block, residuals, ()).recomputed)
