"""One scalar program over many batch elements: what is merged into one loop, and random such programs against the interpreter."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import assert_close
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

import wengert as wg
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.kernel import EmptyOp, MatmulOp, NestOp
from wengert.dialects.kernel.affine import parse
from wengert.ir.tensor_types import dtype_of, element, f32, f64, i32, rank, shape, tensor
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.kernel.batch_unrolling import are_apart
from wengert.transforms.lowering import lower

Build = Callable[..., Sequence[SSAValue]]


def program(types: Sequence[Any], build: Build) -> ModuleOp:
    """A module whose @main returns what a function of a builder and arguments of these types builds."""
    block = Block(arg_types=types)
    results = list(build(OpBuilder(block), *block.args))
    block.add_op(ReturnOp(*results))
    kind = FunctionType.from_lists([arg.type for arg in block.args], [r.type for r in results])
    return ModuleOp([FuncOp("main", kind, Region([block]))])


def inputs_of(module: ModuleOp, seed: int = 0) -> list[np.ndarray]:
    (function,) = ops_of(module, FuncOp)
    rng = np.random.default_rng(seed)
    arguments = [(shape(arg), dtype_of(element(arg))) for arg in function.body.block.args]
    return [rng.normal(size=extents).astype(dtype) if dtype.kind == "f" else rng.integers(-3, 4, extents).astype(dtype) for extents, dtype in arguments]


def compare(module: ModuleOp, *, strict: bool = False, tolerance: float = 1e-13) -> None:
    inputs = inputs_of(module)
    compiled = compile(module, strict=strict)
    assert not compiled.stats.interpreted
    with np.errstate(all="ignore"):
        wanted = run(module, inputs)
    for mine, theirs in zip(compiled(*inputs), wanted, strict=True):
        assert_close(mine, theirs, tolerance)


def nests(module: ModuleOp) -> list[NestOp]:
    lowered = lower(module)
    verify(lowered, "")
    assert not ops_of(lowered, EmptyOp)
    return ops_of(lowered, NestOp)


def column(b: OpBuilder, x: SSAValue, at: int) -> SSAValue:
    """Element ``at`` of every row, as a column."""
    return b.slice(x, [0] * (rank(x) - 1) + [at], [*shape(x)[:-1], at + 1])


def rows(b: OpBuilder, x: SSAValue, like: SSAValue) -> SSAValue:
    """A value per batch element for all elements of its row."""
    return b.broadcast_in_dim(x, range(rank(x)), shape(like))


def normalised(b: OpBuilder, x: SSAValue) -> list[SSAValue]:
    norm = b.sqrt(b.reduce_sum(b.multiply(x, x), [rank(x) - 1]))
    return [b.divide(x, rows(b, norm, x))]


def crossed(b: OpBuilder, x: SSAValue, y: SSAValue) -> list[SSAValue]:
    parts = [[column(b, v, i) for i in range(3)] for v in (x, y)]
    u, v = parts
    terms = [b.subtract(b.multiply(u[i - 2], v[i - 1]), b.multiply(u[i - 1], v[i - 2])) for i in range(3)]
    cross = b.concatenate(terms, rank(x) - 1)
    return [b.tanh(cross), b.reduce_sum(b.multiply(cross, x), [rank(x) - 1])]


def turned(b: OpBuilder, turns: SSAValue, x: SSAValue) -> list[SSAValue]:
    """A matrix for each point, or one for all of them."""
    if rank(turns) == rank(x):
        moved = b.tanh(b.dot_general(x, turns, ([rank(x) - 1], [0])))
    else:
        batch = list(range(rank(x) - 1))
        moved = b.dot_general(turns, x, ([rank(x)], [rank(x) - 1]), (batch, batch))
    return [b.reduce_sum(b.square(moved), list(range(rank(x)))), moved]


CASES: list[tuple[str, list[tuple[int, ...]], Build]] = [
    ("rows by their length", [(50, 3)], normalised),
    ("rows of two loops", [(3, 40, 2)], normalised),
    ("cross products and determinants", [(50, 3), (50, 3)], crossed),
    ("matrices of order two times vectors", [(50, 2, 2), (50, 2)], turned),
    ("vectors times one matrix", [(3, 3), (50, 3)], turned),
]


@pytest.mark.parametrize("element_type", [f64, f32], ids=str)
@pytest.mark.parametrize(("extents", "build"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_becomes_one_loop(extents: list[tuple[int, ...]], build: Build, element_type: Attribute) -> None:
    module = program([tensor(n, element_type) for n in extents], build)
    merged = nests(module)
    assert [op.extents for op in merged] == [(prod(extents[-1][:-1]),)], "the loops over the batch are collapsed into one"
    assert not ops_of(lower(module), MatmulOp)
    compare(module, tolerance=1e-14 if element_type == f64 else 1e-6)
    compare(module, strict=True, tolerance=1e-14 if element_type == f64 else 1e-6)


def test_a_sum_of_negative_zeros_is_zero() -> None:
    module = program([tensor((40, 3), f64)], lambda b, x: [b.reduce_sum(x, [1]), b.divide(x, rows(b, b.reduce_sum(x, [1]), x))])
    assert len(nests(module)) == 1
    zeros = np.full((40, 3), -0.0)
    total, _ = compile(module)(zeros)
    assert not np.signbit(total).any()


def test_strict_sums_over_rows_keep_their_order() -> None:
    def build(b: OpBuilder, x: SSAValue) -> list[SSAValue]:
        weights = b.sqrt(b.reduce_sum(b.multiply(x, x), [1]))
        return [b.reduce_sum(b.divide(x, rows(b, weights, x)), [0, 1])]

    module = program([tensor((500, 3), f32)], build)
    (x,) = inputs_of(module)
    (actual,), (expected,) = compile(module, strict=True)(x), run(module, [x])
    length = np.float32(0) + x[:, 0] * x[:, 0]
    for i in (1, 2):
        length += x[:, i] * x[:, i]
    total = np.float32(0)
    for term in (x / np.sqrt(length)[:, None]).ravel():
        total += term
    assert actual == total
    np.testing.assert_allclose(actual, expected, rtol=1e-4)


def test_extremes_of_integers_and_of_nan() -> None:
    def build(b: OpBuilder, x: SSAValue, n: SSAValue) -> list[SSAValue]:
        largest, least = b.reduce(Kind.max, x, [1]), b.reduce(Kind.min, n, [1])
        return [b.subtract(x, rows(b, largest, x)), b.subtract(n, rows(b, least, n))]

    module = program([tensor((40, 3), f64), tensor((40, 2), i32)], build)
    x, n = inputs_of(module)
    x[3, 1], x[7, 0] = np.nan, np.inf
    with np.errstate(all="ignore"):
        for mine, theirs in zip(compile(module)(x, n), run(module, [x, n]), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_what_passes_between_and_is_returned_too() -> None:
    def build(b: OpBuilder, x: SSAValue) -> list[SSAValue]:
        total = b.reduce_sum(x, [1])
        scaled = b.multiply(x, rows(b, total, x))
        joined = b.concatenate([scaled, b.reshape(total, (40, 1))], 1)
        return [total, joined, b.reduce_sum(joined, [0]), b.reduce(Kind.max, joined, [1])]

    compare(program([tensor((40, 3), f64)], build))


def test_two_runs_between_each_other() -> None:
    """Values of other batch elements in between do not keep a run from being merged, nor are they left out."""

    def build(b: OpBuilder, x: SSAValue, y: SSAValue) -> list[SSAValue]:
        lengths = [b.reduce_sum(b.multiply(v, v), [1]) for v in (x, y)]
        return [b.divide(v, rows(b, b.sqrt(length), v)) for v, length in zip((x, y), lengths, strict=True)]

    module = program([tensor((40, 3), f64), tensor((50, 2), f64)], build)
    assert sorted(op.extents for op in nests(module)) == [(40,), (50,)]
    compare(module)


def test_neighbours_are_not_merged() -> None:
    """What reads another batch element's row has to wait until all rows are written."""

    def build(b: OpBuilder, x: SSAValue) -> list[SSAValue]:
        total = b.reduce_sum(x, [1])
        before = b.concatenate([b.slice(total, [39], [40]), b.slice(total, [0], [39])], 0)
        return [b.add(x, rows(b, before, x))]

    module = program([tensor((40, 3), f64)], build)
    assert len(ops_of(lower(module), NestOp)) > 1
    compare(module)


