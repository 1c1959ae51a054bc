"""Random programs of elementwise, shape, reduction and contraction ops, drawn by Hypothesis."""

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import dtype_of, element, f64, i32, shape, size, tensor

SHAPES = [(), (1,), (3,), (8,), (17,), (2, 3), (4, 5), (1, 7), (6, 1), (2, 3, 4), (3, 1, 5), (0, 3), (33, 2)]


class Writer:
    """Draws ops that fit the values made so far."""

    def __init__(self, draw, element_type) -> None:
        self.draw = draw
        self.element_type = element_type
        self.block = Block(arg_types=[tensor(draw(st.sampled_from(SHAPES)), element_type) for _ in range(draw(st.integers(1, 3)))])
        self.b = OpBuilder(self.block)
        self.values: list[SSAValue] = list(self.block.args)

    def pick(self) -> SSAValue:
        return self.draw(st.sampled_from(self.values))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def like(self, x: SSAValue) -> SSAValue:
        """Another value of x's shape: one there is, or something made to fit."""
        same = [v for v in self.values if shape(v) == shape(x)]
        kind = self.number(0, 3)
        if kind == 0:
            return self.b.full_like(x, self.number(-2, 2))
        if kind == 1 and shape(x):
            return self.b.convert(self.b.iota(self.number(0, len(shape(x)) - 1), tensor(shape(x), i32)), self.element_type)
        if kind == 2:
            scalar = [v for v in self.values if size(v) == 1]
            if scalar:
                return self.b.broadcast_in_dim(self.b.reshape(self.draw(st.sampled_from(scalar)), ()), (), shape(x))
        return self.draw(st.sampled_from(same))

    def step(self) -> None:
        x = self.pick()
        self.values.append(self.draw(st.sampled_from(STEPS))(self, x))

    def unary(self, x):
        b = self.b
        return self.draw(st.sampled_from([b.tanh, b.negate, b.abs, b.sine, b.logistic, lambda v: b.sqrt(b.abs(v))]))(x)

    def binary(self, x):
        b = self.b
        return self.draw(st.sampled_from([b.add, b.subtract, b.multiply, b.maximum, b.minimum]))(x, self.like(x))

    def select(self, x):
        y = self.like(x)
        return self.b.select(self.b.compare(self.draw(st.sampled_from(["LT", "GE", "EQ"])), x, self.like(x)), x, y)

    def broadcast(self, x):
        extents = list(shape(x))
        dims = list(range(len(extents)))
        at = self.number(0, len(extents))
        extra = self.number(1, 20)
        extents.insert(at, extra)
        dims = [d if d < at else d + 1 for d in dims]
        result = [self.number(2, 3) if n == 1 and d != at and self.number(0, 1) else n for d, n in enumerate(extents)]
        return self.b.broadcast_in_dim(x, dims, result) if np.prod(result) < 3000 else x

    def transpose(self, x):
        return self.b.transpose(x, self.draw(st.permutations(range(len(shape(x))))))

    def reshape(self, x):
        n = size(x)
        shapes = [(n,), (1, n), (n, 1)] + [(k, n // k) for k in (2, 3, 4, 5, 6) if n and n % k == 0] + [(n // k, k) for k in (2, 3, 4) if n and n % k == 0]
        return self.b.reshape(x, self.draw(st.sampled_from(shapes)))

    def slice(self, x):
        start = [self.number(0, n) for n in shape(x)]
        limit = [self.number(lo, n) for lo, n in zip(start, shape(x))]
        return self.b.slice(x, start, limit, [self.number(1, 3) for _ in start])

    def pad(self, x):
        low = [self.number(-1, 3) for _ in shape(x)]
        high = [self.number(-1, 3) for _ in shape(x)]
        mid = [self.number(0, 2) for _ in shape(x)]
        if any(lo + n + max(n - 1, 0) * m + hi < 0 for lo, n, m, hi in zip(low, shape(x), mid, high)):
            return x
        return self.b.pad(x, self.b.scalar(self.number(-1, 1), self.element_type), low, high, mid)

    def reverse(self, x):
        return self.b.reverse(x, [d for d in range(len(shape(x))) if self.number(0, 1)])

    def concatenate(self, x):
        if not shape(x):
            return x
        return self.b.concatenate([x, self.like(x), x][: self.number(1, 3)], self.number(0, len(shape(x)) - 1))

    def reduce(self, x):
        dims = [d for d in range(len(shape(x))) if self.number(0, 1)]
        kind = self.draw(st.sampled_from([Kind.add, Kind.max, Kind.min, Kind.mul])) if size(x) <= 30 else self.draw(st.sampled_from([Kind.add, Kind.max]))
        reduced = self.b.reduce(kind, x, dims)
        return self.b.tanh(reduced) if kind is Kind.mul else reduced

    def contract(self, x):
        if len(shape(x)) != 2 or size(x) == 0:
            return x
        turned = self.number(0, 1)
        other = self.b.transpose(x, (1, 0)) if turned else x
        return self.b.tanh(self.b.dot_general(x, other, ((1,), (0 if turned else 1,))))

    def barrier(self, x):
        from wengert.dialects import stablehlo

        op = stablehlo.OptimizationBarrierOp.create(operands=[x], result_types=[x.type])
        self.b.insert(op)
        return op.results[0]

    def finish(self) -> ModuleOp:
        returned = self.draw(st.lists(st.sampled_from(self.values), min_size=1, max_size=4))
        self.block.add_op(ReturnOp(*returned))
        return ModuleOp([FuncOp("main", FunctionType.from_lists([a.type for a in self.block.args], [v.type for v in returned]), Region([self.block]))])


STEPS = [
    *[Writer.unary] * 2,
    *[Writer.binary] * 4,
    Writer.select,
    *[Writer.broadcast] * 2,
    *[Writer.transpose] * 2,
    *[Writer.reshape] * 2,
    Writer.slice,
    Writer.pad,
    Writer.reverse,
    Writer.concatenate,
    *[Writer.reduce] * 2,
    Writer.contract,
    Writer.barrier,
]


@st.composite
def programs(draw, element_type=f64):
    writer = Writer(draw, element_type)
    for _ in range(draw(st.integers(1, 14))):
        writer.step()
    return writer.finish()


def inputs_of(module: ModuleOp, seed: int) -> list[np.ndarray]:
    (function,) = module.ops
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape(a)).astype(dtype_of(element(a))) for a in function.body.block.args]
