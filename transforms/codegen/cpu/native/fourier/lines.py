"""Emits transforms along lines of memory, in lanes: across several lines at once, or along one.

:class:`Across` holds the same index of several lines in the lanes of a register, :class:`Along` neighbouring indices of one line.
What is written once for both: transforms of any length, those of real numbers through complex ones of half the length, and
Bluestein's for lengths with large prime factors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wengert.transforms.codegen.cpu.native.fourier.numbers import Number, Numbers
from wengert.transforms.codegen.cpu.native.fourier.stages import Load, Store, Units, blocks, counted, shared_spread, spread, transform
from wengert.transforms.codegen.cpu.native.fourier.tables import (
    by_pairs,
    by_planes,
    is_smooth,
    table,
)
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element, vector
from wengert.transforms.codegen.llvm.vector_builder import complex_value
from wengert.transforms.fuse.fourier.roots import chirp, chirp_spectrum, convolution_length, prime_factors, roots

BUFFERS = ("first", "second", "prime", "convolution", "real")
"""The pieces of scratch memory: two for stages, one for butterflies in loops, and what the methods below keep."""


def swapped(x: Number) -> Number:
    """Real and imaginary part exchanged. An inverse transform is a forward one between two exchanges."""
    return x[1], x[0]


class Line(Struct, frozen=True):
    """Complex numbers in memory: from an index to the next and from a lane to the next it is so many elements."""

    builder: KernelBuilder
    element: Element
    lanes: int
    pointer: str
    step: int
    lane_step: int

    def at(self, index: Index, lane: int = 0) -> str:
        return self.builder.address(self.pointer, self.element, self.builder.linear([(index, self.step)], lane * self.lane_step))

    def load(self, index: Index) -> Number:
        """The numbers of all lanes."""
        memory = self.builder.memory(self.lanes)
        if self.lanes == 1:
            return complex_value(memory.load(self.element, self.at(index)))
        if self.lane_step == 1:
            return complex_value(memory.load_contiguous(self.element, self.at(index), 1))
        return self._apart(self._gathered(index))

    def reversed(self, index: Index) -> Number:
        """The numbers from an index downward, of one line."""
        return complex_value(self.builder.memory(self.lanes).load_contiguous(self.element, self.at(self.builder.add(index, 1 - self.lanes)), -1))

    def store(self, index: Index, value: Number) -> None:
        memory = self.builder.memory(self.lanes)
        if self.lanes == 1:
            memory.store(self.element, value, self.at(index))
        elif self.lane_step == 1:
            memory.store_contiguous(self.element, value, self.at(index), 1)
        else:
            self._scatter(index, value)

    def load_real(self, index: Index) -> Number:
        """Numbers of lines of reals: here ``element`` is not complex."""
        zero = Numbers(self.builder, self.element.register, self.lanes).constant(0.0)
        memory = self.builder.memory(self.lanes)
        if self.lanes == 1:
            value = memory.load(self.element, self.at(index))
        elif self.lane_step == 1:
            value = memory.load_contiguous(self.element, self.at(index), 1)
        else:
            value = memory.load_lanes(self.element, lambda lane: self.at(index, lane))
        assert isinstance(value, str)
        return value, zero

    def store_real(self, index: Index, value: Number) -> None:
        memory = self.builder.memory(self.lanes)
        if self.lanes == 1:
            memory.store(self.element, value[0], self.at(index))
        elif self.lane_step == 1:
            memory.store_contiguous(self.element, value[0], self.at(index), 1)
        else:
            memory.store_lanes(self.element, value[0], lambda lane: self.at(index, lane))

    # -- lanes that lie apart: pairs are moved whole, and taken apart in registers

    def _gathered(self, index: Index) -> str:
        builder, register, align = self.builder, self.element.register, self.element.part_size
        parts = [builder.load(f"<2 x {register}>", self.at(index, lane), align) for lane in range(self.lanes)]
        width = 2
        while len(parts) > 1:
            parts = [builder.shuffle(register, width, a, b, range(2 * width)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            width *= 2
        return parts[0]

    def _apart(self, raw: str) -> Number:
        width = 2 * self.lanes
        first, second = [self.builder.shuffle(self.element.register, width, raw, "poison", range(part, width, 2)) for part in range(2)]
        return first, second

    def _scatter(self, index: Index, value: Number) -> None:
        for lane in range(self.lanes):
            number = self.builder.shuffle(self.element.register, self.lanes, *value, [lane, self.lanes + lane])
            self.builder.store(f"<2 x {self.element.register}>", number, self.at(index, lane), self.element.part_size)


class Read(Struct, frozen=True):
    """Reads complex numbers of a line; ``exchanged``: imaginary parts as real ones and the reverse."""

    line: Line
    exchanged: bool = False

    def __call__(self, index: Index) -> Number:
        number = self.line.load(index)
        return swapped(number) if self.exchanged else number


@dataclass(frozen=True)
class Lines(ABC):
    """Transforms in lanes. ``buffers`` are the pieces of scratch memory, by name."""

    builder: KernelBuilder
    element: Element
    lanes: int
    buffers: dict[str, str]

    @property
    def numbers(self) -> Numbers:
        """Arithmetic on the lanes."""
        return Numbers(self.builder, self.element.register, self.lanes)

    @property
    def part(self) -> Element:
        """The element type of real and imaginary parts."""
        return Element("f", self.element.memory, self.element.register, self.element.part_size)

    @abstractmethod
    def line(self, pointer: str, step: int, lane_step: int) -> Line:
        """Lines of complex numbers from a place on: a step along them, and one across."""

    @abstractmethod
    def kept(self, name: str) -> Line | Units:
        """A buffer of numbers by index."""

    @abstractmethod
    def each(self, count: int) -> AbstractContextManager[Index]:
        """A loop over indices; lanes may come upon the same index twice."""

    @abstractmethod
    def constants(self, name: str, values: NDArray[np.complex128], index: Index) -> Number:
        """The elements of a table at an index."""

    @abstractmethod
    def backward(self, line: Line | Units, index: Index) -> Number:
        """The numbers from an index downward, to meet those from another index upward."""

    @abstractmethod
    def one(self, line: Line | Units) -> Line | Units:
        """The same memory, for a single index."""

    @abstractmethod
    def _smooth(self, n: int, load: Load, store: Store, work: tuple[str, str, str]) -> None:
        """A transform whose length has butterflies."""

    @staticmethod
    def _reading(kept: Line | Units) -> Load:
        return Read(kept) if isinstance(kept, Line) else kept.load

    def transform(self, n: int, load: Load, store: Store) -> None:
        """A complex transform of any length."""
        work = (self.buffers["first"], self.buffers["second"], self.buffers["prime"])
        if is_smooth(n):
            self._smooth(n, load, store, work)
        else:
            self._bluestein(n, load, store, work)

    def _bluestein(self, n: int, load: Load, store: Store, work: tuple[str, str, str]) -> None:
        """Bluestein 1970: 2 j k = j^2 + k^2 - (k - j)^2 makes the transform a convolution with a chirp."""
        length, numbers = convolution_length(n), self.numbers
        wave, kept = chirp(n), self.kept("convolution")
        rest = self.element.size * (self.lanes if isinstance(kept, Units) else 1)
        start = self.builder.byte(kept.pointer, n * rest)
        self.builder.set_bytes(start, (length - n) * rest)
        with self.each(n) as k:
            kept.store(k, numbers.multiply(load(k), self.constants(f"chirp{n}", wave, k)))

        def meet(k: Index, value: Number) -> None:
            kept.store(k, swapped(numbers.multiply(value, self.constants(f"convolver{n}", chirp_spectrum(n), k))))

        self._smooth(length, self._reading(kept), meet, work)
        self._smooth(length, self._reading(kept), kept.store, work)
        with self.each(n) as k:
            store(k, numbers.multiply(swapped(kept.load(k)), self.constants(f"chirp{n}", wave, k)))

    # -- real numbers

    def from_real(self, n: int, x: Line, y: Line) -> None:
        """The lower half of the transform of real numbers; for even n, ``x`` holds pairs of them as complex numbers.

        With z_j = x_2j + i x_(2j+1), h = n / 2 and w = exp(-2 pi i / n): y_k = (z_k + conj z_(h-k)) / 2 - i w^k (z_k - conj z_(h-k)) / 2
        of the transformed z, whose index counts modulo h.
        """
        kept, half, numbers = self.kept("real"), n // 2, self.numbers
        if n % 2:
            self.transform(n, x.load_real, kept.store)
            with self.each(half + 1) as k:
                y.store(k, kept.load(k))
            return
        self.transform(half, Read(x), kept.store)
        single = self.one(kept)
        single.store(half, single.load(0))
        factors = -0.5j * roots(np.arange(half + 1), n)
        with self.each(half + 1) as k:
            z, mirrored = kept.load(k), numbers.conjugate(self.backward(kept, self.builder.binary("sub", "i64", half, k)))
            mean = numbers.scale(numbers.add(z, mirrored), numbers.constant(0.5))
            y.store(k, numbers.add(mean, numbers.multiply(numbers.subtract(z, mirrored), self.constants(f"untangle{n}", factors, k))))

    def to_real(self, n: int, x: Line, y: Line, scale: float) -> None:
        """The inverse of :meth:`from_real` but for a factor; imaginary parts that a real signal cannot have are ignored."""
        kept, half, numbers = self.kept("real"), n // 2, self.numbers
        factor = numbers.constant(scale)
        if n % 2:
            self._complete(n, x, kept)
            self.transform(n, self._reading(kept), lambda k, value: y.store_real(k, numbers.scale(swapped(value), factor)))
            return
        factors = 1j * roots(np.arange(half), n).conj()
        with self.each(half) as k:
            z, mirrored = x.load(k), numbers.conjugate(self.backward(x, self.builder.binary("sub", "i64", half, k)))
            odd = numbers.multiply(numbers.subtract(z, mirrored), self.constants(f"tangle{n}", factors, k))
            kept.store(k, swapped(numbers.add(numbers.add(z, mirrored), odd)))
        ends, first = self.one(x), self.one(kept)
        real = Numbers(self.builder, self.element.register, first.lanes)
        low, high = ends.load(0)[0], ends.load(half)[0]
        first.store(0, (real.real("fsub", low, high), real.real("fadd", low, high)))
        self.transform(half, self._reading(kept), lambda k, value: y.store(k, numbers.scale(swapped(value), factor)))

    def _complete(self, n: int, x: Line, kept: Line | Units) -> None:
        """The whole spectrum of an odd number of reals, parts exchanged."""
        source, target = self.one(x), self.one(kept)
        numbers = Numbers(self.builder, self.element.register, target.lanes)
        target.store(0, (numbers.constant(0.0), source.load(0)[0]))
        with self.builder.loop(1, n // 2 + 1) as loop:
            number = source.load(loop.index)
            target.store(loop.index, swapped(number))
            target.store(self.builder.binary("sub", "i64", n, loop.index), swapped(numbers.conjugate(number)))


@dataclass(frozen=True)
class Across(Lines):
    """Several lines at once."""

    @classmethod
    def units(cls, n: int) -> dict[str, int]:
        """The largest number of elements per lane in each buffer, for lines of this length."""
        length = n if is_smooth(n) else convolution_length(n)
        return dict(zip(BUFFERS, (length, length, max(prime_factors(n), default=1), 0 if length == n else length, n + 1), strict=True))

    def line(self, pointer: str, step: int, lane_step: int) -> Line:
        return Line(self.builder, self.element, self.lanes, pointer, step, lane_step)

    def kept(self, name: str) -> Units:
        return Units(self.builder, self.part, self.lanes, self.buffers[name])

    def each(self, count: int) -> AbstractContextManager[Index]:
        return counted(self.builder, count)

    def constants(self, name: str, values: NDArray[np.complex128], index: Index) -> Number:
        return self.kept("first").broadcast(table(self.builder, f"{name}.pairs", self.element.register, by_pairs(values)), index)

    def backward(self, line: Line | Units, index: Index) -> Number:
        return line.load(index)

    def one(self, line: Line | Units) -> Line | Units:
        return line

    def _smooth(self, n: int, load: Load, store: Store, work: tuple[str, str, str]) -> None:
        transform(self.kept("first"), n, load, store, work)


@dataclass(frozen=True)
class Along(Lines):
    """One line at a time, contiguous, whose length is a multiple of the lanes and not below their square."""

    def line(self, pointer: str, step: int, lane_step: int) -> Line:
        assert step == 1
        return Line(self.builder, self.element, self.lanes, pointer, 1, 1)

    def kept(self, name: str) -> Line:
        return self.line(self.buffers[name], 1, 1)

    def each(self, count: int) -> AbstractContextManager[Index]:
        return blocks(self.builder, count, self.lanes)

    def constants(self, name: str, values: NDArray[np.complex128], index: Index) -> Number:
        planes = table(self.builder, f"{name}.planes", self.element.register, by_planes(values))
        kind = vector(self.element.register, self.lanes)
        places = [self.builder.address(planes, self.part, self.builder.add(index, part * len(values))) for part in range(2)]
        first, second = [self.builder.load(kind, place, self.part.size) for place in places]
        return first, second

    def backward(self, line: Line | Units, index: Index) -> Number:
        assert isinstance(line, Line)
        return line.reversed(index)

    def one(self, line: Line | Units) -> Line | Units:
        return replace(line, lanes=1)

    def _smooth(self, n: int, load: Load, store: Store, work: tuple[str, str, str]) -> None:
        units = Units(self.builder, self.part, self.lanes, work[0])
        if isinstance(load, Read):
            line = load.line

            def read(builder: KernelBuilder, pointer: str, index: Index) -> Number:
                return replace(line, builder=builder, pointer=pointer).load(index)

            shared_spread(units, n, line.pointer, work[0], read, exchanged=load.exchanged)
        else:
            spread(units, n, load, work[0])
        transform(units, n // self.lanes, None, lambda index, value: store(self.builder.multiply(index, self.lanes), value), work)
