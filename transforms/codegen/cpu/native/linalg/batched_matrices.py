"""Emits factorisations and triangular systems of small matrices, as many at once as a register has lanes.

All of them compute an element as what it was less a sum of products that are final already (Crout's order), so that a sum stays
in a register and four of them share an operand. The products are taken in the same order as by elimination.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes, Place
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element

MOST_ELEMENTS = 64 * 64
"""The elements of all operands of one matrix: a larger group does not stay in the caches near the core, and blocked algorithms are better."""
_I32 = Element("i", "i32", "i32", 4)


class _Matrices:
    """Row-major matrices of ``n`` columns at ``a``, in lanes."""

    def __init__(self, lanes: MatrixLanes, a: str, n: int):
        self.lanes = lanes
        self.builder = lanes.builder
        self.scalars = lanes.scalars
        self.register = lanes.element.register
        self.a = a
        self.n = n

    def place(self, i: Index, j: Index) -> str:
        """The address of an element."""
        return self.lanes.address(self.a, self.builder.linear([(i, self.n)], j))

    def row(self, i: Index) -> Place:
        """A row from its first element on."""
        return self.place(i, 0), 1

    def column(self, j: Index) -> Place:
        """A column from its first element on."""
        return self.place(0, j), self.n

    def steps(self, address: str, step: int, count: int) -> list[str]:
        """The addresses of elements so many apart."""
        return [self.lanes.address(address, number * step) for number in range(count)]

    def reduce(self, places: list[str], shared: Place, others: list[Place], count: Index) -> list[str]:
        """The elements at these places less their sums of products."""
        return self.lanes.less_products([self.lanes.load(place) for place in places], 0, count, shared, others)


class BatchedLu(_Matrices):
    """Gaussian elimination of m x n matrices in place."""

    def __init__(self, lanes: MatrixLanes, extents: tuple[int, int], a: str):
        super().__init__(lanes, a, extents[1])
        self.m = extents[0]
        size = lanes.element.size
        self.number = Element("i", f"i{8 * size}", f"i{8 * size}", size)
        self.numbers = self.scalars.type(self.number.register)

    def run(self, pivots: str, info: str) -> None:
        """Pivots from 1 and info of all matrices; those of the first one lie at these addresses."""
        builder, lanes, scalars, register = self.builder, self.lanes, self.scalars, self.register
        with builder.loop(0, min(self.m, self.n), [(self.numbers, "zeroinitializer")]) as step:
            k, after, failed = step.index, builder.add(step.index, 1), step.values[0]
            lanes.in_blocks(k, self.m, lambda i, count: self._reduce_column(k, i, count))
            self._exchange(k, self._pivot(k), pivots)
            pivot = lanes.load(self.place(k, k))
            singular = scalars.compare("oeq", register, pivot, scalars.float_constant(register, 0.0))
            first = scalars.binary("and", "i1", singular, scalars.compare("eq", self.number.register, failed, "zeroinitializer"))
            divisor = scalars.select(singular, register, scalars.float_constant(register, 1.0), pivot)
            with builder.loop(after, self.m) as below:
                place = self.place(below.index, k)
                lanes.store(lanes.divided(lanes.load(place), divisor), place)
            lanes.in_blocks(after, self.n, lambda j, count: self._reduce_row(k, j, count))
            step.carry(scalars.select(first, self.number.register, self._splat(after), failed))
        for lane in range(lanes.lanes):
            status = self.scalars.extract(self.number.register, step.values[0], lane)
            builder.memory().store(_I32, self._resized(status, self.number.register, "i32"), builder.address(info, _I32, lane))

    def _reduce_column(self, k: Index, i: Index, count: int) -> None:
        places = self.steps(self.place(i, k), self.n, count)
        rows: list[Place] = [(row, 1) for row in self.steps(self.place(i, 0), self.n, count)]
        for place, rest in zip(places, self.reduce(places, self.column(k), rows, k), strict=True):
            self.lanes.store(rest, place)

    def _reduce_row(self, k: Index, j: Index, count: int) -> None:
        places = self.steps(self.place(k, j), 1, count)
        columns: list[Place] = [(column, self.n) for column in self.steps(self.place(0, j), 1, count)]
        for place, rest in zip(places, self.reduce(places, self.row(k), columns, k), strict=True):
            self.lanes.store(rest, place)

    def _pivot(self, k: Index) -> str:
        """For each lane the first row from k on whose element in column k is largest in absolute value."""
        builder, lanes, scalars, register = self.builder, self.lanes, self.scalars, self.register
        start = scalars.intrinsic("fabs", register, lanes.load(self.place(k, k)))
        with builder.loop(builder.add(k, 1), self.m, [(lanes.kind, start), (self.numbers, self._splat(k))]) as loop:
            best, row = loop.values
            size = scalars.intrinsic("fabs", register, lanes.load(self.place(loop.index, k)))
            larger = scalars.compare("ogt", register, size, best)
            loop.carry(scalars.select(larger, register, size, best), scalars.select(larger, self.number.register, self._splat(loop.index), row))
        return loop.values[1]

    def _exchange(self, k: Index, row: str, pivots: str) -> None:
        """Row k and, in each lane, the chosen one; nothing where all lanes have chosen row k."""
        builder, lanes, register = self.builder, self.lanes, self.register
        count, steps = lanes.lanes, min(self.m, self.n)
        chosen: list[str] = []
        for lane in range(count):
            pivot = self._resized(self.scalars.extract(self.number.register, row, lane), self.number.register, "i64")
            number = self._resized(builder.binary("add nsw", "i64", pivot, "1"), "i64", "i32")
            builder.memory().store(_I32, number, builder.address(pivots, _I32, builder.linear([(lane, steps)], k)))
            chosen.append(pivot)
        moved = self.scalars.compare("ne", self.number.register, row, self._splat(k))
        with builder.when(self.scalars.any(moved)):
            upper, others = self.place(k, 0), [self.place(pivot, 0) for pivot in chosen]
            with builder.loop(0, self.n) as column:
                above = lanes.address(upper, column.index)
                x = kept = lanes.load(above)
                for lane, other in enumerate(others):
                    mine = "<" + ", ".join(f"i1 {'true' if n == lane else 'false'}" for n in range(count)) + ">"
                    place = lanes.address(other, column.index)
                    y = lanes.load(place)
                    kept = self.scalars.select(mine, register, y, kept)
                    lanes.store(self.scalars.select(mine, register, x, y), place)
                # Last, since a lane that chose row k has written it above.
                lanes.store(kept, above)

    def _splat(self, index: Index) -> str:
        return self.builder.splat(self.number.register, self._resized(str(index), "i64", self.number.register), self.lanes.lanes)

    def _resized(self, number: str, source: str, target: str) -> str:
        return self.builder.scalars().resize(number, source, target, signed=True)


class BatchedCholesky(_Matrices):
    """The factor of symmetric n x n matrices at ``a``, in place in one triangle."""

    def __init__(self, lanes: MatrixLanes, a: str, n: int, *, lower: bool):
        super().__init__(lanes, a, n)
        self.lower = lower

    def place(self, i: Index, j: Index) -> str:
        """An element of the lower factor, or of the transpose of the upper one."""
        return super().place(i, j) if self.lower else super().place(j, i)

    def row(self, i: Index) -> Place:
        """A row of the lower factor."""
        return self.place(i, 0), 1 if self.lower else self.n

    def run(self) -> str:
        """Whether each lane met a pivot that is not positive."""
        builder, lanes, scalars, register = self.builder, self.lanes, self.scalars, self.register
        truths = scalars.type("i1")
        with builder.loop(0, self.n, [(truths, "zeroinitializer")]) as step:
            j, place = step.index, self.place(step.index, step.index)
            (pivot,) = self.reduce([place], self.row(j), [self.row(j)], j)
            bad = scalars.compare("ule", register, pivot, scalars.float_constant(register, 0.0))
            root = scalars.intrinsic("sqrt", register, pivot)
            lanes.store(root, place)

            def below(i: Index, count: int) -> None:
                first, along = self.row(i)
                step = self.n if self.lower else 1
                places = self.steps(self.place(i, j), step, count)
                rows: list[Place] = [(row, along) for row in self.steps(first, step, count)]
                for at, rest in zip(places, self.reduce(places, self.row(j), rows, j), strict=True):
                    lanes.store(lanes.divided(rest, root), at)

            lanes.in_blocks(builder.add(j, 1), self.n, below)
            step.carry(scalars.binary("or", "i1", step.values[0], bad))
        return step.values[0]


class BatchedSubstitution:
    """T y = c for each right-hand side, in place: y_i = (c_i - sum over the solved k of t_ik y_k) / t_ii.

    ``matrix`` and ``steps`` are steps from row to row and column to column of T, and from element to element and side to side of c.
    """

    def __init__(self, lanes: MatrixLanes, addresses: tuple[str, str], matrix: tuple[int, int], steps: tuple[int, int], *, first_to_last: bool, unit: bool):
        self.lanes = lanes
        self.builder = lanes.builder
        self.t, self.c = addresses
        self.matrix = matrix
        self.steps = steps
        self.first_to_last = first_to_last
        self.unit = unit

    def run(self, n: int, sides: int) -> None:
        """For matrices of order ``n``."""
        builder, lanes = self.builder, self.lanes
        with builder.loop(0, n) as rows:
            row: Index = rows.index if self.first_to_last else builder.binary("sub nsw", "i64", n - 1, rows.index)
            start, end = (0, row) if self.first_to_last else (builder.add(row, 1), n)
            shared = lanes.address(self.t, builder.multiply(row, self.matrix[0])), self.matrix[1]
            divisor = "" if self.unit else lanes.load(lanes.address(self.t, builder.multiply(row, sum(self.matrix))))

            below = builder.multiply(row, self.steps[0])

            def solve(side: Index, count: int) -> None:
                first = lanes.address(self.c, builder.multiply(side, self.steps[1]))
                others, places = ([lanes.address(place, number * self.steps[1]) for number in range(count)] for place in (first, lanes.address(first, below)))
                starts = [lanes.load(place) for place in places]
                status = lanes.less_products(starts, start, end, shared, [(other, self.steps[0]) for other in others])
                for place, rest in zip(places, status, strict=True):
                    lanes.store(rest if self.unit else lanes.divided(rest, divisor), place)

            lanes.in_blocks(0, sides, solve)