@pytest.mark.parametrize(
    ("extents", "merged"), [((15, 3), False), ((16, 3), True), ((2, 7, 2), False), ((4, 10, 2), True), ((40, 12), True), ((40, 13), False)]
)
def test_large_batches_of_short_rows(extents: tuple[int, ...], merged: bool) -> None:
    assert (len(nests(program([tensor(extents, f64)], normalised))) == 1) == merged


@pytest.mark.parametrize(
    ("places", "extents", "apart"),
    [
        (["d0"], (40,), True),
        (["d0 * 3", "d0 * 3 + 2"], (40,), True),
        (["d0 * 3", "d0 * 3 + 3"], (40,), False),
        (["d0", "d0 + 40", "d0 + 80"], (40,), True),
        (["d0", "d0 + 39"], (40,), False),
        (["d0 * 120 + d1 * 3 + 1"], (4, 40), True),
        (["d0 + d1 * 4"], (4, 40), True),
        (["d0 * 100 + d1 * 3"], (4, 40), False),
        (["d0 + d1"], (4, 40), False),
        (["d1"], (4, 40), False),
        (["5"], (40,), False),
    ],
)
def test_batch_elements_that_are_independent(places: list[str], extents: tuple[int, ...], apart: bool) -> None:
    assert are_apart([parse(at) for at in places], extents) == apart


