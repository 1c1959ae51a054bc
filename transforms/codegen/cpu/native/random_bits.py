"""Emits random bits by Threefry-2x32 and Philox-4x32, block by block in lanes; see :mod:`wengert.runtime.interpreter.ops.random`.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import i1, shape, ui64
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import raw
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

_U64 = Element("u", "i64", "i64", 8)
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


class _Threefry(_Generator):
    """A block gives one 64-bit word, or two of 32 bits: neighbours along the first even dimension, else the largest."""

    def run(self) -> None:
        builder, kernel = self.builder, self.kernel
        key, self.counter = self.state(0), self.state(1)
        self.key = _Words(builder, 1).split(key)
        extents = kernel.extents
        self.pairs = not kernel.wide and bool(extents)
        axis = next((d for d, n in enumerate(extents) if n % 2 == 0), extents.index(max(extents))) if self.pairs else 0
        self.extent = extents[axis] if self.pairs else kernel.count
        outer, self.inner = (prod(extents[:axis]), prod(extents[axis + 1 :])) if self.pairs else (1, 1)
        self.half = (self.extent + 1) // 2 if self.pairs else self.extent
        total = outer * self.half * self.inner
        self.set_state([key, builder.binary("add", "i64", self.counter, total)])
        if total == 0:
            return
        with builder.loops([outer]) as (o,):
            if self.inner >= self.lanes:
                with builder.loop(0, self.half) as row:
                    self._run(self.inner, lambda lanes, i: self._blocks(lanes, o, row.index, i, along_inner=True))
            else:
                with builder.loop(0, self.inner) as column:
                    self._run(self.half, lambda lanes, h: self._blocks(lanes, o, h, column.index, along_inner=False))

    def _run(self, extent: int, body: Callable[[int, Index], None]) -> None:
        whole = extent // self.lanes * self.lanes
        with self.builder.loop(0, whole, step=self.lanes) as loop:
            body(self.lanes, loop.index)
        with self.builder.loop(whole, extent) as loop:
            body(1, loop.index)

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
        blocks = -(-kernel.count // self.per)
        end = builder.binary("add", "i64", self.low, blocks)
        carry = builder.cast("zext", builder.icmp("ult", "i64", end, self.low), "i1", "i64")
        self.set_state([self.key, end, builder.binary("add", "i64", self.high, carry)][:size])
        whole = kernel.count // self.per // self.lanes * self.lanes
        with builder.loop(0, whole, step=self.lanes) as loop:
            for number, word in enumerate(self._block(self.lanes, loop.index)):
                self.store(self.lanes, word, builder.add(builder.multiply(loop.index, self.per), number), self.per)
        with builder.loop(whole, blocks) as loop:
            for number, word in enumerate(self._block(1, loop.index)):
                at = builder.add(builder.multiply(loop.index, self.per), number)
                with builder.when(builder.icmp("slt", "i64", at, kernel.count)):
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
