"""Tries out what can be done with an op: each ability is tried on the op's example.

An op is read in both forms, verified, run by the interpreter and by compiled code, which must agree, differentiated in both modes, which must agree with each
other (``<y_bar, J x_dot> = <J^T y_bar, x_dot>``), batched, which must agree with running the batch elements one by one, and compiled to PTX, whose interpreter
must agree too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnregisteredOp

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.typing_rules import TYPING_RULES
from wengert.lab.ops.example import Example
from wengert.runtime.errors import ExecutionError, InputError
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter

Array = np.ndarray[Any, np.dtype[Any]]

COLUMNS = ("parse", "verify", "interpret", "compile", "JVP", "VJP", "batch", "GPU")
YES, NO, NOTHING = "yes", "no", "-"
CALLED = "called"
"""Compiled code calls the interpreter for the op; of a device, the op runs on the host."""
REFUSED = "refused"
FAILS = "FAILS"
"""A defect of ours: a wrong value, or an internal error."""

BATCH_SIZE = 2


@dataclass
class Row:
    """A row of the table: what can be done with an op, column by column, and why not."""

    op: str
    cells: dict[str, str] = field(default_factory=lambda: dict.fromkeys(COLUMNS, NO))
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Adds a reason, once."""
        if text not in self.notes:
            self.notes.append(text)


class DisagreementError(Exception):
    """Two ways to the same values gave different ones."""


def attempt(name: str, example: Example | None) -> Row:
    """Tries everything on the op's example; an op that the dialects do not have, or that has no example, can do nothing."""
    row = Row(name)
    if not is_known(name):
        row.note("not known here")
        return row
    if example is None:
        row.note("no example")
        return row
    program = _read(row, example)
    if program is None:
        return row
    for column, steps in (("interpret", _interpret), ("compile", _compile), ("JVP", _jvp), ("VJP", _vjp), ("batch", _batch), ("GPU", _device)):
        outcome = _outcome(row, lambda steps=steps: steps(program, example))
        row.cells[column] = REFUSED if outcome == NOTHING and row.cells["interpret"] == REFUSED else outcome
    return row


def is_known(name: str) -> bool:
    """Whether a dialect of ours has the op."""
    cls = make_context().get_optional_op(name)
    return cls is not None and not issubclass(cls, UnregisteredOp)


def _outcome(row: Row, steps: Callable[[], str]) -> str:
    try:
        return steps()
    except (ExecutionError, DiagnosticError, InputError) as error:
        row.note(_reason(row.op, error))
        return REFUSED
    except Exception as error:
        row.note(f"{type(error).__name__}: {error}")
        return FAILS


def _reason(name: str, error: Exception) -> str:
    """The message of an error, without the place."""
    message = error.diagnostics[0].message if isinstance(error, DiagnosticError) else str(error)
    message = message.partition(": error: ")[2] or message
    for said in (f"'{name}' ", f"{name}: ", f"{name} "):
        message = message.removeprefix(said)
    return message.replace("\n", " ")


def _read(row: Row, example: Example) -> Program | None:
    try:
        module = parse_module(example.text, row.op)
        for generic in (False, True):
            text = print_module(module, generic=generic)
            if print_module(parse_module(text, row.op), generic=generic) != text:
                raise DisagreementError(f"{row.op}: what is printed is read as something else")
    except DiagnosticError as error:
        row.note(_reason(row.op, error))
        return None
    row.cells["parse"] = YES
    if not any(op.name == row.op for op in module.walk()):
        raise DisagreementError(f"the example of {row.op} does not hold it")
    try:
        program = parse(example.text, row.op)
    except DiagnosticError as error:
        row.note(_reason(row.op, error))
        return None
    row.cells["verify"] = YES if any(type(op) in TYPING_RULES for op in module.walk() if op.name == row.op) else NO
    return program


# -- values


def inputs_of(program: Program, example: Example, seed: int = 0) -> list[Array]:
    """Arguments drawn between the example's bounds."""
    generator = np.random.default_rng(seed)
    return [_draw(p, example, generator) for p in program.signature.arguments]


