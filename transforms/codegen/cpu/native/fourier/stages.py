"""Emits the stages of a Fourier transform: Stockham's autosort, after Van Loan, Computational Frameworks for the FFT (SIAM 1992), 1.7.

With n = r m, a stage reads x[j, p, q] and writes y[p, k, q] = w^(p k) sum over j of x[j, p, q] w_r^(j k), w = exp(-2 pi i / n), where q
counts s transforms that run at once; what follows are r s transforms of length m. All indices but the last are strides, so results come
out in natural order, and the loop over q moves whole vectors.

Between stages an element is a *unit*: the real parts of all lanes, then the imaginary parts. A stage that reads units and
writes units is a function of m and s which all transforms of a program share; the first and the last one are written where
they stand, as they read the operand and write the result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec import Struct

from wengert.transforms.codegen.cpu.native.fourier.numbers import Number, Numbers
from wengert.transforms.codegen.cpu.native.fourier.tables import IN_REGISTERS, by_pairs, by_planes, radices, table, twiddles
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element, vector
from wengert.transforms.fuse.fourier.butterflies import butterfly
from wengert.transforms.fuse.fourier.roots import roots

Load = Callable[[Index], Number]
Store = Callable[[Index, Number], None]


class Units(Struct, frozen=True):
    """Scratch memory that holds one number of each lane at every index."""

    builder: KernelBuilder
    part: Element
    lanes: int
    pointer: str

    @property
    def numbers(self) -> Numbers:
        """Arithmetic on the lanes."""
        return Numbers(self.builder, self.part.register, self.lanes)

    def places(self, index: Index) -> tuple[str, str]:
        """The addresses of real and imaginary parts."""
        unit = f"[{2 * self.lanes} x {self.part.register}]"
        first = self.builder.offset(self.pointer, unit, index)
        return first, self.builder.address(first, self.part, self.lanes)

    def load(self, index: Index) -> Number:
        kind, align = vector(self.part.register, self.lanes), self.part.size
        first, second = [self.builder.load(kind, place, align) for place in self.places(index)]
        return first, second

    def store(self, index: Index, value: Number) -> None:
        kind, align = vector(self.part.register, self.lanes), self.part.size
        for place, x in zip(self.places(index), value, strict=True):
            self.builder.store(kind, x, place, align)

    def broadcast(self, pointer: str, index: Index) -> Number:
        """A pair from a table of pairs, in every lane."""
        parts: list[str] = []
        first = self.builder.offset(pointer, f"[2 x {self.part.register}]", index)
        for place in (first, self.builder.address(first, self.part, 1)):
            scalar = self.builder.load(self.part.register, place, self.part.size)
            parts.append(self.builder.splat(self.part.register, scalar, self.lanes))
        return parts[0], parts[1]

    def over(self, builder: KernelBuilder, pointer: str) -> Units:
        """The same kind of memory elsewhere."""
        return Units(builder, self.part, self.lanes, pointer)


@contextmanager
def counted(builder: KernelBuilder, count: Index) -> Generator[Index]:
    """A loop, if there may be more than one iteration, which carries nothing."""
    if count == 1:
        yield 0
    else:
        with builder.loop(0, count) as loop:
            yield loop.index


@contextmanager
def blocks(builder: KernelBuilder, extent: Index, width: int) -> Generator[Index]:
    """Starts of blocks that cover an extent which is not below the width; the last two may overlap."""
    if isinstance(extent, str):
        count, last = builder.binary("udiv", "i64", builder.add(extent, width - 1), width), builder.add(extent, -width)
    else:
        count, last = -(-extent // width), extent - width
    with counted(builder, count) as number:
        start = builder.multiply(number, width)
        yield start if isinstance(last, int) and (last == 0 or last % width == 0) else builder.intrinsic("smin", "i64", start, last)


def stage(units: Units, radix: int, m: Index, s: Index, load: Load, store: Store, factors: str | None) -> None:
    """One stage on s transforms of length radix m; ``factors`` are its twiddles as pairs, [m, radix - 1], if m is not 1."""
    builder, numbers = units.builder, units.numbers
    step = builder.multiply(m, s)
    with counted(builder, m) as p:
        here = builder.address(factors, units.part, builder.multiply(p, 2 * (radix - 1))) if factors else ""
        w = [units.broadcast(here, k) for k in range(radix - 1)] if factors else []
        row = builder.multiply(p, s)
        rows = builder.multiply(row, radix)
        with counted(builder, s) as q:
            read, x = builder.add(row, q), list[Number]()
            for _ in range(radix):
                x.append(load(read))
                read = builder.add(read, step)
            written = builder.add(rows, q)
            for k, y in enumerate(butterfly(numbers, x)):
                store(written, numbers.multiply(y, w[k - 1]) if w and k else y)
                written = builder.add(written, s)


def transform(units: Units, n: int, load: Load | None, store: Store, work: tuple[str, str, str]) -> None:
    """A transform of every lane, of a length whose primes have butterflies.

    ``work`` is memory of n units, twice, and of one unit for each number of the largest butterfly in a loop. Without ``load`` the first
    holds the operand.
    """
    builder, (source, target, spare) = units.builder, work
    length, s = n, 1
    sequence = radices(n)
    if load is None and sequence[0] == 1 and n > 1:
        sequence = sequence[1:]
    for number, radix in enumerate(sequence):
        first, last = number == 0 and load is not None, number == len(sequence) - 1
        m = length // radix
        register = units.part.register
        factors = table(builder, f"w{length}.{radix}", register, by_pairs(twiddles(length, radix))) if m > 1 and radix > 1 else None
        if first or last:
            read = load if first and load is not None else units.over(builder, source).load
            stage(units, radix, m, s, read, store if last else units.over(builder, target).store, factors)
        elif radix in IN_REGISTERS:
            assert factors is not None
            operands = [("ptr", source), ("ptr", target), ("ptr", factors), ("i64", m), ("i64", s)]
            builder.call_void(_shared_stage(units, radix), operands)
        else:
            pairs = np.outer(np.arange(1, (radix + 1) // 2), np.arange(1, (radix + 1) // 2))
            angles = table(builder, f"p{radix}", register, by_pairs(roots(pairs, radix)))
            pointers = [("ptr", x) for x in (source, target, factors or "null", angles, spare)]
            builder.call_void(_shared_prime(units), [*pointers, ("i64", radix), ("i64", m), ("i64", s)])
        source, target, length, s = target, source, m, s * radix


def _shared(units: Units, name: str, parameters: Sequence[str], body: Callable[[KernelBuilder], None]) -> str:
    """A function that all transforms of a program call."""

    def definition() -> str:
        builder = KernelBuilder(units.builder.target, strict=units.builder.strict)
        body(builder)
        return builder.definition(symbol, parameters, attributes=f"noinline {builder.target.attributes}")

    symbol = f"wg.fft.{units.part.register}.{units.lanes}.{name}"
    return units.builder.module.once(symbol, definition)


def _shared_stage(units: Units, radix: int) -> str:
    def body(builder: KernelBuilder) -> None:
        here = units.over(builder, "%x")
        stage(here, radix, "%m", "%s", here.load, here.over(builder, "%y").store, "%w")

    return _shared(units, f"radix{radix}", ("ptr %x", "ptr %y", "ptr %w", "i64 %m", "i64 %s"), body)


def _shared_prime(units: Units) -> str:
    """A stage whose radix is any odd prime, by pairs as in the butterflies; no twiddles if ``%w`` is null (and m is 1)."""

    def body(builder: KernelBuilder) -> None:
        x, y, temporary = (units.over(builder, pointer) for pointer in ("%x", "%y", "%t"))
        half = builder.binary("lshr", "i64", "%r", "1")
        beyond = builder.add(half, 1)
        step, stride = builder.multiply("%m", "%s"), builder.multiply("%r", "%s")
        turned = builder.icmp("ne", "ptr", "%w", "null")
        with builder.loop(0, "%m") as outer, builder.loop(0, "%s") as inner:
            p, q = outer.index, inner.index
            read, written = builder.linear([(p, "%s")], q), builder.linear([(p, stride)], q)
            _pairs(x, temporary, beyond, step, read, y, written)
            with builder.loop(1, beyond) as row:
                k = row.index
                even, odd = _sums(x, temporary, read, k, half)
                mirrored = builder.binary("sub", "i64", "%r", k)
                results = ((k, x.numbers.subtract_i(even, odd)), (mirrored, x.numbers.add_i(even, odd)))
                for at, value in results:
                    y.store(builder.linear([(at, "%s")], written), value)
                with builder.when(turned):
                    for at, value in results:
                        w = x.broadcast("%w", builder.add(builder.multiply(p, builder.add("%r", -1)), builder.add(at, -1)))
                        y.store(builder.linear([(at, "%s")], written), x.numbers.multiply(value, w))

    return _shared(units, "prime", ("ptr %x", "ptr %y", "ptr %w", "ptr %a", "ptr %t", "i64 %r", "i64 %m", "i64 %s"), body)


def _pairs(x: Units, temporary: Units, beyond: Index, step: Index, read: Index, y: Units, written: Index) -> None:
    """x_j + x_(r-j) and x_j - x_(r-j), by turns; the sum of all is the first result."""
    builder, numbers = x.builder, x.numbers
    kind, total = vector(x.part.register, x.lanes), x.load(read)
    with builder.loop(1, beyond, [(kind, total[0]), (kind, total[1])]) as loop:
        j = loop.index
        a = x.load(builder.linear([(j, step)], read))
        b = x.load(builder.linear([(builder.binary("sub", "i64", "%r", j), step)], read))
        sum_ = numbers.add(a, b)
        at = builder.multiply(builder.add(j, -1), 2)
        temporary.store(at, sum_)
        temporary.store(builder.add(at, 1), numbers.subtract(a, b))
        loop.carry(*numbers.add((loop.values[0], loop.values[1]), sum_))
    y.store(written, (loop.values[0], loop.values[1]))


def _sums(x: Units, temporary: Units, read: Index, k: Index, half: Index) -> tuple[Number, Number]:
    """x_0 plus the sums times cosines, and the differences times sines."""
    builder, numbers = x.builder, x.numbers
    kind, start = vector(x.part.register, x.lanes), x.load(read)
    zero = numbers.constant(0.0)
    with builder.loop(0, half, [(kind, value) for value in (*start, zero, zero)]) as loop:
        s, d = (temporary.load(builder.add(builder.multiply(loop.index, 2), part)) for part in range(2))
        cosine, sine = x.broadcast("%a", builder.linear([(builder.add(k, -1), half)], loop.index))
        totals = loop.values
        even = [numbers.plus_multiple(total, part, cosine) for total, part in zip(totals[:2], s, strict=True)]
        odd = [numbers.minus_multiple(total, part, sine) for total, part in zip(totals[2:], d, strict=True)]
        loop.carry(*even, *odd)
    return (loop.values[0], loop.values[1]), (loop.values[2], loop.values[3])


def spread(units: Units, n: int, load: Load, target: str) -> None:
    """The first stage of a single transform, of radix ``lanes``, which moves the index into the lanes.

    ``load`` gives so many neighbours from an index on. What is left is a transform of units, of length n / lanes.
    """
    _spread(units.over(units.builder, target), n // units.lanes, load, _spread_factors(units, n))


def shared_spread(units: Units, n: int, source: str, target: str, load: Callable[[KernelBuilder, str, Index], Number], *, exchanged: bool) -> None:
    """The same as a call of a function that all transforms of a program share.

    Args:
        units: what the transform computes on.
        n: the length of the transform.
        source: where the numbers lie.
        target: where the units go.
        load: gives neighbours from a place and an index on.
        exchanged: whether real and imaginary parts are exchanged on the way.
    """

    def body(builder: KernelBuilder) -> None:
        kind = vector(units.part.register, units.lanes)

        def exchange(index: Index) -> Number:
            real, imaginary = load(builder, "%x", index)
            first, second = [builder.select("%e", kind, x, y) for x, y in ((imaginary, real), (real, imaginary))]
            return first, second

        _spread(units.over(builder, "%y"), "%m", exchange, "%w")

    symbol = _shared(units, "spread", ("ptr %x", "ptr %y", "ptr %w", "i64 %m", "i1 %e"), body)
    m, flag = n // units.lanes, str(exchanged).lower()
    units.builder.call_void(symbol, [("ptr", source), ("ptr", target), ("ptr", _spread_factors(units, n)), ("i64", m), ("i1", flag)])


def _spread_factors(units: Units, n: int) -> str:
    return table(units.builder, f"v{n}.{units.lanes}", units.part.register, by_planes(twiddles(n, units.lanes).T))


def _spread(written: Units, m: Index, load: Load, factors: str) -> None:
    builder, numbers, lanes = written.builder, written.numbers, written.lanes
    kind = vector(written.part.register, lanes)
    with blocks(builder, m, lanes) as p:
        results = butterfly(numbers, [load(builder.linear([(m, j)], p)) for j in range(lanes)])
        for k in range(1, lanes):
            places = [builder.address(factors, written.part, builder.linear([(m, 2 * (k - 1) + part)], p)) for part in range(2)]
            first, second = [builder.load(kind, place, written.part.size) for place in places]
            results[k] = numbers.multiply(results[k], (first, second))
        rows = [builder.transposed(written.part.register, [y[part] for y in results]) for part in range(2)]
        for number, value in enumerate(zip(*rows, strict=True)):
            written.store(builder.add(p, number), value)
