"""Random programs of branches, loops and early ends, in which threads go different ways, against one thread at a time in Python."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ptx_programs import lane_address, launched

MASK = 2**32 - 1


class Ended(Exception):
    """A thread has come to its end."""


@dataclass(frozen=True)
class Step:
    """``opcode`` changes register ``target`` by register ``source`` and a number."""

    opcode: str
    target: int
    source: int
    number: int

    def text(self, writer: Writer) -> str:
        t, s, n = f"%r{self.target}", f"%r{self.source}", self.number
        return {"add": f"add.u32 {t}, {s}, {n};", "xor": f"xor.b32 {t}, {s}, {n};", "mad": f"mad.lo.u32 {t}, {s}, {n}, {t};"}[self.opcode]

    def run(self, r: list[int]) -> None:
        x = r[self.source]
        r[self.target] = {"add": x + self.number, "xor": x ^ self.number, "mad": x * self.number + r[self.target]}[self.opcode] & MASK


@dataclass(frozen=True)
class Branch:
    """``then`` where the low bits of a register are less than a number, else ``other``."""

    register: int
    limit: int
    then: tuple[Any, ...]
    other: tuple[Any, ...]

    def text(self, writer: Writer) -> str:
        n = writer.fresh()
        test = f"and.b32 %r20, %r{self.register}, 7; setp.lt.u32 %p1, %r20, {self.limit}; @!%p1 bra else{n};"
        return f"{test} {writer.all(self.then)} bra end{n}; else{n}: {writer.all(self.other)} end{n}:"

    def run(self, r: list[int]) -> None:
        for part in self.then if r[self.register] & 7 < self.limit else self.other:
            part.run(r)


@dataclass(frozen=True)
class Loop:
    """A loop whose length is the low bits of a register, which some threads leave early."""

    register: int
    mask: int
    body: tuple[Any, ...]
    leaves: bool

    def text(self, writer: Writer) -> str:
        n = writer.fresh()
        leave = f"and.b32 %r20, %r1, 7; setp.eq.u32 %p1, %r20, 3; @%p1 bra done{n};" if self.leaves else ""
        test = f"setp.eq.u32 %p1, %count{n}, 0; @%p1 bra done{n}; sub.u32 %count{n}, %count{n}, 1;"
        return f"and.b32 %count{n}, %r{self.register}, {self.mask}; loop{n}: {test} {writer.all(self.body)} {leave} bra loop{n}; done{n}:"

    def run(self, r: list[int]) -> None:
        for _ in range(r[self.register] & self.mask):
            for part in self.body:
                part.run(r)
            if self.leaves and r[1] & 7 == 3:
                return


@dataclass(frozen=True)
class End:
    """The end of the threads for which the low bits of a register are a number."""

    register: int
    number: int

    def text(self, writer: Writer) -> str:
        return f"and.b32 %r20, %r{self.register}, 15; setp.eq.u32 %p1, %r20, {self.number}; @%p1 bra OUT;"

    def run(self, r: list[int]) -> None:
        if r[self.register] & 15 == self.number:
            raise Ended


class Writer:
    """Writes programs with fresh labels."""

    def __init__(self) -> None:
        self.numbers = 0

    def fresh(self) -> int:
        self.numbers += 1
        return self.numbers

    def all(self, parts: tuple[Any, ...]) -> str:
        return " ".join(part.text(self) for part in parts)


def drawn(rng: random.Random, depth: int) -> tuple[Any, ...]:
    """A sequence of up to four parts, nested so deep at most."""
    parts: list[Any] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        register = rng.randint(1, 3)
        if kind < 0.45 or depth == 0:
            parts.append(Step(rng.choice(["add", "xor", "mad"]), register, rng.randint(1, 3), rng.randint(1, 9)))
        elif kind < 0.7:
            parts.append(Branch(register, rng.randint(0, 7), drawn(rng, depth - 1), drawn(rng, depth - 1)))
        elif kind < 0.9:
            parts.append(Loop(register, rng.randint(1, 5), drawn(rng, depth - 1), rng.random() < 0.5))
        else:
            parts.append(End(register, rng.randint(0, 15)))
    return tuple(parts)


@pytest.mark.parametrize("seed", range(20))
def test_threads_that_go_different_ways(seed: int) -> None:
    rng = random.Random(seed)
    program, writer = drawn(rng, 4), Writer()
    body = writer.all(program)
    counters = "".join(f".reg .u32 %count{n};" for n in range(1, writer.numbers + 1))
    text = f"""{lane_address("%d1", "p0", 4)} mov.u32 %r1, %r30; mul.lo.u32 %r2, %r1, 7; xor.b32 %r3, %r1, 21; {body}
    OUT: xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; st.global.u32 [%d1], %r1; ret;"""
    threads = rng.choice([32, 50, 96])
    got = launched(text, [(np.uint32, 3 * threads)], threads=threads, blocks=3, variables=counters)[0]
    for thread in range(3 * threads):
        r = [0, thread, 7 * thread, thread ^ 21]
        try:
            for part in program:
                part.run(r)
        except Ended:
            pass
        assert got[thread] == r[1] ^ r[2] ^ r[3], f"thread {thread}"
