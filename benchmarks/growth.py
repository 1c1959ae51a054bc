"""Measures how the times of parsing, differentiating and compiling grow with a program: ``python -m benchmarks.growth [FAMILY ...]``.

Each family is a program of a size n. It is parsed, its ``vjp`` is derived, and that is compiled (from scratch: the cache is off) at sizes that
double; an exponent is the slope of the logarithm of the processor time over that of the size, at the upper half of the sizes. What takes time that
grows with the program itself has the exponent 1; the largest that is allowed is 1.3.

Loops and branches nested in each other are the exception. A value that an inner loop needs again is kept for every iteration of the loops around it; so each
of the derivative hands on what is kept for those inside; the derivative itself has a number of values that grows with the depth squared, and with its cube
where the loops are of unknown length, each of which keeps positions on the tapes of all loops inside. Text nests at most 64 deep.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import wengert as wg

MOST = 1.3
PHASES = ("parse", "vjp", "compile")


def function(arguments: Sequence[str], types: Sequence[str], lines: Sequence[str], result: str, type: str, name: str = "public @main") -> str:
    """The text of a function with one result."""
    signature = ", ".join(f"%{a}: {t}" for a, t in zip(arguments, types, strict=True))
    return "\n".join([f"func.func {name}({signature}) -> {type} {{", *lines, f"return {result} : {type}", "}"])


V = "tensor<8xf64>"


def chain(n: int) -> str:
    """n ops, each of the last one."""
    ops = ("stablehlo.sine %{0}", "stablehlo.multiply %{0}, %x", "stablehlo.add %{0}, %x", "stablehlo.tanh %{0}")
    return function(
        ["x"], [V], ["%v0 = stablehlo.negate %x : " + V, *(f"%v{i} = {ops[i % 4].format(f'v{i - 1}')} : {V}" for i in range(1, n))], f"%v{n - 1}", V
    )


def fan_out(n: int) -> str:
    """One value used n times, and the sum of what becomes of it."""
    lines = ["%y = stablehlo.sine %x : " + V, "%s0 = stablehlo.negate %y : " + V]
    for i in range(1, n // 2):
        lines += [f"%v{i} = stablehlo.{('cosine', 'tanh', 'exponential')[i % 3]} %s{i - 1} : {V}", f"%s{i} = stablehlo.multiply %v{i}, %y : {V}"]
    return function(["x"], [V], lines, f"%s{n // 2 - 1}", V)


def arguments(n: int) -> str:
    """n arguments."""
    lines = ["%s0 = stablehlo.sine %a0 : " + V]
    lines += [f"%s{i} = stablehlo.{('add', 'multiply')[i % 2]} %s{i - 1}, %a{i} : {V}" for i in range(1, n)]
    return function([f"a{i}" for i in range(n)], [V] * n, lines, f"%s{n - 1}", V)


def _loop(number: str, inside: Sequence[str], source: str, result: str) -> list[str]:
    """A loop of three iterations whose body takes ``%c<number>`` to ``result``."""
    return [
        f"%r{number}:2 = stablehlo.while(%i{number} = %zero, %c{number} = {source}) : tensor<i64>, {V}",
        f"cond {{ %p{number} = stablehlo.compare LT, %i{number}, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>",
        f"stablehlo.return %p{number} : tensor<i1> }}",
        f"do {{ %j{number} = stablehlo.add %i{number}, %one : tensor<i64>",
        *inside,
        f"stablehlo.return %j{number}, {result} : tensor<i64>, {V} }}",
    ]


_COUNTS = [f"%{name} = stablehlo.constant dense<{value}> : tensor<i64>" for name, value in (("zero", 0), ("one", 1), ("three", 3))]


def loops_in_sequence(n: int) -> str:
    """n loops one after the other."""
    lines = list(_COUNTS)
    for k in range(n):
        lines += _loop(str(k), [f"%d{k} = stablehlo.sine %c{k} : {V}"], "%x" if k == 0 else f"%r{k - 1}#1", f"%d{k}")
    return function(["x"], [V], lines, f"%r{n - 1}#1", V)


def loops_nested(n: int) -> str:
    """n loops inside of each other."""
    inside = [f"%d = stablehlo.sine %c{n - 1} : {V}"]
    result = "%d"
    for k in reversed(range(n)):
        inside, result = _loop(str(k), inside, "%x" if k == 0 else f"%c{k - 1}", result), f"%r{k}#1"
    return function(["x"], [V], [*_COUNTS, *inside], result, V)


def whiles_nested(n: int) -> str:
    """n loops inside of each other that nobody knows the length of: how far each gets depends on what is inside of it."""
    scalar = "tensor<f64>"
    inside, result = [f"%d = stablehlo.sine %c{n - 1} : {scalar}"], "%d"
    for k in reversed(range(n)):
        inside = [
            f"%r{k}:2 = stablehlo.while(%i{k} = %one, %c{k} = {'%x' if k == 0 else f'%c{k - 1}'}) : {scalar}, {scalar}",
            f"cond {{ %p{k} = stablehlo.compare LT, %i{k}, %three : ({scalar}, {scalar}) -> tensor<i1>",
            f"stablehlo.return %p{k} : tensor<i1> }}",
            f"do {{ %q{k} = stablehlo.multiply %c{k}, %c{k} : {scalar}",
            f"%s{k} = stablehlo.add %q{k}, %one : {scalar}",
            f"%j{k} = stablehlo.add %i{k}, %s{k} : {scalar}",
            *inside,
            f"stablehlo.return %j{k}, {result} : {scalar}, {scalar} }}",
        ]
        result = f"%r{k}#1"
    ends = [f"%{name} = stablehlo.constant dense<{value}> : {scalar}" for name, value in (("one", 1.0), ("three", 3.0))]
    return function(["x"], [scalar], [*ends, *inside], result, scalar)


def branches_nested(n: int) -> str:
    """n branches inside of each other."""
    inside, result = [f"%d = stablehlo.sine %x : {V}"], "%d"
    for k in reversed(range(n)):
        inside = [
            f'%b{k} = "stablehlo.if"(%p) ({{',
            *inside,
            f"stablehlo.return {result} : {V}",
            f"}}, {{ %e{k} = stablehlo.cosine %x : {V}",
            f"stablehlo.return %e{k} : {V} }}) : (tensor<i1>) -> {V}",
        ]
        result = f"%b{k}"
    return function(["x", "p"], [V, "tensor<i1>"], inside, result, V)


def branches_in_sequence(n: int) -> str:
    """n branches one after the other."""
    lines: list[str] = []
    for k in range(n):
        before = "%x" if k == 0 else f"%b{k - 1}"
        lines += [f'%b{k} = "stablehlo.if"(%p) ({{', f"%t{k} = stablehlo.sine {before} : {V}", f"stablehlo.return %t{k} : {V}"]
        lines += [f"}}, {{ %e{k} = stablehlo.cosine {before} : {V}", f"stablehlo.return %e{k} : {V} }}) : (tensor<i1>) -> {V}"]
    return function(["x", "p"], [V, "tensor<i1>"], lines, f"%b{n - 1}", V)


def calls_nested(n: int) -> str:
    """n functions, each of which calls the next."""
    texts: list[str] = []
    for k in range(n):
        last = f"%1 = call @f{k + 1}(%0) : ({V}) -> {V}" if k < n - 1 else f"%1 = stablehlo.cosine %0 : {V}"
        texts.append(function(["x"], [V], [f"%0 = stablehlo.{('sine', 'tanh')[k % 2]} %x : {V}", last], "%1", V, f"private @f{k}" if k else "public @main"))
    return "\n".join(texts)


def calls_in_sequence(n: int) -> str:
    """n calls of one function, one after the other."""
    inner = function(["x"], [V], [f"%0 = stablehlo.sine %x : {V}"], "%0", V, "private @f")
    lines = [f"%v{k} = call @f({'%x' if k == 0 else f'%v{k - 1}'}) : ({V}) -> {V}" for k in range(n)]
    return inner + "\n" + function(["x"], [V], lines, f"%v{n - 1}", V)


def parts(n: int) -> str:
    """n numbers, each computed, side by side in one vector."""
    lines = [f"%e{i} = stablehlo.slice %x [{i}:{i + 1}] : (tensor<{n}xf64>) -> tensor<1xf64>" for i in range(n)]
    lines += [f"%s{i} = stablehlo.{('sine', 'tanh', 'cosine')[i % 3]} %e{i} : tensor<1xf64>" for i in range(n)]
    types = ", ".join(["tensor<1xf64>"] * n)
    lines.append(f"%y = stablehlo.concatenate {', '.join(f'%s{i}' for i in range(n))}, dim = 0 : ({types}) -> tensor<{n}xf64>")
    return function(["x"], [f"tensor<{n}xf64>"], lines, "%y", f"tensor<{n}xf64>")


def constants(n: int) -> str:
    """n constants."""
    lines: list[str] = []
    for k in range(n):
        lines += [f"%c{k} = stablehlo.constant dense<[{', '.join(f'{k}.{i}' for i in range(8))}]> : {V}"]
        lines += [f"%v{k} = stablehlo.{('multiply', 'add')[k % 2]} {'%x' if k == 0 else f'%v{k - 1}'}, %c{k} : {V}"]
    return function(["x"], [V], lines, f"%v{n - 1}", V)


def large_constant(n: int) -> str:
    """One constant of n elements, written out."""
    type = f"tensor<{n}xf64>"
    lines = [f"%c = stablehlo.constant dense<[{', '.join(f'{i}.5' for i in range(n))}]> : {type}", f"%v = stablehlo.multiply %x, %c : {type}"]
    return function(["x"], [type], [*lines, f"%w = stablehlo.sine %v : {type}"], "%w", type)


@dataclass(frozen=True)
class Family:
    """Programs of growing size.

    Attributes:
        text: the program of a size.
        sizes: from the smallest to the largest.
        bounded: whether its exponents must be small.
    """

    text: Callable[[int], str]
    sizes: tuple[int, ...]
    bounded: bool = True


def doubling(first: int, last: int) -> tuple[int, ...]:
    """first, 2 first, ..., last."""
    return tuple(first << k for k in range(int(math.log2(last / first)) + 1))


FAMILIES = {
    "chain": Family(chain, doubling(125, 2000)),
    "fan-out": Family(fan_out, doubling(125, 2000)),
    "arguments": Family(arguments, doubling(125, 2000)),
    "parts": Family(parts, doubling(125, 2000)),
    "loops in sequence": Family(loops_in_sequence, doubling(10, 160)),
    "loops nested": Family(loops_nested, (2, 4, 8, 16), bounded=False),
    "loops of unknown length nested": Family(whiles_nested, (2, 4, 8, 16), bounded=False),
    "branches in sequence": Family(branches_in_sequence, doubling(20, 320)),
    "branches nested": Family(branches_nested, doubling(3, 48), bounded=False),
    "calls nested": Family(calls_nested, doubling(125, 2000)),
    "calls in sequence": Family(calls_in_sequence, doubling(125, 2000)),
    "constants": Family(constants, doubling(125, 2000)),
    "size of a constant": Family(large_constant, doubling(1 << 14, 1 << 19)),
}


def times(text: str) -> list[float]:
    """Seconds for each phase."""
    clock = [time.process_time()]
    program = wg.parse(text)
    clock.append(time.process_time())
    derivative = program.vjp()
    clock.append(time.process_time())
    derivative.compile()
    clock.append(time.process_time())
    return [after - before for before, after in pairwise(clock)]


def least_times(texts: Sequence[str], rounds: int = 3) -> list[list[float]]:
    """The least of some rounds, each of which goes through all sizes, so that other work on the machine does not fall on one size alone."""
    least = [times(text) for text in texts]
    for _ in range(rounds - 1):
        least = [list(map(min, before, times(text))) for before, text in zip(least, texts, strict=True)]
    return least


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log(time) over log(size), by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in seconds]
    mean = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean[0]) * (b - mean[1]) for a, b in zip(x, y, strict=True)) / sum((a - mean[0]) ** 2 for a in x)


def main(names: Sequence[str]) -> int:
    """Prints a line for each family; 1 if something grows too fast."""
    os.environ["WENGERT_CACHE"] = "off"
    times(chain(10))  # imports
    print(f"{'family':<22} {'n':>15}  " + "  ".join(f"{phase:>18}" for phase in PHASES))
    too_fast: list[str] = []
    for name, family in FAMILIES.items():
        if names and name not in names:
            continue
        measured = least_times([family.text(n) for n in family.sizes])
        half = len(family.sizes) // 2
        cells: list[str] = []
        for k, phase in enumerate(PHASES):
            growth = exponent(family.sizes[half:], [seconds[k] for seconds in measured[half:]])
            cells.append(f"{growth:5.2f} ({measured[-1][k]:8.3f} s)")
            if family.bounded and growth > MOST:
                too_fast.append(f"{phase} of {name}: {growth:.2f}")
        print(f"{name:<22} {family.sizes[half]:>6} - {family.sizes[-1]:>6}  " + "  ".join(f"{cell:>18}" for cell in cells), flush=True)
    print("none above " + str(MOST) if not too_fast else "above " + str(MOST) + ": " + "; ".join(too_fast))
    return 1 if too_fast else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
