"""What must hold of a mutant: it is refused with a diagnostic, or everything that is accepted can be done with it.

What is run is bounded: programs of few elements, for a limited time.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import all_ops
from wengert.lab.inputs import random_inputs
from wengert.runtime.dynamic_program import DynamicProgram
from wengert.runtime.errors import ExecutionError, InputError

FORESEEN = (DiagnosticError, InputError, ExecutionError)
MOST_ELEMENTS = 1 << 16
SECONDS = 20


class TookTooLongError(BaseException):
    """A mutant was stopped: most likely it loops without end, which is its right."""


@contextmanager
def limited(seconds: int = SECONDS) -> Generator[None]:
    """Stops what is inside after so long."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_text(text: str | bytes) -> ModuleOp | None:
    """Reads a text; what is accepted prints in both forms, and is read again from them. A mistake is a diagnostic that the parser foresaw."""
    try:
        module = parse_module(text, "mutant.mlir")
    except DiagnosticError as error:
        refused = error
    else:
        check_printed(module)
        return module
    assert refused.__cause__ is None
    assert refused.diagnostic.message
    assert refused.diagnostic.line > 0
    assert refused.render()
    return None


def is_refused(read: Callable[[str], object], text: str) -> bool:
    """Whether a text is refused in the way that users are told of; an error within that is raised as it is."""
    try:
        read(text)
    except FORESEEN as error:
        if error.__cause__ is not None and not isinstance(error.__cause__, FORESEEN):
            raise error.__cause__ from None
        return True
    return False


@contextmanager
def said(what: str) -> Generator[None]:
    """Says of what kind a mutant was on which something failed."""
    try:
        yield
    except Exception as error:
        raise AssertionError(what) from error


def check_printed(module: ModuleOp) -> None:
    """Both forms of a module are read again, and print the same again."""
    for generic in (False, True):
        printed = print_module(module, generic=generic, locations=generic)
        again = parse_module(printed, "printed.mlir")
        assert print_module(again, generic=generic, locations=generic) == printed


def static(program: wg.Program, choose: random.Random) -> wg.Program:
    """The program itself, or for one that leaves extents open that for arguments of some small ones."""
    arguments = program.signature.arguments
    if not isinstance(program, DynamicProgram):
        return program
    return program.specialize(*(None if p.is_static else [choose.randrange(5) if n < 0 else n for n in p.shape] for p in arguments))


def is_small(module: ModuleOp) -> bool:
    """Whether all values have few elements."""
    types = [value.type for op in all_ops(module) for value in (*op.operands, *op.results, *(a for r in op.regions for b in r.blocks for a in b.args))]
    return all(not isinstance(type, TensorType) or np.prod([max(n, 1) for n in type.get_shape()], dtype=float) <= MOST_ELEMENTS for type in types)


def uses(program: wg.Program, small: bool, choose: random.Random) -> list[Callable[[], object]]:
    """What is done with a program: printed, differentiated, counted, compiled; run where it is small."""
    differentiate = choose.choice((program.jvp, program.vjp))
    backend = choose.choice(("interpreter", "interpreter", "cpu"))
    if not small:
        return [program.text, program.costs, lambda: differentiate().text(), lambda: program.compile("interpreter"), program.compile]

    def run(program: wg.Program, backend: str) -> None:
        program.compile(backend)(*random_inputs(program.signature, choose.randrange(100)))

    steps = [program.text, program.costs, lambda: differentiate().text(), lambda: run(program, "interpreter")]
    return [*steps, lambda: run(program, "cpu"), lambda: run(differentiate(), backend)]


def check_program(text: str, seed: int) -> str:
    """Does with a program what users do; the word for how far it came."""
    try:
        choose = random.Random(seed)
        program = static(wg.parse(text, "mutant.mlir"), choose)
        small = is_small(program.module)
    except FORESEEN:
        return "refused"
    word = "run" if small else "too large to run"
    for step in uses(program, small, choose):
        try:
            with limited():
                step()
        except FORESEEN:
            word = "partly refused"
        except TookTooLongError:
            return "stopped"
    return word
