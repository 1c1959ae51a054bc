"""Values that loops record and use are computed in their rows: fewer nests, the same bits, and never where somebody would see another row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.dialects import core
from wengert.dialects.kernel import NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.kernel import copy_elision
from wengert.transforms.lowering import lower

ROWS, COUNT = 5, 40
ROW, STACK = f"tensor<{COUNT}xf64>", f"tensor<{ROWS + 2}x{COUNT}xf64>"
STAGES = {
    "scaled": f"%v{{n}} = stablehlo.multiply %w, %v{{m}} : {ROW}",
    "added": f"%v{{n}} = stablehlo.add %y, %v{{m}} : {ROW}",
    "sine": f"%v{{n}} = stablehlo.sine %v{{m}} : {ROW}",
    "backwards": f"%v{{n}} = stablehlo.reverse %v{{m}}, dims = [0] : {ROW}",
    "shifted": f"%a{{n}} = stablehlo.slice %v{{m}} [0:{COUNT - 1}] : ({ROW}) -> tensor<{COUNT - 1}xf64>\n"
    f"    %v{{n}} = stablehlo.concatenate %first, %a{{n}}, dim = 0 : (tensor<1xf64>, tensor<{COUNT - 1}xf64>) -> {ROW}",
    "padded": f"%a{{n}} = stablehlo.slice %v{{m}} [2:{COUNT}] : ({ROW}) -> tensor<{COUNT - 2}xf64>\n"
    f"    %v{{n}} = stablehlo.pad %a{{n}}, %zero, low = [1], high = [1], interior = [0] : (tensor<{COUNT - 2}xf64>, tensor<f64>) -> {ROW}",
    "its largest": f"%a{{n}} = core.reduce max %v{{m}} across [0] : ({ROW}) -> tensor<f64>\n"
    f"    %b{{n}} = stablehlo.broadcast_in_dim %a{{n}}, dims = [] : (tensor<f64>) -> {ROW}\n    %v{{n}} = stablehlo.add %b{{n}}, %v{{m}} : {ROW}",
}
PLACES = ("%i", "%back", "%later", "%two", "%named")
"""Rows that are written: one after the other, backwards, one further, the same one, one that data names."""


def program(stages: Sequence[str], records: Sequence[tuple[int, str]]) -> str:
    """A loop with stages, each computed from the one before; ``records`` are the stages that stacks hold, and the row of each."""
    stacks = range(len(records))
    lines = [STAGES[stage].format(n=n + 1, m=n or "0") for n, stage in enumerate(stages)]
    for n, (stage, place) in enumerate(records):
        value = f"%v{min(stage, len(stages))}"
        lines += [
            f"%r{n} = stablehlo.reshape {value} : ({ROW}) -> tensor<1x{COUNT}xf64>",
            f"%u{n} = stablehlo.dynamic_update_slice %s{n}, %r{n}, {place}, %o : ({STACK}, tensor<1x{COUNT}xf64>, tensor<i64>, tensor<i64>) -> {STACK}",
        ]
    body = "\n    ".join(lines)
    carried = ", ".join([f"%y = %x: {ROW}", *[f"%s{n} = %stack: {STACK}" for n in stacks]])
    types = ", ".join([ROW, *[STACK for _ in stacks]])
    return f"""func.func @main(%x: {ROW}, %stack: {STACK}, %read: tensor<i64>) -> ({types}) {{
  %k = stablehlo.constant dense<{ROWS}> : tensor<i64>
  %0:{len(records) + 1} = core.for %i to %k constants(%w = %x: {ROW}, %named = %read: tensor<i64>) carried({carried}) {{
    %first = stablehlo.constant dense<1.5> : tensor<1xf64>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %o = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %two = stablehlo.constant dense<2> : tensor<i64>
    %last = stablehlo.constant dense<{ROWS - 1}> : tensor<i64>
    %back = stablehlo.subtract %last, %i : tensor<i64>
    %later = stablehlo.add %i, %one : tensor<i64>
    %v0 = stablehlo.cosine %y : {ROW}
    {body}
    %end = stablehlo.tanh %v{len(stages)} : {ROW}
    stablehlo.return {", ".join(["%end", *[f"%u{n}" for n in stacks]])} : {types}
  }}
  return {", ".join(f"%0#{n}" for n in range(len(records) + 1))} : {types}
}}"""


def arrays() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.normal(size=COUNT), draw.normal(size=(ROWS + 2, COUNT)), np.array(3)]


def nests_in_loop(text: str) -> int:
    (loop,) = ops_of(lower(parse_module(text)), core.ForOp)
    return len(ops_of(loop, NestOp))


CHAIN = ("shifted", "added", "shifted", "added")


def test_values_are_computed_in_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    text = program(CHAIN, [(1, "%i"), (3, "%back")])
    copied = nests_in_loop(text)
    monkeypatch.setattr(copy_elision, "LEAST_BYTES", 0)
    assert nests_in_loop(text) == copied - 1, "both are copied by one nest"


@pytest.mark.parametrize(
    "change",
    [
        ("stablehlo.return %end, %u0", "%seen = stablehlo.slice %s0 [0:1, 0:40] : (STACK) -> tensor<1x40xf64>\n    %also = stablehlo.reshape %seen : (tensor<1x40xf64>) -> ROW\n    %other = stablehlo.add %end, %also : ROW\n    stablehlo.return %other, %u0"),
        ("stablehlo.return %end, %u0", "%both = stablehlo.dynamic_update_slice %u0, %r0, %two, %o : (STACK, tensor<1x40xf64>, tensor<i64>, tensor<i64>) -> STACK\n    stablehlo.return %end, %both"),
    ],
    ids=["the stack is read", "two rows of one stack"],
)  # fmt: skip
def test_stacks_that_are_seen(monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> None:
    text = program(CHAIN, [(1, "%later")]).replace(*[part.replace("STACK", STACK).replace("ROW", ROW) for part in change])
    expected = wg.parse(text).compile("interpreter")(*arrays())
    monkeypatch.setattr(copy_elision, "LEAST_BYTES", 0)
    for result, wanted in zip(wg.parse(text).compile()(*arrays()), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-12)


@given(
    st.lists(st.sampled_from(sorted(STAGES)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from(PLACES)), min_size=1, max_size=4),
)
@settings(max_examples=40)
def test_random_loops(stages: list[str], records: list[tuple[int, str]]) -> None:
    text = program(stages, records)
    expected, without = wg.parse(text).compile("interpreter")(*arrays()), wg.parse(text).compile()(*arrays())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy_elision, "LEAST_BYTES", 0)
        results = wg.parse(text).compile()(*arrays())
    for result, same, wanted in zip(results, without, expected, strict=True):
        np.testing.assert_array_equal(result, same)
        np.testing.assert_allclose(result, wanted, rtol=1e-11, atol=1e-11)


@given(st.lists(st.sampled_from(sorted(STAGES)), min_size=2, max_size=6))
@settings(max_examples=15)
def test_random_gradients(stages: list[str]) -> None:
    derived = wg.parse(program(stages, [(1, "%i")])).vjp(wrt=0)
    cotangents = [np.random.default_rng(1).normal(size=shape) for shape in ((COUNT,), (ROWS + 2, COUNT))]
    without = wg.parse(str(derived)).compile()(*arrays(), *cotangents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy_elision, "LEAST_BYTES", 0)
        results = wg.parse(str(derived)).compile()(*arrays(), *cotangents)
    for result, same in zip(results, without, strict=True):
        np.testing.assert_array_equal(result, same)