def _draw(p: Parameter, example: Example, generator: np.random.Generator) -> Array:
    def floats() -> Array:
        return np.asarray(generator.uniform(example.low, example.high, p.shape))

    if p.dtype.kind == "c":
        return np.asarray(floats() + 1j * floats()).astype(p.dtype)
    if p.dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, p.shape)).astype(p.dtype)
    if p.dtype.kind in "iu":
        return np.asarray(generator.integers(*example.integers, p.shape)).astype(p.dtype)
    return floats().astype(p.dtype)


def _agree(what: str, results: Sequence[Array], expected: Sequence[Array]) -> None:
    for a, b in zip(results, expected, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype or not np.allclose(*(_wide(x) for x in (a, b)), rtol=1e-5, atol=1e-6, equal_nan=True):
            raise DisagreementError(f"{what}: {a} against {b}")


def _wide(x: Array) -> Array:
    return x.astype(np.complex128) if x.dtype.kind == "c" else x.astype(np.float64)


def _run(program: Program, inputs: Sequence[Array]) -> tuple[Array, ...]:
    return program.compile("interpreter")(*inputs)


# -- abilities


def _interpret(program: Program, example: Example) -> str:
    _run(program, inputs_of(program, example))
    return YES


def _compile(program: Program, example: Example) -> str:
    return CALLED if example.op in _compared(program, example, "cpu").interpreted else YES


def _compared(program: Program, example: Example, backend: str) -> Any:
    """The statistics of a compiled run, whose results are the interpreter's unless they are random."""
    inputs = inputs_of(program, example)
    compiled = program.compile(backend)
    results = compiled(*inputs)
    if not example.random:
        _agree(f"{example.op} compiled ({backend}) and interpreted", results, _run(program, inputs))
    return compiled.stats


def _movable(program: Program) -> bool:
    return all(any(p.differentiable for p in side) for side in (program.signature.arguments, program.signature.results))


def _jvp(program: Program, example: Example) -> str:
    if not _movable(program):
        return NOTHING
    inputs = inputs_of(program, example)
    derivative = program.jvp()
    results = _run(derivative, [*inputs, *_tangents(program, example)])
    if not example.random:
        _agree(f"the primal results of the jvp of {example.op}", results[: len(program.signature.results)], _run(program, inputs))
    return YES


def _vjp(program: Program, example: Example) -> str:
    if not _movable(program):
        return NOTHING
    inputs = inputs_of(program, example)
    derivative, results = program.vjp(), program.signature.results
    x_dots = _tangents(program, example)
    y_bars = [_draw(p, example, np.random.default_rng(2)) for p in results if p.differentiable]
    outputs = _run(derivative, [*inputs, *y_bars])
    if not example.random:
        _agree(f"the primal results of the vjp of {example.op}", outputs[: len(results)], _run(program, inputs))
        y_dots = _run(program.jvp(), [*inputs, *x_dots])[len(results) :]
        _agree(f"the modes of {example.op}", [_pairing(y_bars, y_dots)], [_pairing(outputs[len(results) :], x_dots)])
    return YES


def _tangents(program: Program, example: Example) -> list[Array]:
    generator = np.random.default_rng(1)
    return [_draw(p, example, generator) for p in program.signature.arguments if p.differentiable]


def _pairing(bars: Sequence[Array], dots: Sequence[Array]) -> Array:
    """The real part of the sum of products, without conjugation, as cotangents are defined."""
    return np.asarray(sum(np.sum(_wide(a) * _wide(b)).real for a, b in zip(bars, dots, strict=True)))


def _batch(program: Program, example: Example) -> str:
    arguments = program.signature.arguments
    batched = program.vmap(size=BATCH_SIZE) if arguments else program.vmap((), size=BATCH_SIZE)
    elements = [inputs_of(program, example, seed) for seed in range(BATCH_SIZE)]
    results = _run(batched, [np.stack(column) for column in zip(*elements, strict=True)])
    if not example.random:
        one_by_one = [_run(program, element) for element in elements]
        _agree(f"{example.op} batched", results, [np.stack(column) for column in zip(*one_by_one, strict=True)])
    return YES


def _device(program: Program, example: Example) -> str:
    return CALLED if _compared(program, example, "ptx-interpreter").host else YES