# -- random programs


class Writer:
    """Draws ops that fit the values made so far, all of which have the same batch; what is summed is kept small, so that rounding stays so."""

    def __init__(self, draw: Any, element_type: Attribute):
        self.draw, self.element_type = draw, element_type
        self.leading: tuple[int, ...] = draw(st.sampled_from([(40,), (17,), (3000,), (5, 40), (70, 60), (9, 7)]))
        rows = st.sampled_from([(3,), (2,), (1,), (), (2, 2)])
        self.block = Block(arg_types=[tensor((*self.leading, *draw(rows)), element_type) for _ in range(draw(st.integers(1, 3)))])
        self.b = OpBuilder(self.block)
        self.values: list[SSAValue] = list(self.block.args)

    @property
    def batch(self) -> list[int]:
        return list(range(len(self.leading)))

    def row(self, x: SSAValue) -> tuple[int, ...]:
        return shape(x)[len(self.leading) :]

    def pick(self, *, rows: bool = False) -> SSAValue:
        chosen = [v for v in self.values if self.row(v) or not rows]
        return self.draw(st.sampled_from(chosen)) if chosen else self.b.broadcast_in_dim(self.values[0], self.batch, [*self.leading, 3])

    def step(self) -> None:
        self.values.append(self.draw(st.sampled_from(STEPS))(self))

    def unary(self) -> SSAValue:
        b = self.b
        return self.draw(st.sampled_from([b.tanh, b.negate, b.abs, b.sine, lambda v: b.sqrt(b.abs(v))]))(self.pick())

    def binary(self) -> SSAValue:
        x = self.pick()
        same = [v for v in self.values if shape(v) == shape(x)]
        return self.draw(st.sampled_from([self.b.add, self.b.subtract, self.b.multiply, self.b.maximum]))(x, self.draw(st.sampled_from(same)))

    def reduce(self) -> SSAValue:
        x = self.pick(rows=True)
        dims = self.draw(st.sampled_from([[rank(x) - 1], list(range(len(self.leading), rank(x)))]))
        return self.b.sine(self.b.reduce(self.draw(st.sampled_from([Kind.add, Kind.add, Kind.max, Kind.mul])), x, dims))

    def spread(self) -> SSAValue:
        x = self.pick()
        if len(self.row(x)) > 1:
            return x
        return self.b.broadcast_in_dim(x, range(rank(x)), [*shape(x), self.draw(st.integers(1, 3))])

    def part(self) -> SSAValue:
        x = self.pick(rows=True)
        start = self.draw(st.integers(0, shape(x)[-1] - 1))
        stop = self.draw(st.integers(start + 1, shape(x)[-1]))
        return self.b.slice(x, [0] * (rank(x) - 1) + [start], [*shape(x)[:-1], stop])

    def join(self) -> SSAValue:
        x = self.pick(rows=True)
        other = self.draw(st.sampled_from([v for v in self.values if shape(v)[:-1] == shape(x)[:-1] and rank(v) == rank(x)] or [x]))
        return self.b.concatenate([x, other], rank(x) - 1) if shape(x)[-1] + shape(other)[-1] < 8 else x

    def turn(self) -> SSAValue:
        x = self.pick(rows=True)
        return self.b.reverse(x, self.draw(st.sampled_from([[rank(x) - 1], [0]])))

    def pad(self) -> SSAValue:
        x = self.pick(rows=True)
        low, high = ([0] * (rank(x) - 1) + [self.draw(st.integers(0, 1))] for _ in range(2))
        return self.b.pad(x, self.b.scalar(0.5, self.element_type), low, high) if shape(x)[-1] < 4 else x

    def flat(self) -> SSAValue:
        x = self.pick(rows=True)
        return self.b.reshape(x, (*self.leading, int(np.prod(self.row(x)))))

    def dot(self) -> SSAValue:
        x = self.pick(rows=True)
        y = self.draw(st.sampled_from([v for v in self.values if self.row(v) and shape(v)[-1] == shape(x)[-1]] or [x]))
        result = self.b.tanh(self.b.dot_general(x, y, ([rank(x) - 1], [rank(y) - 1]), (self.batch, self.batch)))
        return result if np.prod(self.row(result)) < 8 else x

    def shared(self) -> SSAValue:
        """Rows times a matrix that all batch elements share, or that is a sum over all of them."""
        x = self.pick(rows=True)
        n = shape(x)[-1]
        if self.draw(st.booleans()) and len(self.row(x)) == 1:
            matrix = self.b.tanh(self.b.dot_general(x, x, (self.batch, self.batch)))
        else:
            matrix = self.b.convert(self.b.iota(0, tensor((n, self.draw(st.integers(1, 4))), i32)), self.element_type)
        return self.b.tanh(self.b.dot_general(x, matrix, ([rank(x) - 1], [0])))

    def outer(self) -> SSAValue:
        x, y = ([v for v in self.values if len(self.row(v)) == 1][-1:] or [self.pick(rows=True)] for _ in range(2))
        result = self.b.tanh(self.b.dot_general(x[0], y[0], ([], []), (self.batch, self.batch)))
        return result if np.prod(self.row(result)) < 10 else x[0]

    def sums(self) -> SSAValue:
        """Sums over some loops of the batch, for all batch elements."""
        x = self.pick()
        dropped = self.draw(st.sampled_from([self.batch, self.batch[:1], self.batch[-1:]]))
        kept = [d for d in range(rank(x)) if d not in dropped]
        result = self.b.reduce(self.draw(st.sampled_from([Kind.add, Kind.max])), x, dropped)
        return self.b.broadcast_in_dim(self.b.tanh(result), kept, shape(x))


