"""Every op with every element type that its typing rule takes: programs about one op, with one of their element types replaced by another everywhere.

What is accepted has derivatives and batches that are well-typed, or are refused by name; both backends compute the same, or both refuse. To run all of them:

    python tests/mutants/retyped_programs.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("mutants", "support/programs", "support/checks", "dialects")]

from mutant_checks import FORESEEN, TookTooLongError, limited
from mutant_sources import SOURCES

import wengert as wg
from wengert.dialects import core
from wengert.lab.inputs import random_inputs
from wengert.runtime.dynamic_program import DynamicProgram

ELEMENTS = (
    *("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "complex<f64>", "complex<f32>"),
    *("i1", "i2", "i4", "i8", "i32", "i64", "ui4", "ui8", "ui64"),
)
_ELEMENT = re.compile(r"tensor<(?:[\d?]+x)*((?:complex<\w+>|\w+))[,>]")
EPS = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-3, "complex64": 1e-3, "float16": 0.02, "bfloat16": 0.1, "float8_e4m3fn": 0.3, "float8_e5m2": 0.6}
UNDETERMINED = ("core.lu_solve", 'stablehlo.rng"')
"""Ops whose results random operands do not determine: rows in an order that is no permutation, and numbers that each backend draws as it likes."""
DERIVED: dict[str, Callable[[wg.Program], wg.Program]] = {
    "jvp": lambda p: p.jvp(),
    "vjp": lambda p: p.vjp(),
    "vjp by adjoints": lambda p: p.vjp(strategy="direct"),
    "batch": lambda p: p.vmap(size=2),
    "batch of the vjp": lambda p: p.vjp().vmap(size=2),
}


def retyped(text: str) -> Iterator[str]:
    """The program, and those with another element type in the place of one of its own."""
    yield text
    for old in sorted(set(_ELEMENT.findall(text))):
        for new in ELEMENTS:
            if new != old:
                yield re.sub(rf"(tensor<(?:[\d?]+x)*){re.escape(old)}>", rf"\g<1>{new}>", text)


def check(text: str, *, ends: bool = True) -> bool:
    """Checks a program and its derivatives and batches; AssertionError, or whatever is raised, where something is wrong.

    Args:
        text: the program.
        ends: False of a program that loops without end: it is not run, and neither are its derivatives, which loop as it does.

    Returns:
        Whether it ended, as far as is known.
    """
    try:
        program = wg.parse(text)
    except FORESEEN:
        return True
    if isinstance(program, DynamicProgram):
        return True
    ends = ends and run(program, "the program")
    for what, derive in DERIVED.items():
        try:
            with limited():
                derived = derive(program)
                written = derived.text()
        except (*FORESEEN, TookTooLongError):
            continue
        wg.parse(written, f"{what}.mlir")
        if ends:
            run(derived, what)
    return ends


def check_retyped(text: str) -> None:
    """Checks a program and those with other element types, which loop without end where it does; AssertionError with the text of the wrong one."""
    ends = True
    for number, variant in enumerate(retyped(text)):
        try:
            ended = check(variant, ends=ends)
        except Exception as error:
            raise AssertionError(variant) from error
        ends = ended if number == 0 else ends


def is_determined(text: str) -> bool:
    """Whether both backends have to give the same results."""
    return not any(name in text for name in UNDETERMINED)


def run(program: wg.Program, what: str) -> bool:
    """Both backends compute the same, or both refuse. What has no results may be refused by the interpreter alone: nothing of it is compiled.

    Returns:
        Whether the program ended, as far as is known.
    """
    if any(isinstance(argument.given, core.TapeType) for argument in program.signature.arguments):
        return True  # no array stands for a tape
    inputs, outcomes = random_inputs(program.signature, 1), list[object]()
    for backend in ("interpreter", "cpu"):
        try:
            with limited():
                outcomes.append(program.compile(backend)(*inputs))
        except TookTooLongError:
            return False
        except FORESEEN as error:
            outcomes.append(error)
    interpreted, compiled = outcomes
    if isinstance(interpreted, Exception) or isinstance(compiled, Exception):
        assert isinstance(interpreted, Exception), f"{what}: only compiled code is refused: {compiled}"
        assert isinstance(compiled, Exception) or not program.signature.results, f"{what}: only the interpreter refuses: {interpreted}"
        return True
    assert isinstance(interpreted, tuple)
    assert isinstance(compiled, tuple)
    for number, (x, y) in enumerate(zip(map(np.asarray, interpreted), map(np.asarray, compiled), strict=True)):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{what}: result {number}"
        eps = EPS.get(x.dtype.name, 0.0)
        agree = np.allclose(x.astype(complex), y.astype(complex), rtol=eps, atol=eps, equal_nan=True)
        assert agree, f"{what}: result {number} is {x.reshape(-1)[:4]} interpreted, {y.reshape(-1)[:4]} compiled"
    return True


def main() -> int:
    """All programs."""
    wrong = 0
    for number, source in enumerate(sources := list(dict.fromkeys(filter(is_determined, SOURCES)))):
        try:
            check_retyped(source)
        except AssertionError as error:
            wrong += 1
            print(f"-- {number}: {type(error.__cause__).__name__}: {error.__cause__}\n{error}", flush=True)
    print(f"{len(sources)} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
