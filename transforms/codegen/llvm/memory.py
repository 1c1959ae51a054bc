"""Emits loads and stores between the bytes of a buffer and values in registers, one lane or many, contiguous or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element, first_lanes, intrinsic_suffix, vector

Address = Callable[[int], str]
"""The address of a lane, in order from lane 0 on."""
_MOST_BLENDED = 8
"""More lanes are several registers, or bytes."""


class Memory:
    """Appends the instructions that move values; ``active`` lanes of ``scalars.lanes`` are read or written."""

    def __init__(self, scalars: Scalars, active: int):
        self.scalars = scalars
        self.builder = scalars.builder
        self.lanes = scalars.lanes
        self.active = active

    # -- loads

    def load(self, element: Element, address: str) -> Value:
        """One element, as a scalar."""
        one = Scalars(self.builder, 1, False)
        if element.kind == "c":
            second = self.builder.offset(address, element.memory, 1)
            return self._raw(element, address, 1), self._raw(element, second, 1)
        return _to_register(one, element, self._raw(element, address, 1))

    def load_contiguous(self, element: Element, address: str, step: int, mask: str | None = None) -> Value:
        """Neighbouring elements from ``address`` on (``step`` 1), or down to it (``step`` -1: it is the last lane's)."""
        if element.kind == "c":
            return self._load_pairs(element, address, step) if self.lanes > 1 else self.load(element, address)
        if mask or self.active < self.lanes:
            raw = self._masked(element, address, mask or self.active_mask(), self.lanes)
        else:
            raw = self._raw(element, address, self.lanes)
        if step < 0:
            raw = self._shuffle(element.memory, raw, self.lanes, self._order(step))
        return _to_register(self.scalars, element, raw)

    def _raw(self, element: Element, address: str, lanes: int) -> str:
        return self.builder.load(vector(element.memory, lanes), address, element.part_size)

    def _masked(self, element: Element, address: str, mask: str, lanes: int) -> str:
        kind, suffix = vector(element.memory, lanes), intrinsic_suffix(element.memory, lanes)
        space = self.builder.address_spaces.get(address, 0)
        operands = f"{self.builder.pointer(address)}, i32 {element.part_size}, {vector('i1', lanes)} {mask}, {kind} zeroinitializer"
        return self.builder.op(f"call {kind} @llvm.masked.load.{suffix}.p{space}({operands})")

    def active_mask(self) -> str:
        """The constant mask of the active lanes."""
        return first_lanes(self.active, self.lanes)

    def _order(self, step: int) -> list[int]:
        """Which lane of memory a lane of the register is."""
        return list(range(self.lanes)) if step > 0 else [self.active - 1 - i if i < self.active else i for i in range(self.lanes)]

    def _load_pairs(self, element: Element, address: str, step: int) -> Value:
        """Complex numbers: real and imaginary parts lie by turns."""
        width = 2 * self.lanes
        if self.active < self.lanes:
            raw = self._masked(element, address, first_lanes(2 * self.active, width), width)
        else:
            raw = self._raw(element, address, width)
        order = self._order(step)
        return self._shuffle(element.memory, raw, width, [2 * i for i in order]), self._shuffle(element.memory, raw, width, [2 * i + 1 for i in order])

    def load_strided(self, element: Element, address: str, step: int, chosen: Sequence[int] | None = None) -> Value | None:
        """Every ``step``-th element, picked out of registers that begin with the first element or behind it and end with the last or before
        it. None where that does not pay. ``address`` is that of the element which comes first in memory. Of some lanes only, if these are given; the
        others hold one of the elements."""
        lanes, apart = self.lanes, abs(step)
        read = range(self.active) if chosen is None else chosen
        if element.kind == "c" or len(read) < 2 or lanes < 4 or lanes % 2 or apart < 2:
            return None
        places = [apart * (lane - read[0] if step > 0 else read[-1] - lane) if lane in read else 0 for lane in range(lanes)]
        raw = self._from_few(element, address, places) or self._from_many(element, address, apart, places) or self._from_rows(element, address, places)
        return None if raw is None else _to_register(self.scalars, element, raw)

    def _from_few(self, element: Element, address: str, places: list[int]) -> str | None:
        """The elements at these places of memory, if they lie in the register that begins with the first of them and the one that ends with the last."""
        lanes, span = self.lanes, max(places) + 1
        if span < lanes:
            if not is_maskable(element):
                return None
            return self._shuffle(element.memory, self._masked(element, address, first_lanes(span, lanes), lanes), lanes, places)
        if any(lanes <= place < span - lanes for place in places):
            return None
        first = self._raw(element, address, lanes)
        if span == lanes:
            return self._shuffle(element.memory, first, lanes, places)
        last = self._raw(element, self._behind(element, address, span - lanes), lanes)
        return self.scalars.shuffle(element.memory, first, last, [place if place < lanes else lanes + place - (span - lanes) for place in places])

    def _from_rows(self, element: Element, address: str, places: list[int]) -> str | None:
        """The elements at these places of memory from the registers that follow each other there, joined two and two; for registers of many lanes,
        of which processors take any lanes of two in one step."""
        lanes, span = self.lanes, max(places) + 1
        if not is_maskable(element) or 2 * span > lanes * lanes:
            return None
        begins = range(0, span, lanes)
        starts = [min(begin, span - lanes) for begin in begins]
        rows = [(self._raw(element, self._behind(element, address, start), lanes), begin, begin + lanes) for start, begin in zip(starts, begins, strict=True)]
        where = [place - starts[place // lanes] for place in places]
        while len(rows) > 1:
            joined: list[tuple[str, int, int]] = []
            for (x, begin, middle), (y, _, end) in zip(rows[::2], rows[1::2], strict=False):
                order = [where[lane] if begin <= place < middle else lanes + where[lane] if middle <= place < end else -1 for lane, place in enumerate(places)]
                joined.append((self.scalars.shuffle(element.memory, x, y, order), begin, end))
                where = [lane if begin <= place < end else where[lane] for lane, place in enumerate(places)]
            rows = joined + rows[len(rows) - len(rows) % 2 :]
        return rows[0][0]

    def _from_many(self, element: Element, address: str, apart: int, places: list[int]) -> str | None:
        """One register with all elements, each from the register that has it at a place which no other one takes; a blend costs what a load does.

        Registers that begin ``lanes - 1`` elements after each other have element ``apart * lane`` at ``apart * lane mod (lanes - 1)``, so ``apart`` of
        them do if the two numbers have no common divisor. Where each lane has a register of its own, the element is at the lane's place in the one that
        begins ``(apart - 1) * lane`` elements on.
        """
        lanes = self.lanes
        if not is_maskable(element) or lanes > _MOST_BLENDED or len(set(places)) < lanes:
            return None
        if gcd(apart, lanes - 1) == 1 and apart + 1 < lanes:
            starts = [number * (lanes - 1) for number in range(apart)]
            homes = [min(divmod(apart * lane, lanes - 1), (apart - 1, lanes - 1)) for lane in range(lanes)]
        else:
            starts = [lane * (apart - 1) for lane in range(lanes)]
            homes = [(lane, lane) for lane in range(lanes)]
        blended = ""
        for number, start in enumerate(starts):
            raw = self._raw(element, self._behind(element, address, start), lanes)
            order = [place + lanes * ((number, place) in homes) for place in range(lanes)]
            blended = self.scalars.shuffle(element.memory, blended, raw, order) if number else raw
        picked = [place for _, place in homes]
        return self._shuffle(element.memory, blended, lanes, picked if places[0] == 0 else picked[::-1])

    def _behind(self, element: Element, address: str, elements: int) -> str:
        return self.builder.offset(address, element.memory, elements)

    def load_lanes(self, element: Element, address: Address, chosen: Sequence[int] | None = None) -> Value:
        """Elements at any addresses, lane by lane; of some lanes only, if these are given.

        Other lanes hold anything. Zeros of floats would be worse: LLVM 22 takes a quotient of lanes that it knows to be zeros for zero, and leaves
        out the selection of a zero in the place of what is NaN. Integers may be divided by, which is undefined for what is poison.
        """
        parts = ["poison" if element.kind in "fc" else "zeroinitializer"] * 2
        for lane in range(self.active) if chosen is None else chosen:
            value = self.load(element, address(lane))
            for number, scalar in enumerate(value if isinstance(value, tuple) else (value,)):
                parts[number] = self.insert(element.register, parts[number], scalar, lane)
        return (parts[0], parts[1]) if element.kind == "c" else parts[0]

    # -- stores

    def store(self, element: Element, value: Value, address: str) -> None:
        """One element."""
        if isinstance(value, tuple):
            second = self.builder.offset(address, element.memory, 1)
            self.builder.store(element.memory, value[0], address, element.part_size)
            self.builder.store(element.memory, value[1], second, element.part_size)
            return
        raw = _to_memory(Scalars(self.builder, 1, False), element, value)
        self.builder.store(element.memory, raw, address, element.size)

    def store_contiguous(self, element: Element, value: Value, address: str, step: int) -> None:
        """Neighbouring elements from ``address`` on (``step`` 1), or down to it (``step`` -1)."""
        if isinstance(value, tuple) and self.lanes == 1:
            self.store(element, value, address)
            return
        if isinstance(value, tuple):
            raw = self.scalars.shuffle(element.memory, *value, [i + part for i in self._order(step) for part in (0, self.lanes)])
            self._store_prefix(element, raw, address, 2 * self.lanes, 2 * self.active)
            return
        raw = _to_memory(self.scalars, element, value)
        if step < 0:
            raw = self._shuffle(element.memory, raw, self.lanes, self._order(step))
        self._store_prefix(element, raw, address, self.lanes, self.active)

    def _store_prefix(self, element: Element, raw: str, address: str, width: int, count: int) -> None:
        """The first lanes, in pieces of powers of two (masked stores are slow on many processors)."""
        if count == width:
            self.builder.store(vector(element.memory, width), raw, address, element.part_size)
            return
        done = 0
        while done < count:
            piece = 1 << ((count - done).bit_length() - 1)
            at = self.builder.offset(address, element.memory, done)
            if piece == 1:
                part = self.builder.extract(element.memory, width, raw, done)
            else:
                part = self._shuffle(element.memory, raw, width, list(range(done, done + piece)))
            self.builder.store(vector(element.memory, piece), part, at, element.part_size)
            done += piece

    def store_interleaved(self, element: Element, values: Sequence[str], address: str) -> None:
        """The first lanes of two to four values, then the second ones, and so on, from ``address`` on; all lanes are active."""
        lanes, width = self.lanes, self.lanes
        order = [part * lanes + lane for lane in range(lanes) for part in range(len(values))]
        raws = [_to_memory(self.scalars, element, value) for value in values]
        if len(raws) > 2:
            width = 2 * lanes
            raws = [self.scalars.shuffle(element.memory, x, y, range(width)) for x, y in ((raws[0], raws[1]), (raws[2], raws[-1]))]
        mixed = self.builder.shuffle(element.memory, width, raws[0], raws[1], order)
        self.builder.store(vector(element.memory, len(order)), mixed, address, element.part_size)

    def store_rows(self, element: Element, values: Sequence[str], address: Address) -> None:
        """The first lanes of two or four values side by side at the first lane's address, the second lanes at the second's, and so on; all lanes are active.

        Values are turned within the 16 bytes that processors shuffle in one step.
        """
        lanes, block = self.lanes, 16 // element.size
        raws = [_to_memory(self.scalars, element, value) for value in values]
        width, half = len(raws), block // 2

        def mixed(x: str, y: str, part: int, run: int) -> str:
            """In every block, runs of elements from that half of x and of y by turns."""
            order = [b + part * half + i + j * lanes for b in range(0, lanes, block) for i in range(0, half, run) for j in (0, 1)]
            return self.scalars.shuffle(element.memory, x, y, [first + i for first in order for i in range(run)])

        pairs = [[mixed(x, y, part, 1) for part in (0, 1)] for x, y in zip(raws[::2], raws[1::2], strict=True)]
        if width == 4 and half > 1:
            pairs = [[mixed(pairs[0][number], pairs[1][number], part, half) for number in (0, 1) for part in (0, 1)]]
        rows = len(pairs[0])
        for lane in range(lanes):
            number, inside = lane % block * rows // block, lane % (block // rows) * width
            first = lane // block * block + inside
            picked = [first + i + lanes * part for part in range(len(pairs)) for i in range(width // len(pairs))]
            row = self.scalars.shuffle(element.memory, pairs[0][number], pairs[-1][number], picked)
            self.builder.store(vector(element.memory, width), row, address(lane), element.part_size)

    def store_lanes(self, element: Element, value: Value, address: Address) -> None:
        """Elements to any addresses, lane by lane."""
        for lane in range(self.active):
            at = address(lane)
            if isinstance(value, tuple):
                self.store(element, (self.extract(element.register, value[0], lane), self.extract(element.register, value[1], lane)), at)
            else:
                self.store(element, self.extract(element.register, value, lane), at)

    # -- lanes

    def insert(self, register: str, whole: str, scalar: str, lane: int) -> str:
        return self.builder.insert(register, self.lanes, whole, scalar, lane)

    def extract(self, register: str, whole: str, lane: int) -> str:
        return self.builder.extract(register, self.lanes, whole, lane)

    def _shuffle(self, register: str, raw: str, width: int, order: list[int]) -> str:
        return self.builder.shuffle(register, width, raw, "poison", order)


def is_maskable(element: Element) -> bool:
    """Whether processors have masked loads of such elements."""
    return element.size in (4, 8) and element.kind != "c" and not element.narrow


def _to_register(scalars: Scalars, element: Element, raw: str) -> str:
    if element.kind == "b":
        return scalars.compare("ne", "i8", raw, "zeroinitializer" if scalars.lanes > 1 else "0")
    if element.narrow == "f16":
        return scalars.cast("fpext", raw, "half", "float")
    return scalars.from_word(raw, element, element.memory) if element.narrow else raw


def _to_memory(scalars: Scalars, element: Element, value: str) -> str:
    if element.kind == "b":
        return scalars.cast("zext", value, "i1", "i8")
    if element.narrow == "f16":
        return scalars.cast("fptrunc", value, "float", "half")
    return scalars.to_word(value, element, element.memory) if element.narrow else value
