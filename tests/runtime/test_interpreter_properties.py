"""Ops that move elements agree with NumPy for random shapes; identities that hold whatever the numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import f64, i64, tensor
from wengert.runtime.interpreter import EVALUATION_RULES, evaluate
from wengert.runtime.interpreter.ops.sorting import merge_sort

shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
settings.register_profile("interpreter", deadline=None, max_examples=60)
settings.load_profile("interpreter")


class Scene:
    """A block with arguments, a builder for it, and the arrays that the arguments stand for."""

    def __init__(self, *arrays: Any):
        self.arrays = [np.asarray(a) for a in arrays]
        self.block = Block(arg_types=[tensor(a.shape, f64 if a.dtype == np.float64 else i64) for a in self.arrays])
        self.b = OpBuilder(self.block)
        self.args: tuple[SSAValue, ...] = tuple(self.block.args)

    def result(self) -> Any:
        """The value of the block's last op."""
        op = self.block.last_op
        assert isinstance(op, Operation)
        known = dict(zip(self.args, self.arrays, strict=True))
        return evaluate(op, [known[v] for v in op.operands])[0]


def numbers(shape: tuple[int, ...]) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape)


@given(shapes, st.randoms(use_true_random=False))
def test_transpose(shape: tuple[int, ...], random: Any) -> None:
    permutation = list(range(len(shape)))
    random.shuffle(permutation)
    scene = Scene(numbers(shape))
    if permutation != sorted(permutation):
        scene.b.transpose(scene.args[0], permutation)
        np.testing.assert_array_equal(scene.result(), numbers(shape).transpose(permutation))


@given(st.data())
def test_slice(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    starts = [data.draw(st.integers(0, n)) for n in shape]
    limits = [data.draw(st.integers(s, n)) for s, n in zip(starts, shape, strict=True)]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    scene = Scene(numbers(shape))
    scene.b.slice(scene.args[0], starts, limits, strides)
    expected = numbers(shape)[tuple(slice(*s) for s in zip(starts, limits, strides, strict=True))]
    np.testing.assert_array_equal(scene.result(), expected)


@given(st.data())
def test_pad_then_slice_gives_back(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    low, high, interior = ([data.draw(st.integers(0, 2)) for _ in shape] for _ in range(3))
    scene = Scene(numbers(shape), -1.0)
    scene.b.pad(*scene.args, low, high, interior)
    padded = scene.result()
    index = tuple(slice(lo, lo + max(n - 1, 0) * (k + 1) + (n > 0), k + 1) for n, lo, k in zip(shape, low, interior, strict=True))
    np.testing.assert_array_equal(padded[index], numbers(shape))
    assert np.count_nonzero(padded == -1) == padded.size - numbers(shape).size


@given(st.data())
def test_negative_padding_crops(data: st.DataObject) -> None:
    n, k = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 2))
    low, high = data.draw(st.integers(-4, 3)), data.draw(st.integers(-4, 3))
    spread = np.full(max(n - 1, 0) * (k + 1) + (n > 0), -1.0)
    spread[:: k + 1] = np.arange(n)
    whole = np.concatenate([np.full(max(low, 0), -1.0), spread, np.full(max(high, 0), -1.0)])
    expected = whole[max(-low, 0) : len(whole) - max(-high, 0)]
    if len(whole) + min(low, 0) + min(high, 0) < 0:
        return
    scene = Scene(np.arange(float(n)), -1.0)
    scene.b.pad(*scene.args, [low], [high], [k])
    np.testing.assert_array_equal(scene.result(), expected)


