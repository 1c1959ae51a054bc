"""From a seed to a program with inputs: the same ones in every process.

Each seed draws a style first: the element types, extents, boldness, and the families of ops that the program is made of. Programs made of few
families each meet combinations that programs made of all of them would not (Groce et al., "Swarm Testing", 2012).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from ad import random_programs as smooth_programs

from fuzz.grower import Grower, Style, Value, Whole
from fuzz.steps import composed, contraction, control, elementwise, indexing, linalg, recurrence, reduction, shape
from fuzz.steps.table import FAMILIES
from fuzz.tensors import COMPLEX_OF, FLOATS, INTEGERS, Array, Type
from wengert.runtime.derived.derivation import plain_text

STEPS = (composed, contraction, control, elementwise, indexing, linalg, recurrence, reduction, shape)


@dataclass(frozen=True)
class Program:
    """A program as text, with inputs for its @main."""

    text: str
    inputs: tuple[Array, ...]
    seed: int | None = None
    smooth: bool = False
    """Whether it is made to be differentiable at its inputs, so that differences make sense."""


def style_of(rng: np.random.Generator) -> Style:
    """What a program is like."""
    smooth = rng.random() < 0.2
    main = str(rng.choice(FLOATS, p=(1, 0, 0, 0) if smooth else (0.4, 0.35, 0.12, 0.13)))
    elements = [main, "i32", "i1", *(str(e) for e in rng.choice(INTEGERS, 2))]
    if rng.random() < 0.5:
        elements.append(str(rng.choice(FLOATS)))
    if main in COMPLEX_OF and rng.random() < 0.35:
        elements += [COMPLEX_OF[main]] * 2
    kind = rng.random()
    if kind < 0.1:
        extents, largest = (1, 2, int(rng.integers(9, 71)), int(rng.integers(9, 33))), 600
    elif kind < 0.13:
        extents, largest = (1, 2, int(rng.integers(1000, 5000))), 10000
    else:
        extents, largest = (*([0] if rng.random() < 0.15 else []), 1, 2, 3, 4, *(int(n) for n in rng.integers(1, 9, 2))), 160
    families = [name for name in FAMILIES if name not in ("complex", "control") and rng.random() < 0.45]
    if any(e in COMPLEX_OF.values() for e in elements):
        families.append("complex")
    if rng.random() < 0.35:
        families.append("control")
    families += ["float"]
    wild = not smooth and bool(rng.random() < 0.25)
    return Style(main, tuple(elements), extents, largest, wild, tuple(families), smooth)


def generate(seed: int) -> Program:
    """The program of a seed."""
    rng = np.random.default_rng([20, seed])
    if rng.random() < 0.08:
        return smooth_program(rng, seed)
    style = style_of(rng)
    whole = Whole(rng, style, budget=int(rng.integers(2, 13)))
    g = Grower(whole)
    for _ in range(g.integer(1, 3)):
        g.pool.append(g.argument(Type(style.main, g.random_shape())))
    control.fill(g, whole.budget)
    returned = _results(g)
    body = g.block(whole.arguments, returned, ends="func.return")
    signature = f"({', '.join(str(a.type) for a in whole.arguments)}) -> ({', '.join(str(v.type) for v in returned)})"
    main = f'"func.func"() <{{sym_name = "main", sym_visibility = "public", function_type = {signature}}}> ({body}) : () -> ()'
    text = '"builtin.module"() ({\n' + "\n".join([main, *whole.functions]) + "\n}) : () -> ()\n"
    return Program(text, tuple(whole.inputs), seed, style.smooth)


def smooth_program(rng: np.random.Generator, seed: int) -> Program:
    """A program of the generator that the tests of derivatives use: every value is bounded, and kinks are kept away from."""
    made = smooth_programs.random_program(SeededChoices(rng))
    return Program(plain_text(made.module), tuple(made.inputs), seed, smooth=True)


class SeededChoices:
    """Choices by a generator of random numbers."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high, endpoint=True))

    def permutation(self, n: int) -> list[int]:
        return [int(i) for i in self.rng.permutation(n)]


def _results(g: Grower) -> list[Value]:
    """The last value, and some that nothing else uses: so that little of the program is dead."""
    used = set(re.findall(r"%[A-Za-z0-9_]+(?:#\d+)?", " ".join(line.split(" = ", 1)[1] for line in g.lines)))
    loose = [v for v in g.pool if v.name not in used]
    chosen = loose[-4:]
    if len(loose) > 4 and g.chance(0.5):
        chosen = [*loose[-3:], g.pick(loose[:-3])]
    chosen = chosen or g.pool[-1:]
    return [chosen[i] for i in g.permutation(len(chosen))]
