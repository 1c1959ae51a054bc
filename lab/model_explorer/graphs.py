"""The graphs of a file: each function of its program, and the reverse derivative."""

from __future__ import annotations

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.draw.origins import is_derived, stretches_of
from wengert.lab.inspection.subject import read_subject
from wengert.lab.kept.parts import is_reverse_derivative, parts_of
from wengert.lab.kept.residuals import Residuals
from wengert.lab.model_explorer.layers import layered
from wengert.lab.model_explorer.nested import LayeredGraph
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function, functions
from wengert.runtime.program import Program

PRIMAL, DERIVATIVE = "program", "reverse derivative"
"""The names of the graphs of an entry."""


def graphs_of_file(path: str) -> tuple[LayeredGraph, ...]:
    """The graphs of a file with MLIR at any level.

    Raises:
        OSError: the file cannot be read.
        DiagnosticError: the text is not valid; names the place.
        InputError: there is no function to start at, or the text is no MLIR.
    """
    return graphs_of(read_subject(path).program)


def graphs_of(program: Program) -> tuple[LayeredGraph, ...]:
    """The graphs of a program: its entry, the functions that it calls, and its reverse derivative.

    A program that is a derivative, such as a dump of one, is shown as it is. Of one that has no derivative, the graph of the program says why.
    """
    entry = entry_function(program.module, program.entry)
    if is_derived(entry):
        return _derivative(program, None) if is_reverse_derivative(program) else (layered(entry, "derivative", program.name),)
    problem = ""
    derivative: tuple[LayeredGraph, ...] = ()
    try:
        derivative = _derivative(program.vjp(), program)
    except (DiagnosticError, InputError) as error:
        problem = str(error).strip().splitlines()[0]
    others = [f for name, f in functions(program.module).items() if name != program.entry and f.body.blocks]
    primal = layered(entry, PRIMAL, program.name, facts={"no reverse derivative": problem} if problem else {})
    return (primal, *derivative, *(layered(f, f"@{f.sym_name.data}", program.name) for f in others))


def _derivative(derivative: Program, primal: Program | None) -> tuple[LayeredGraph, ...]:
    try:
        parts = parts_of(derivative, primal)
    except InputError:  # kernels have no forward and reverse part
        return (layered(entry_function(derivative.module, derivative.entry), DERIVATIVE, derivative.name),)
    lines = stretches_of(entry_function(primal.module, primal.entry).body.block.ops) if primal is not None else None
    return (layered(parts.function, DERIVATIVE, derivative.name, Residuals(parts).kept, derivative.signature, lines),)
