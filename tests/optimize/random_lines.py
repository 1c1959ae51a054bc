"""Random programs, rich in what rewrites look for: constants with laws of their own, repeated ops, moves that undo each other."""

from __future__ import annotations

import random
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_array
from wengert.ir.tensor_types import element, f64, i1, i32, shape, tensor, type_of
from wengert.transforms.core.kinds import region_of

INF = float("inf")
FLOATS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -4.0, 3.0, INF, -INF, float("nan")]
INTEGERS = [0, 1, -1, 2, 7, 2**31 - 1, -(2**31)]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
UNARY = ["negate", "abs", "floor", "ceil", "sign"]
DIRECTIONS = ["EQ", "NE", "LT", "LE", "GT", "GE"]


class Program:
    """A function of two float matrices, an integer matrix and a boolean one, grown op by op."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        arguments = [tensor((2, 3), f64), tensor((3, 1), f64), tensor((2, 3), i32), tensor((2, 3), i1)]
        self.block = Block(arg_types=arguments)
        self.b = OpBuilder(self.block)
        self.values: list[SSAValue] = list(self.block.args)

    def grow(self, count: int, *, regions: bool = False) -> None:
        """Appends this many random ops; with regions also reduces as StableHLO writes them."""
        steps = [self.constant, self.unary, self.binary, self.binary, self.compare, self.select, self.move, self.move, self.convert, self.reduce]
        if regions:
            steps += [self.plain_reduce] * 2 + [self.branch]
        for _ in range(count):
            made = self.rng.choice(steps)()
            if made is not None:
                self.values.append(made)

    def module(self) -> ModuleOp:
        """The program as a module that returns its last values."""
        results = self.values[-4:]
        self.block.add_op(ReturnOp(*results))
        kind = FunctionType.from_lists([a.type for a in self.block.args], [r.type for r in results])
        return ModuleOp([FuncOp("main", kind, Region([self.block]), visibility=StringAttr("public"))])

    def pick(self, element_type: Any = None) -> SSAValue:
        # Late values are picked more often, so that ops build on one another.
        known = [v for v in self.values if element_type is None or element(v) == element_type]
        return known[-1 - min(int(self.rng.expovariate(0.4)), len(known) - 1)]

    def partner(self, x: SSAValue) -> SSAValue:
        """Another value of x's type: one that there is, or a constant."""
        same = [v for v in self.values if v.type == x.type]
        return self.rng.choice(same) if self.rng.random() < 0.6 else self.constant_like(x)

    def constant_like(self, x: SSAValue) -> SSAValue:
        choices: list[Any] = FLOATS if element(x) == f64 else INTEGERS if element(x) == i32 else [True, False]
        return self.b.full_like(x, self.rng.choice(choices))

    def constant(self) -> SSAValue:
        return self.constant_like(self.pick())

    def unary(self) -> SSAValue:
        x = self.pick()
        if element(x) == i1:
            return self.b.not_(x)
        names = UNARY if element(x) == f64 else ["negate", "abs", "sign", "not_"]
        return getattr(self.b, self.rng.choice(names))(x)

    def binary(self) -> SSAValue:
        x = self.pick()
        y = self.partner(x)
        names = (
            BINARY if element(x) == f64 else ["add", "subtract", "multiply", "maximum", "and_", "or_", "xor"] if element(x) == i32 else ["and_", "or_", "xor"]
        )
        return getattr(self.b, self.rng.choice(names))(*((x, y) if self.rng.random() < 0.5 else (y, x)))

    def compare(self) -> SSAValue:
        x = self.pick()
        return self.b.compare(self.rng.choice(DIRECTIONS), x, self.partner(x))

    def select(self) -> SSAValue | None:
        pred = self.pick(i1)
        same = [v for v in self.values if shape(v) == shape(pred)]
        x = self.rng.choice(same)
        return self.b.select(pred, x, self.partner(x))

    def convert(self) -> SSAValue:
        x = self.pick()
        element_type = self.rng.choice([f64, i32, i1] if element(x) != f64 else [f64, i1])
        return self.b.convert(x, element_type)

    def move(self) -> SSAValue | None:
        x = self.pick()
        extents = shape(x)
        rank = len(extents)
        match self.rng.randrange(7):
            case 0:
                return self.b.transpose(x, self.rng.sample(range(rank), rank))
            case 1:
                return self.b.reshape(x, [n for n in extents if n != 1] if self.rng.random() < 0.5 else [1, *extents])
            case 2 if rank < 4:
                return self.b.broadcast_in_dim(x, range(1, rank + 1), (2, *extents))
            case 3:
                low = [self.rng.randrange(n) for n in extents]
                high = [self.rng.randrange(lo, n) + 1 for lo, n in zip(low, extents, strict=True)]
                return self.b.slice(x, low, high, [self.rng.choice([1, 1, 2]) for _ in extents])
            case 4:
                value = self.b.scalar(self.rng.choice([0, 1]), element(x))
                return self.b.pad(x, value, [self.rng.choice([0, 1, -1]) if n > 1 else 0 for n in extents], [self.rng.choice([0, 1]) for _ in extents])
            case 5 if rank:
                dim = self.rng.randrange(rank)
                return self.b.concatenate([x, self.partner(x)], dim)
            case 6 if rank:
                return self.b.reverse(x, self.rng.sample(range(rank), self.rng.randrange(rank + 1)))
            case _:
                return None

    def kind(self, x: SSAValue) -> Kind:
        return self.rng.choice([Kind.max, Kind.min] if element(x) == f64 else [Kind.add, Kind.max, Kind.mul] if element(x) == i32 else [Kind.and_, Kind.or_])

    def reduce(self) -> SSAValue | None:
        x = self.pick()
        rank = len(shape(x))
        return self.b.reduce(self.kind(x), x, self.rng.sample(range(rank), self.rng.randrange(rank + 1))) if rank else None

    def plain_reduce(self) -> SSAValue | None:
        x = self.pick()
        rank = len(shape(x))
        if not rank:
            return None
        dims = sorted(self.rng.sample(range(rank), self.rng.randrange(1, rank + 1)))
        initial = self.constant_like(self.b.scalar(0, element(x)))
        result = tensor([n for d, n in enumerate(shape(x)) if d not in dims], element(x))
        region = region_of(self.kind(x), element(x))
        return self.b.create(stablehlo.ReduceOp, (x, initial), (result,), {"dimensions": int_array(dims)}, (region,))[0]

    def branch(self) -> SSAValue | None:
        """An if whose branches use values from outside, with a condition that may be constant."""
        x = self.pick()
        pred = self.b.scalar(self.rng.random() < 0.5, i1) if self.rng.random() < 0.5 else self.b.reduce(Kind.or_, self.values[3], (0, 1))
        blocks = [Block(), Block()]
        for block in blocks:
            inner = OpBuilder(block, parent=self.b)
            y = inner.negate(x) if element(x) != i1 else inner.not_(x)
            block.add_op(stablehlo.ReturnOp.create(operands=[self.rng.choice([x, y])]))
        return self.b.create(stablehlo.IfOp, (pred,), (type_of(x),), {}, [Region([block]) for block in blocks])[0]


def random_program(seed: int, size: int, *, regions: bool = False) -> ModuleOp:
    """A verified-by-construction program of up to ``size`` ops."""
    program = Program(seed)
    program.grow(size, regions=regions)
    return program.module()
