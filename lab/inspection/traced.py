"""Programs of Python functions: ``module:function`` or ``file.py:function``, with the types of its arguments."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.plugins import PluginNotFoundError, load_plugin
from wengert.lab.archives import ArchiveError, opened
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.shapes.argument_shapes import Shape, read_shape

NAMED = re.compile(r"(?P<module>[^:]+):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
"""A function of a module, or of a file of Python."""
_ELEMENT = re.compile(r"(?:(?P<shape>\d+(?:x\d+)*)x)?(?P<element>[a-z]\w*)")
_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
_COMPLEX = {"c64": "complex64", "c128": "complex128"}


@dataclass(frozen=True)
class ArgumentType:
    """The type of an argument as an option says it: ``2x3xf32``, or ``2x3`` alone.

    Attributes:
        shape: the extents; None for ``keep``, what the argument's own type says.
        dtype: the name of a NumPy dtype; empty where only the shape is given.
    """

    shape: Shape | None
    dtype: str = ""


def read_argument_type(text: str) -> ArgumentType:
    """``2x3xf32``, ``f64`` (a scalar), ``2x3`` or ``keep``. Raises DiagnosticError for any other text."""
    match = _ELEMENT.fullmatch(text.strip())
    if match is not None and (dtype := (_DTYPES | _COMPLEX).get(match["element"])) is not None:
        return ArgumentType(read_shape(match["shape"] or ""), dtype)
    return ArgumentType(read_shape(text))


def traced_program(source: str, types: Sequence[ArgumentType] | None = None, inputs: str | None = None) -> Program:
    """The program of a Python function, traced for arguments of these types.

    Args:
        source: ``package.module:function`` or ``file.py:function``; also the name of a :class:`wengert.Program` that the module holds.
        types: the type of each argument; float64 where only a shape is given.
        inputs: an ``.npz`` file of example arguments, in place of types: ``in_0``, ``in_1`` and so on, or the parameters' names.

    Raises:
        InputError: there is no such function, or its arguments' types are not given.
        PluginError: the module raises an exception.
    """
    match = NAMED.fullmatch(source)
    if match is None:
        raise InputError(f"{source!r} names no function: write package.module:function or file.py:function")
    try:
        plugin = load_plugin(match["module"])
    except PluginNotFoundError as error:
        raise InputError(f"{source}: {error}") from None
    thing: Any = sys.modules[plugin.module]
    for part in match["name"].split("."):
        if not hasattr(thing, part):
            near = did_you_mean(part, [name for name in dir(thing) if not name.startswith("_")])
            raise InputError(f"{match['module']} has no {match['name']!r}" + (f"; {near}" if near else ""))
        thing = getattr(thing, part)
    if isinstance(thing, Program):
        return thing
    if not callable(thing):
        raise InputError(f"{source} is of type {type(thing).__name__}, neither a function nor a wengert.Program")
    return _traced(source, thing, _arguments(source, thing, types, inputs))


def _arguments(source: str, function: Callable[..., Any], types: Sequence[ArgumentType] | None, inputs: str | None) -> list[Any]:
    """The arguments to trace a function for."""
    from wengert.frontends.tracing.signatures import ArraySpec

    if inputs is not None and types is None:
        return _examples(inputs, _parameters(function))
    if types is None:
        if not [p for p in _parameters(function) if p.default is p.empty]:
            return []
        raise InputError(f"{source} is traced for types of its arguments: give --shapes 2x3xf32,f64 (one for each), or --inputs FILE.npz")
    if any(type.shape is None for type in types):
        raise InputError(f"'keep' stands for the shape that a program's text says; for {source} every shape is given")
    return [ArraySpec(type.shape, type.dtype or "float64") for type in types]


def _traced(source: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Program:
    from wengert.frontends.transforms.jit import jit

    trace = getattr(function, "program", None)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InputError(f"{source} cannot be called with {len(arguments)} arguments: {error}") from None
    except ValueError:  # a function without a signature, such as one written in C
        pass
    program = (trace if callable(trace) else jit(function).program)(*arguments)
    assert isinstance(program, Program)
    program.name = source
    return program


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return [p for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        return []


def _examples(path: str, parameters: Sequence[inspect.Parameter]) -> list[np.ndarray[Any, np.dtype[Any]]]:
    """The arrays of a file in the order of the parameters that they are for."""
    from wengert.lab.inputs import key_position

    names = [p.name for p in parameters]
    try:
        with opened(path) as archive:
            places = {names.index(key) if key in names else key_position(key): key for key in archive.keys}
            if None in places or sorted(n for n in places if n is not None) != list(range(len(places))):
                raise InputError(f"{path} has the arrays {', '.join(archive.keys)}; expected in_0, in_1 and so on, or {', '.join(names) or 'no arrays'}")
            return [archive.array(places[n]) for n in range(len(places))]
    except ArchiveError as error:
        raise InputError(f"cannot read example arguments from {path}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read example arguments from {path}: {error.strerror or error}") from None