STEPS = [
    Writer.unary,
    Writer.binary,
    Writer.binary,
    Writer.reduce,
    Writer.reduce,
    Writer.spread,
    Writer.part,
    Writer.join,
    Writer.turn,
    Writer.pad,
    Writer.flat,
    Writer.dot,
    Writer.outer,
    Writer.sums,
    Writer.shared,
]


@st.composite
def modules(draw: Any) -> ModuleOp:
    writer = Writer(draw, draw(st.sampled_from([f64, f32])))
    for _ in range(draw(st.integers(3, 16))):
        writer.step()
    results = [writer.values[-1], *[writer.pick() for _ in range(draw(st.integers(0, 2)))]]
    writer.block.add_op(ReturnOp(*results))
    kind = FunctionType.from_lists([arg.type for arg in writer.block.args], [r.type for r in results])
    return ModuleOp([FuncOp("main", kind, Region([writer.block]))])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules(), st.booleans())
def test_random_programs(module: ModuleOp, strict: bool) -> None:
    wide = all(element(r) == f64 for op in ops_of(module, ReturnOp) for r in op.operands)
    verify(lower(module, reassociate=not strict), "")
    compare(module, strict=strict, tolerance=1e-11 if wide else 1e-3)


def test_updates_that_begin_as_one_value() -> None:
    """Two scatters into the same zeros, merged: each has an array of its own."""
    numbers = "dims = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, sorted = true, unique = true"
    kinds = "(tensor<784xf64>, tensor<28x1xi64>, tensor<28xf64>) -> tensor<784xf64>"
    rows = "%x: tensor<28x2xf64>, %z: tensor<28x2xf64>, %y: tensor<2xf64>"
    updates = "%u: tensor<28xf64>, %v: tensor<28xf64>, %i: tensor<28x1xi64>, %j: tensor<28x1xi64>"
    updated = wg.parse(f"""func.func @main({rows}, {updates}) -> (tensor<784xf64>, tensor<28xf64>, tensor<784xf64>) {{
      %0 = stablehlo.add %x, %x : tensor<28x2xf64>
      %1 = stablehlo.add %z, %0 : tensor<28x2xf64>
      %2 = stablehlo.divide %y, %y : tensor<2xf64>
      %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<2xf64>) -> tensor<28x2xf64>
      %4 = stablehlo.multiply %1, %3 : tensor<28x2xf64>
      %5 = stablehlo.slice %4 [0:28, 0:1] : (tensor<28x2xf64>) -> tensor<28x1xf64>
      %6 = stablehlo.reshape %5 : (tensor<28x1xf64>) -> tensor<28xf64>
      %zeros = stablehlo.constant dense<0.0> : tensor<784xf64>
      %few = stablehlo.constant dense<0.0> : tensor<28xf64>
      %7 = core.scatter add %zeros, %i, %u, {numbers} : {kinds}
      %8 = core.scatter add %few, %j, %6, {numbers} : {kinds.replace("784", "28")}
      %9 = core.scatter add %zeros, %i, %v, {numbers} : {kinds}
      return %7, %8, %9 : tensor<784xf64>, tensor<28xf64>, tensor<784xf64>
    }}""")
    rng = np.random.default_rng(0)
    x, z, u, v = (rng.standard_normal(shape) for shape in ((28, 2), (28, 2), 28, 28))
    positions = np.arange(28)[:, None]
    inputs = [x, z, np.ones(2), u, v, 29 * positions, positions]
    for value, expected in zip(updated(*inputs), updated.compile("interpreter")(*inputs), strict=True):
        np.testing.assert_array_equal(value, expected)