@given(st.data())
def test_broadcast(data: st.DataObject) -> None:
    result = data.draw(shapes)
    dims = data.draw(st.permutations(range(len(result))).map(lambda p: p[: len(p) // 2 + 1] if p else p))
    operand = [data.draw(st.sampled_from([1, result[d]])) for d in dims]
    scene = Scene(numbers(tuple(operand)))
    scene.b.one(stablehlo.BroadcastInDimOp, scene.args, tensor(result, f64), broadcast_dimensions=_array(dims))
    expected = np.empty(result)
    for i in np.ndindex(*result):
        expected[i] = numbers(tuple(operand))[tuple(i[d] if n > 1 else 0 for d, n in zip(dims, operand, strict=True))]
    np.testing.assert_array_equal(scene.result(), expected)


def _array(values: Any) -> Any:
    from wengert.ir.attributes import int_array

    return int_array(values)


@given(st.integers(1, 5), st.integers(1, 4), st.lists(st.integers(-3, 8), max_size=6))
def test_gather_of_rows_is_take_with_clipping(rows: int, columns: int, indices: list[int]) -> None:
    operand, index = numbers((rows, columns)), np.array(indices, np.int64).reshape(-1, 1)
    scene = Scene(operand, index)
    numbers_of = GatherDimensionNumbersAttr(*(dimensions(d) for d in ((1,), (0,), (), (), (0,))), int_attr(1))
    scene.b.gather(*scene.args, numbers_of, (1, columns), (len(indices), columns))
    np.testing.assert_array_equal(scene.result(), operand[np.clip(index[:, 0], 0, rows - 1)])


@given(st.integers(1, 5), st.lists(st.integers(-2, 7), max_size=8), st.sampled_from(["add", "mul", "max", "min", "set"]))
def test_scatter_in_order_and_within_bounds(n: int, indices: list[int], kind: str) -> None:
    operand, updates = np.arange(1.0, n + 1), np.arange(2.0, 2 + len(indices))
    scene = Scene(operand, np.array(indices, np.int64).reshape(-1, 1), updates)
    numbers_of = ScatterDimensionNumbersAttr(*(dimensions(d) for d in ((), (0,), (), (), (0,))), int_attr(1))
    scene.b.scatter(core.Kind(kind), *scene.args, numbers_of)
    combine = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min, "set": lambda a, b: b}[kind]
    expected = operand.copy()
    for i, u in zip(indices, updates, strict=True):
        if 0 <= i < n:
            expected[i] = combine(expected[i], u)
    np.testing.assert_array_equal(scene.result(), expected)


@given(shapes.filter(len), st.data(), st.booleans())
def test_cumulative_sum(shape: tuple[int, ...], data: st.DataObject, reverse: bool) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    scene = Scene(numbers(shape))
    scene.b.cumulative(core.Kind.add, scene.args[0], dim, reverse)
    flip = (lambda x: np.flip(x, dim)) if reverse else (lambda x: x)
    np.testing.assert_array_equal(scene.result(), flip(np.cumsum(flip(numbers(shape)), dim)))


@given(st.lists(st.sampled_from([1.0, -1.0, 0.0, 2.0, np.nan]), min_size=1, max_size=6), st.sampled_from(["max", "min"]))
def test_argreduce_finds_the_first_extreme_and_nan_first(values: list[float], extreme: str) -> None:
    scene = Scene(np.array(values))
    scene.b.argreduce(core.Extreme(extreme), scene.args[0], 0, i64)
    op = scene.block.last_op
    assert op is not None
    value, index = evaluate(op, scene.arrays)
    best = np.nan if np.isnan(values).any() else (max if extreme == "max" else min)(values)
    expected = next(i for i, v in enumerate(values) if v == best or (np.isnan(v) and np.isnan(best)))
    assert index == expected
    np.testing.assert_array_equal(value, best)


@given(st.lists(st.lists(st.integers(0, 5), min_size=7, max_size=7), min_size=1, max_size=3), st.integers(0, 7))
def test_merge_sort_is_the_stable_sort(rows: list[list[int]], n: int) -> None:
    keys = np.array(rows)[:, :n]
    flat = keys.ravel()
    order = merge_sort(np.arange(flat.size).reshape(keys.shape), lambda a, b: flat[a] < flat[b])
    expected = np.argsort(keys, axis=1, kind="stable") + np.arange(len(keys))[:, None] * n
    np.testing.assert_array_equal(order, expected)


ELSEWHERE = (stablehlo.ReturnOp, stablehlo.UniformQuantizeOp, stablehlo.UniformDequantizeOp)
"""The end of a block, and ops on quantized numbers, of which ``expand-quantized`` leaves none when a program is loaded."""


@pytest.mark.parametrize("dialect", [stablehlo.StableHLO, chlo.Chlo, core.Core], ids=lambda d: d.name)
def test_every_op_has_an_evaluation_rule(dialect: Any) -> None:
    assert [op.name for op in dialect.operations if op not in EVALUATION_RULES and op not in ELSEWHERE] == []
