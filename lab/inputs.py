"""Inputs for a program: read from an .npz file, or drawn at random."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.lab.archives import Archive, ArchiveError, opened
from wengert.runtime.arguments import as_argument
from wengert.runtime.errors import InputError
from wengert.runtime.loading import read_text
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter, Signature

Array = np.ndarray[Any, np.dtype[Any]]
_KEY = re.compile(r"(?:in|arg|arr|x)_?(\d{1,9})", re.ASCII)


Shapes = Sequence[Sequence[int] | None]


def shaped(program: Program, inputs: Sequence[Any] | None = None, shapes: Shapes | None = None) -> Program:
    """The static program for these inputs, or for these shapes of its arguments; the program itself if it leaves nothing open."""
    if shapes is not None:
        return program.specialize(*shapes)
    return program.specialize() if inputs is None else program.specialized_for(inputs)


def read_inputs(path: str | os.PathLike[str], signature: Signature) -> list[Array]:
    """The inputs stored in an .npz file, in the order of the arguments.

    Keys are ``in_0``, ``arg0``, ``arr_0`` (what ``np.savez(f, a, b)`` writes) and so on, or the arguments' names. A
    program of one argument also takes an ``.npy`` file. Of a reproducer (``.mlir``) the inputs are read that stand in its comments.
    """
    name = os.fspath(path)
    if name.endswith(".mlir"):
        return _of_program(name, signature)
    try:
        with opened(name) as archive:
            return [_find(archive, parameter, name) for parameter in signature.arguments]
    except ArchiveError as error:
        raise InputError(f"cannot read inputs from {name}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read inputs from {name}: {error.strerror or error}") from None


def read_point(path: str | os.PathLike[str], signature: Signature) -> tuple[list[Array], list[str]]:
    """The same for a derivative at the inputs of its program: tangents and cotangents that are not stored are ones. Also the names of these."""
    name = os.fspath(path)
    if name.endswith((".mlir", ".npy")):
        return read_inputs(path, signature), []
    try:
        with opened(name) as archive:
            keys = set(archive.keys)
    except (ArchiveError, OSError):
        return read_inputs(path, signature), []  # which says what is wrong
    given = {parameter.position for parameter in signature.arguments if any(k == parameter.name or key_position(k) == parameter.position for k in keys)}
    seeds = [p for p in signature.arguments if p.position not in given and (p.name or "").startswith(("tangent of ", "cotangent of ")) and p.is_static]
    ones = {p.position: np.ones(p.shape, p.dtype) for p in seeds}
    with opened(name) as archive:
        arrays = [ones[p.position] if p.position in ones else _read(archive, p, name) for p in signature.arguments]
    return arrays, [p.name or p.label for p in seeds]


def _read(archive: Archive, parameter: Parameter, name: str) -> Array:
    try:
        return _find(archive, parameter, name)
    except ArchiveError as error:
        raise InputError(f"cannot read inputs from {name}: {error}") from None


def _of_program(name: str, signature: Signature) -> list[Array]:
    """The inputs in the comments of a program."""
    from wengert.lab.reduce.annotated import read_annotated

    try:
        return read_annotated(read_text(name), signature)
    except ValueError as error:
        raise InputError(f"cannot read inputs from {name}: {error}") from None


def _find(archive: Archive, parameter: Parameter, path: str) -> Array:
    for key in archive.keys:
        if key == parameter.name or key_position(key) == parameter.position:
            header = archive.header(key)
            if header.shape != parameter.shape and parameter.is_static:
                return as_argument(parameter, header.empty())  # which says what is wrong, and nothing is read
            try:
                return as_argument(parameter, archive.array(key))
            except MemoryError:
                raise ArchiveError(f"there is not enough memory for '{key}'") from None
    keys = ", ".join(sorted(archive.keys)[:20]) or "no arrays"
    raise InputError(f"{path} has no array for {parameter}; expected the key in_{parameter.position}, found {keys}")


def key_position(key: str) -> int | None:
    """The position of the argument that a key such as ``in_0`` names; None for another key."""
    match = _KEY.fullmatch(key)
    return int(match[1]) if match else None


def random_inputs(signature: Signature, seed: int) -> list[Array]:
    """Inputs drawn with a seed: standard normal floats, integers in [0, 4), fair booleans."""
    generator = np.random.default_rng(seed)
    return [random_like(parameter, generator) for parameter in signature.arguments]


def random_like(parameter: Parameter, generator: np.random.Generator) -> Array:
    """One random array of a parameter's type."""
    if not parameter.is_static:
        raise InputError(f"{parameter}: cannot draw a value for a dynamic shape; pass inputs instead")
    try:
        return _drawn(parameter.shape, parameter.dtype, generator)
    except (MemoryError, ValueError) as error:  # NumPy's for what no address reaches
        raise InputError(f"{parameter}: there is not enough memory to draw a value: {error}") from None


def _drawn(shape: tuple[int, ...], dtype: np.dtype[Any], generator: np.random.Generator) -> Array:
    if dtype.kind == "c":
        return np.asarray(generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    if dtype.kind in "iu":
        return np.asarray(generator.integers(0, 4, shape)).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)
