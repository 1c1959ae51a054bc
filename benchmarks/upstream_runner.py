"""Runs programs in upstream MLIR's dialects as functions of their inputs: outputs, tangents and cotangents.

What ``@main`` computes is said beside its text: which of its arguments are inputs, and which buffers are outputs (``meta["arguments"]``, ``meta["inputs"]``,
``meta["outputs"]``). A buffer that is only written has unspecified contents on entry; zeros are given for it, and it has no derivative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import wengert as wg
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
Meta = Mapping[str, Any]
_BUFFER = re.compile(r"contents of argument (\d+)")


@lru_cache(maxsize=256)
def _program(text: str, name: str) -> Program:
    return wg.parse(text, f"{name}.mlir")


def run(
    text: str,
    arrays: Sequence[Array],
    meta: Meta,
    *,
    wrt: Sequence[int] = (),
    of: Sequence[int] = (),
    tangents: Sequence[Array] | None = None,
    cotangents: Sequence[Array] | None = None,
) -> list[Array]:
    """The outputs of a program, tangents of the outputs ``of``, or cotangents of the inputs ``wrt``.

    Args:
        text: the module.
        arrays: the inputs.
        meta: what is said of the program.
        wrt: inputs that are differentiated.
        of: outputs that are differentiated.
        tangents: one for each of ``wrt``: forward mode.
        cotangents: one for each of ``of``: reverse mode.
    """
    program, arguments, positions = derived(text, arrays, meta, wrt=wrt, of=of, tangents=tangents, cotangents=cotangents)
    results = program(*arguments)
    return [_given(results[j]) for j in positions]


def derived(
    text: str,
    arrays: Sequence[Array],
    meta: Meta,
    *,
    wrt: Sequence[int] = (),
    of: Sequence[int] = (),
    tangents: Sequence[Array] | None = None,
    cotangents: Sequence[Array] | None = None,
) -> tuple[Program, list[Array], list[int]]:
    """The program that :func:`run` runs, what it is given, and which of its results are asked for."""
    base = _program(text, meta["name"])
    arguments = _arguments(base, arrays, meta)
    program = base.specialized_for(arguments)
    outputs = _outputs(program, meta)
    inputs = [entry["argument"] for entry in meta["inputs"]]
    if tangents is None and cotangents is None:
        return program, arguments, outputs
    chosen, asked = [inputs[i] for i in wrt], [outputs[j] for j in of]
    if tangents is not None:
        made = program.jvp(wrt=chosen, of=asked)
        given = [*arguments, *_as(program.signature.arguments, chosen, tangents)]
    else:
        made = program.vjp(wrt=chosen, of=asked)
        given = [*arguments, *_as(program.signature.results, asked, cotangents or ())]
    return made, given, list(range(len(program.signature.results), len(made.signature.results)))


def _arguments(program: Program, arrays: Sequence[Array], meta: Meta) -> list[Array]:
    """One array for each argument of ``@main``."""
    parameters: Any = program.signature.arguments
    given: list[Array] = [arrays[a["input"]] if a["input"] is not None else np.zeros(a["shape"], np.float64) for a in meta["arguments"]]
    return [np.asarray(value).astype(parameter.dtype) for parameter, value in zip(parameters, given, strict=True)]


def _as(parameters: Any, positions: Sequence[int], values: Sequence[Array]) -> list[Array]:
    """The values in the types of parameters."""
    return [np.asarray(value).astype(parameters[i].dtype) for i, value in zip(positions, values, strict=True)]


def _outputs(program: Program, meta: Meta) -> list[int]:
    """The result of the program that each output is: a result of ``@main``, or the final contents of a buffer, which its name says."""
    buffers = {int(match[1]): p.position for p in program.signature.results if (match := _BUFFER.match(p.name or ""))}
    return [index if source == "result" else buffers[index] for source, index in (entry["from"] for entry in meta["outputs"])]


def _given(value: Array) -> Array:
    """Numbers of 16 bits as 32-bit ones, which is how they are compared."""
    return value.astype(np.float32) if value.dtype.itemsize == 2 and value.dtype.kind not in "iub" else value
