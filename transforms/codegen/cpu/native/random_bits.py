"""Emits random bits by Threefry-2x32 and Philox-4x32, block by block in lanes; see :mod:`wengert.runtime.interpreter.ops.random`.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from math import prod

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import i1, shape, ui64
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import raw
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.tasks import BEGIN
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

_U64 = Element("u", "i64", "i64", 8)
RANGE = 4096
"""The blocks, of those along one dimension, that a thread takes at a time: a multiple of the lanes."""
_WORD_NS = 0.6
"""About the nanoseconds of one word."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@native(stablehlo.RngBitGeneratorOp)
class RandomBits(NativeKernel):
    """The next state, and bits for every element."""

    def __init__(self, op: stablehlo.RngBitGeneratorOp, target: Target):
        super().__init__(op, target)
        self.word = raw(value_element(op.output))
        self.extents = shape(op.output)
        self.count = prod(self.extents)
        self.wide = self.word.size > 4
        self.threefry = op.rng_algorithm.data == "THREE_FRY"

    @classmethod
    def supports(cls, op: stablehlo.RngBitGeneratorOp) -> bool:
        states = shape(op.initial_state)
        element = element_type(op.output)
        return element_type(op.initial_state) == ui64 and states in ((2,), (3,)) and element != i1 and value_element(op.output).kind != "c"

    @cached_property
    def form(self) -> tuple[int, int, int]:
        """The blocks in their order: those of dimensions before the one along which a block's words are neighbours, along it, and after it."""
        if not self.threefry:
            per_block = 2 if self.wide else 4
            return 1, -(-self.count // per_block), 1
        if self.wide or not self.extents:
            return 1, self.count, 1
        return prod(self.extents[: self.axis]), (self.extents[self.axis] + 1) // 2, prod(self.extents[self.axis + 1 :])

    @property
    def axis(self) -> int:
        """The dimension along which the two words of a block are neighbours: the first even one, else the largest."""
        return next((d for d, n in enumerate(self.extents) if n % 2 == 0), self.extents.index(max(self.extents)))

    @property
    def ranges(self) -> int:
        """Ranges of blocks along that dimension."""
        return -(-self.form[1] // RANGE)

    def parallel_work(self) -> tuple[int, float]:
        return self.form[0] * self.ranges, _WORD_NS * self.count * (2 if self.wide else 1)

    def emit(self, builder: KernelBuilder) -> None:
        (_Threefry if self.threefry else _Philox)(self, builder).run()


class _Words:
    """32-bit arithmetic on ``lanes`` lanes."""

    def __init__(self, builder: KernelBuilder, lanes: int):
        self.builder = builder
        self.lanes = lanes
        self.scalars = builder.scalars(lanes)

    def constant(self, value: int) -> str:
        return self.scalars.constant("i32", value if value < 1 << 31 else value - (1 << 32))

    def add(self, x: str, y: str) -> str:
        return self.scalars.binary("add", "i32", x, y)

    def xor(self, x: str, y: str) -> str:
        return self.scalars.binary("xor", "i32", x, y)

    def rotate(self, x: str, by: int) -> str:
        return self.scalars.intrinsic("fshl", "i32", x, x, self.constant(by))

    def split(self, x: str) -> tuple[str, str]:
        """The low and the high half of 64 bits."""
        high = self.scalars.binary("lshr", "i64", x, self.scalars.constant("i64", 32))
        return self.scalars.cast("trunc", x, "i64", "i32"), self.scalars.cast("trunc", high, "i64", "i32")

    def joined(self, low: str, high: str) -> str:
        wide = [self.scalars.cast("zext", x, "i32", "i64") for x in (low, high)]
        return self.scalars.binary("or", "i64", wide[0], self.scalars.binary("shl", "i64", wide[1], self.scalars.constant("i64", 32)))

    def times(self, x: str, factor: int) -> tuple[str, str]:
        """The low and the high half of a product."""
        wide = self.scalars.cast("zext", x, "i32", "i64")
        return self.split(self.scalars.binary("mul", "i64", wide, self.scalars.constant("i64", factor)))

    def numbers(self, first: Index, step: int = 1) -> str:
        """first, first + step, ... by lane, as i64."""
        if self.lanes == 1:
            return str(first)
        steps = ", ".join(f"i64 {step * lane}" for lane in range(self.lanes))
        return self.scalars.binary("add", "i64", self.builder.splat("i64", str(first), self.lanes), f"<{steps}>")

    def splat(self, register: str, x: str) -> str:
        return self.builder.splat(register, x, self.lanes)


class _Generator:
    """The common part of both generators: state words, and the stores of a block's words."""

    def __init__(self, kernel: RandomBits, builder: KernelBuilder):
        self.kernel = kernel
        self.builder = builder
        self.lanes = max(builder.target.vector_bytes // 8, 1)

    def state(self, number: int) -> str:
        word = self.builder.memory().load(_U64, self.builder.address("%p0", _U64, number))
        assert isinstance(word, str)
        return word

    def set_state(self, words: Sequence[str]) -> None:
        """The next state, which the first chunk writes."""
        with nullcontext() if self.kernel.cut is None else self.builder.when(self.builder.icmp("eq", "i64", BEGIN, 0)):
            self._set_state(words)

    @contextmanager
    def ranges(self) -> Generator[tuple[Index, Index, Index]]:
        """A parallel loop over all ranges of blocks: the index before them, the first block of a range and the one after its last."""
        builder, (outer, blocks, _), count = self.builder, self.kernel.form, self.kernel.ranges
        with builder.parallel_loops([outer, count]) as (o, number):
            first = builder.multiply(number, RANGE)
            yield o, first, blocks if count == 1 else builder.intrinsic("umin", "i64", builder.add(first, RANGE), blocks)

    def run_range(self, extent: int, first: Index, end: Index, body: Callable[[int, Index], None]) -> None:
        """Lanes at a time as far as they are full in all of the extent, then one block after the other."""
        builder, whole = self.builder, extent // self.lanes * self.lanes
        with builder.loop(first, _least(builder, end, whole), step=self.lanes) as loop:
            body(self.lanes, loop.index)
        with builder.loop(_most(builder, first, whole), end) as loop:
            body(1, loop.index)

    def _set_state(self, words: Sequence[str]) -> None:
        for number, word in enumerate(words):
            self.builder.memory().store(_U64, word, self.builder.address("%q0", _U64, number))

    def store(self, lanes: int, word: str, at: Index, step: int) -> None:
        """Words of 32 or 64 bits as elements, ``step`` elements apart."""
        kernel, builder = self.kernel, self.builder
        register = "i64" if kernel.wide else "i32"
        value = builder.scalars(lanes).resize(word, register, kernel.word.register, signed=False)
        address = builder.address("%q1", kernel.word, at)
        if lanes == 1:
            builder.memory().store(kernel.word, value, address)
        elif step == 1:
            builder.memory(lanes).store_contiguous(kernel.word, value, address, 1)
        else:
            builder.memory(lanes).store_lanes(kernel.word, value, lambda lane: builder.address(address, kernel.word, lane * step))


def _least(builder: KernelBuilder, x: Index, y: int) -> Index:
    return min(x, y) if isinstance(x, int) else builder.intrinsic("umin", "i64", x, y)


def _most(builder: KernelBuilder, x: Index, y: int) -> Index:
    return max(x, y) if isinstance(x, int) else builder.intrinsic("umax", "i64", x, y)


class _Threefry(_Generator):
    """A block gives one 64-bit word, or two of 32 bits: neighbours along the first even dimension, else the largest."""

    def run(self) -> None:
        builder, kernel = self.builder, self.kernel
        key, self.counter = self.state(0), self.state(1)
        self.key = _Words(builder, 1).split(key)
        self.pairs = not kernel.wide and bool(kernel.extents)
        outer, self.half, self.inner = kernel.form
        self.extent = kernel.extents[kernel.axis] if self.pairs else kernel.count
        total = outer * self.half * self.inner
        self.set_state([key, builder.binary("add", "i64", self.counter, total)])
        if total == 0:
            return
        with self.ranges() as (o, first, end):
            if self.inner >= self.lanes:
                with builder.loop(first, end) as row:
                    self.run_range(self.inner, 0, self.inner, lambda lanes, i: self._blocks(lanes, o, row.index, i, along_inner=True))
            else:
                with builder.loop(0, self.inner) as column:
                    self.run_range(self.half, first, end, lambda lanes, h: self._blocks(lanes, o, h, column.index, along_inner=False))

    def _blocks(self, lanes: int, o: Index, h: Index, i: Index, *, along_inner: bool) -> None:
        builder = self.builder
        words = _Words(builder, lanes)
        number = builder.linear([(builder.linear([(o, self.half)], h), self.inner)], i)
        first = builder.binary("add", "i64", self.counter, number)
        x, y = self._rounds(words, words.split(words.numbers(first, 1 if along_inner else self.inner)))
        if not self.pairs:
            self.store(lanes, words.joined(x, y) if self.kernel.wide else x, number, 1)
            return
        at = builder.linear([(builder.linear([(o, self.extent)], builder.multiply(h, 2)), self.inner)], i)
        step = 1 if along_inner else 2 * self.inner
        self.store(lanes, x, at, step)
        if self.extent % 2 == 0:
            self.store(lanes, y, builder.add(at, self.inner), step)
            return
        for lane in range(lanes):  # the last pair is not whole
            last = h if along_inner else builder.add(h, lane)
            with builder.when(builder.icmp("slt", "i64", last, self.half - 1)):
                one = y if lanes == 1 else builder.extract("i32", lanes, y, lane)
                self.store(1, one, builder.add(at, self.inner + lane * step), 1)

    def _rounds(self, words: _Words, block: tuple[str, str]) -> tuple[str, str]:
        k0, k1 = (words.splat("i32", k) for k in self.key)
        keys = (k0, k1, words.xor(words.xor(k0, k1), words.constant(0x1BD11BDA)))
        x, y = words.add(block[0], k0), words.add(block[1], k1)
        for group in range(5):
            for by in _ROTATIONS[group % 2]:
                x = words.add(x, y)
                y = words.xor(words.rotate(y, by), x)
            x = words.add(x, keys[(group + 1) % 3])
            y = words.add(words.add(y, keys[(group + 2) % 3]), words.constant(group + 1))
        return x, y


class _Philox(_Generator):
    """A block gives four words of 32 bits, or two of 64, which follow one another."""

    def run(self) -> None:
        builder, kernel = self.builder, self.kernel
        size = shape(kernel.op.initial_state)[0]
        self.key, self.low, self.high = self.state(0), self.state(1), self.state(2 if size == 3 else 0)
        self.per = 2 if kernel.wide else 4
        blocks = kernel.form[1]
        end = builder.binary("add", "i64", self.low, blocks)
        carry = builder.cast("zext", builder.icmp("ult", "i64", end, self.low), "i1", "i64")
        self.set_state([self.key, end, builder.binary("add", "i64", self.high, carry)][:size])
        with self.ranges() as (_, first, last):
            self.run_range(kernel.count // self.per, first, last, self._store_block)

    def _store_block(self, lanes: int, number: Index) -> None:
        builder = self.builder
        for place, word in enumerate(self._block(lanes, number)):
            at = builder.add(builder.multiply(number, self.per), place)
            if lanes > 1:
                self.store(lanes, word, at, self.per)
                continue
            with builder.when(builder.icmp("slt", "i64", at, self.kernel.count)):
                self.store(1, word, at, 1)

    def _block(self, lanes: int, number: Index) -> list[str]:
        words = _Words(self.builder, lanes)
        lows = words.scalars.binary("add", "i64", words.splat("i64", self.low), words.numbers(number))
        carry = words.scalars.cast("zext", words.scalars.compare("ult", "i64", lows, words.splat("i64", self.low)), "i1", "i64")
        highs = words.scalars.binary("add", "i64", words.splat("i64", self.high), carry)
        (a, b), (c, d) = words.split(lows), words.split(highs)
        k0, k1 = (words.splat("i32", k) for k in _Words(self.builder, 1).split(self.key))
        for _ in range(10):
            first, second = words.times(a, 0xD2511F53), words.times(c, 0xCD9E8D57)
            a, b, c, d = words.xor(words.xor(second[1], b), k0), second[0], words.xor(words.xor(first[1], d), k1), first[0]
            k0, k1 = words.add(k0, words.constant(0x9E3779B9)), words.add(k1, words.constant(0xBB67AE85))
        return [words.joined(a, b), words.joined(c, d)] if self.kernel.wide else [a, b, c, d]
