"""Emits Fourier transforms: one pass over each of the trailing dimensions.

Lengths up to 65536, in ``complex<f32>`` and ``complex<f64>`` and the real types beside them; errors are those of SciPy's transforms,
a few units in the last place of the result's norm. The radices are 2, 3, 4, 5, 7, 8 and any prime up to 61; other lengths are
convolutions with a chirp (J. W. Cooley and J. W. Tukey, Math. Comp. 19, 1965; L. I. Bluestein, IEEE Trans. Audio Electroacoust. 18, 1970;
C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import log2, prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.stablehlo.attributes import FftType
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import c64, c128, f32, f64, shape
from wengert.ir.tensor_types import element as element_type
from wengert.transforms.codegen.cpu.native.base import COMMON, NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import zero
from wengert.transforms.codegen.cpu.native.fourier.lines import Across, Along, Line, Read, swapped
from wengert.transforms.codegen.cpu.native.fourier.stages import blocks
from wengert.transforms.codegen.cpu.native.fourier.tables import LARGEST, is_smooth
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.fuse.fourier.roots import convolution_length
from wengert.transforms.schedule.target import Target

WIDE = 1024
"""From this length on a single line goes in whole vectors of f32: their first stage, of radix 8 or 16, takes long to compile."""


ELEMENT_NS = 0.2
"""The nanoseconds of an element for each doubling of the length, about."""
SHARED = ("even", "odd")
"""The scratch memory that one pass writes and the next one reads."""


class Pass(Struct, frozen=True):
    """Transforms along one dimension of [outer, n, inner]; of an RFFT or an IRFFT ``n`` is the length on the real side."""

    kind: FftType
    outer: int
    n: int
    inner: int
    source: str = "%p0"
    target: str = "%q0"
    scale: float = 1.0

    @property
    def half(self) -> int:
        """The length of the complex side of a real transform."""
        return self.n // 2 + 1

    @property
    def is_real(self) -> bool:
        """Whether one side is real."""
        return self.kind in (FftType.RFFT, FftType.IRFFT)

    @property
    def length(self) -> int:
        """The length of the complex transforms."""
        return self.n // 2 if self.is_real and self.n % 2 == 0 else self.n

    @property
    def buffer_lengths(self) -> dict[str, int]:
        """The number of elements per lane in each buffer."""
        lengths = Across.units(self.length)
        return lengths | {"real": self.n + 1 if self.is_real else 0}

    def lanes(self, most: int) -> tuple[bool, int]:
        """Whether lanes are along the line, and their number."""
        if self.inner > 1:
            return False, _power(min(most, self.inner))
        length = self.length if is_smooth(self.length) else convolution_length(self.length)
        along = most if length >= WIDE else min(most, 4)
        while along > 1 and (length % along or length < along * along):
            along //= 2
        across = _power(min(most, self.outer))
        whole_vectors = along == most and length >= 4 * most * most
        return (True, along) if along > across or (along == across > 1 and whole_vectors) else (False, across)


def _power(n: int) -> int:
    return 1 << (n.bit_length() - 1)


@native(stablehlo.FftOp)
class Fourier(NativeKernel):
    """All four kinds, over the last one to three dimensions: passes from the operand over scratch memory, or in place, to the result."""

    def __init__(self, op: stablehlo.FftOp, target: Target):
        super().__init__(op, target)
        self.kind: FftType = op.fft_type.data
        self.element = value_element(op.operand) if value_element(op.operand).kind == "c" else value_element(op.result)
        self.part = Element("f", self.element.memory, self.element.register, self.element.part_size)
        self.lengths = ints(op.fft_length)
        self.most_lanes = max(target.vector_bytes // self.part.size, 1)
        self.is_empty = 0 in (*shape(op.result), *shape(op.operand))
        self.passes = [] if self.is_empty else self._passes()

    @classmethod
    def supports(cls, op: Any) -> bool:
        lengths, real = ints(op.fft_length), op.result if op.fft_type.data is FftType.IRFFT else op.operand
        types = (element_type(op.operand), element_type(op.result))
        return (
            1 <= len(lengths) <= 3
            and all(type in (c64, c128, f32, f64) for type in types)
            and shape(real)[-len(lengths) :] == tuple(lengths)
            and all(length <= LARGEST for length in lengths)
        )

    def _passes(self) -> list[Pass]:
        """The passes in order: RFFT begins with the last dimension and IRFFT ends with it; between, all is complex."""
        inverse = self.kind in (FftType.IFFT, FftType.IRFFT)
        complex_shape = shape(self.op.operand) if self.kind is FftType.IRFFT else shape(self.op.result)
        rank, count = len(complex_shape), len(self.lengths)
        order = [rank - 1, *[d for d in range(rank - count, rank - 1) if complex_shape[d] > 1]]
        if self.kind is FftType.IRFFT:
            order.reverse()
        passes: list[Pass] = []
        for number, d in enumerate(order):
            kind = self.kind if d == rank - 1 else FftType.IFFT if inverse else FftType.FFT
            outer, inner = prod(complex_shape[:d]), prod(complex_shape[d + 1 :])
            scale = 1 / prod(self.lengths) if inverse and number == len(order) - 1 else 1.0
            passes.append(Pass(kind, outer, self.lengths[d - rank], inner, scale=scale))
        return self._placed(passes)

    def _placed(self, steps: list[Pass]) -> list[Pass]:
        """The buffers that passes read and write. A pass that reads no element twice may write where it reads."""
        again = steps[1:-1] if self.kind is FftType.IRFFT else steps[1:]  # passes that would write to where they read
        in_place = all(self._reads_once(step) for step in again)
        between = (("even",) if self.kind is FftType.IRFFT else ("%q0",)) if in_place else ("even", "odd")
        placed: list[Pass] = []
        for number, step in enumerate(steps):
            source = placed[-1].target if placed else "%p0"
            target = "%q0" if number == len(steps) - 1 else between[number % len(between)]
            placed.append(replace(step, source=source, target=target))
        return placed

    def _reads_once(self, step: Pass) -> bool:
        """Whether blocks of lines do not overlap: the last one begins earlier where the lines are no multiple of the lanes."""
        along, lanes = step.lanes(self.most_lanes)
        return along or (step.inner if step.inner > 1 else step.outer) % lanes == 0

    @property
    def spaces(self) -> dict[str, int]:
        """The bytes of each piece of scratch memory."""
        sizes: dict[str, int] = {}
        whole = prod(shape(self.op.operand if self.kind is FftType.IRFFT else self.op.result)) * self.element.size
        for step in self.passes:
            if step.target in ("even", "odd"):
                sizes[step.target] = aligned(whole)
            along, lanes = step.lanes(self.most_lanes)
            for name, count in step.buffer_lengths.items():
                size = aligned(count * self.element.size * (1 if along and name != "prime" else lanes) + (64 if count else 0))
                sizes[name] = max(sizes.get(name, 0), size if count else 0)
        return sizes

    def scratch_bytes(self) -> int:
        return sum(self.spaces.values())

    # -- threads share the lines of the first pass, then those of the next one

    def parallel_work(self) -> tuple[int, float]:
        return self._work(self.passes[0]) if self.passes else (1, 0.0)

    def finishing(self) -> Sequence[tuple[int, float]]:
        return [self._work(step) for step in self.passes[1:]]

    def _work(self, step: Pass) -> tuple[int, float]:
        """The blocks of lines of a pass, and the nanoseconds of all of them."""
        return prod(self._blocks(step)), ELEMENT_NS * step.outer * step.inner * step.n * log2(step.n + 1)

    def _blocks(self, step: Pass) -> tuple[int, int]:
        """The blocks of lines, as outer and inner ones."""
        along, lanes = step.lanes(self.most_lanes)
        return (step.outer, -(-step.inner // lanes)) if step.inner > 1 else (1, -(-step.outer // (1 if along else lanes)))

    def common_bytes(self) -> int:
        return sum(size for name, size in self.spaces.items() if name in SHARED) if self.cut is not None else 0

    def _places(self, builder: KernelBuilder, common: str) -> dict[str, str]:
        """The addresses of operand, result and scratch memory; what all threads read and write is in the common part of it, if there is one."""
        places, offsets = {"%p0": "%p0", "%q0": "%q0"}, {True: 0, False: 0}
        for name, size in self.spaces.items():
            shared = self.cut is not None and name in SHARED
            places[name] = builder.byte(common if shared else SCRATCH, offsets[shared])
            offsets[shared] += size
        return places

    def emit_finish(self, builder: KernelBuilder, stage: int, common: str) -> None:
        self._pass(builder, self.passes[1 + stage], self._places(builder, common))

    def emit(self, builder: KernelBuilder) -> None:
        if self.is_empty:
            zero(builder, "%q0", prod(shape(self.op.result)) * value_element(self.op.result).size)
            return
        for step in self.passes[:1]:
            self._pass(builder, step, self._places(builder, COMMON))

    @contextmanager
    def _lines(self, builder: KernelBuilder, step: Pass) -> Generator[tuple[Index, Index]]:
        """Blocks of lines: the outer index and the first of them; the last block begins where it ends with the others."""
        along, lanes = step.lanes(self.most_lanes)
        extent, width = (step.inner, lanes) if step.inner > 1 else (step.outer, 1 if along else lanes)
        if self.cut is None:
            with builder.loops([step.outer if step.inner > 1 else 1]) as (outer,), blocks(builder, extent, width) as first:
                yield outer, first
            return
        with builder.parallel_loops(self._blocks(step)) as (outer, number):
            first, last = builder.multiply(number, width), extent - width
            yield outer, first if last % width == 0 else builder.intrinsic("umin", "i64", first, last)

    def _pass(self, builder: KernelBuilder, step: Pass, places: dict[str, str]) -> None:
        along, lanes = step.lanes(self.most_lanes)
        lines = (Along if along else Across)(builder, self.element, lanes, places)
        source, target = places[step.source], places[step.target]
        if step.inner > 1:
            with self._lines(builder, step) as (outer, inner):
                at = builder.linear([(outer, step.n * step.inner)], inner)
                self._complex(step, lines, *[lines.line(builder.address(place, self.element, at), step.inner, 1) for place in (source, target)])
            return
        with self._lines(builder, step) as (_, row):
            self._row(builder, step, lines, source, target, row)

    def _row(self, builder: KernelBuilder, step: Pass, lines: Across | Along, source: str, target: str, row: Index) -> None:
        def line(place: str, length: int) -> Line:
            return lines.line(builder.address(place, self.element, builder.multiply(row, length)), 1, length)

        def reals(place: str) -> Line:
            """Real numbers of a line; an even number of them is read and written in pairs."""
            if step.n % 2 == 0:
                return line(place, step.n // 2)
            apart = 1 if isinstance(lines, Along) else step.n
            return Line(builder, self.part, lines.lanes, builder.address(place, self.part, builder.multiply(row, step.n)), 1, apart)

        if step.kind is FftType.RFFT:
            lines.from_real(step.n, reals(source), line(target, step.half))
        elif step.kind is FftType.IRFFT:
            lines.to_real(step.n, line(source, step.half), reals(target), step.scale)
        else:
            self._complex(step, lines, line(source, step.n), line(target, step.n))

    def _complex(self, step: Pass, lines: Across | Along, x: Line, y: Line) -> None:
        if step.kind is FftType.FFT:
            lines.transform(step.n, Read(x), y.store)
            return
        numbers = lines.numbers
        factor = None if step.scale == 1 else numbers.constant(step.scale)

        def store(index: Index, value: tuple[str, str]) -> None:
            y.store(index, swapped(value) if factor is None else numbers.scale(swapped(value), factor))

        lines.transform(step.n, Read(x, exchanged=True), store)
