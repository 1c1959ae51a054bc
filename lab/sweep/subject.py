"""The subject of a sweep: a Python function, or a program that leaves extents open, at given sizes.

``model.py:layer`` and ``package.module:layer``
    a function that is called with the sizes, ``layer(n=64)``, and returns a program, a function with its arguments, ``(f, (x, w))``, or StableHLO text;
    with ``--shapes nxd,d`` a function of arrays of these shapes
``p.mlir``
    a program; sizes are its open extents: all of them, if there is one size, else those that ``--shapes nxd,d`` names
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.records.work import Array, Point
from wengert.lab.sweep.axes import Axis, Sizes
from wengert.runtime.dynamic_program import DynamicProgram
from wengert.runtime.errors import InputError
from wengert.runtime.loading import load, parse
from wengert.runtime.program import Program


@dataclass(frozen=True)
class Subject:
    """The subject of a sweep.

    Attributes:
        text: as the command line names it.
        shapes: the shapes of the arguments, with names of sizes for extents; empty for none.
        dtype: the type of the elements of arguments with such shapes, for Python functions.
        entry: the function that a file of text starts at.
    """

    text: str
    shapes: str = ""
    dtype: str = "float64"
    entry: str = "main"

    @property
    def is_text(self) -> bool:
        """Whether it is a file of StableHLO text."""
        return self.text.endswith(".mlir")

    @property
    def label(self) -> str:
        """Its name for people."""
        return Path(self.text).stem if self.is_text else self.text.rpartition(":")[2]

    def check(self, axes: Sequence[Axis]) -> None:
        """Raises InputError where there is no such function or file, or it has no use for a size."""
        names = [axis.name for axis in axes]
        if self.is_text:
            self._check_text(axes)
        elif self.shapes:
            unknown = [name for name in names if name not in self._extents and name not in _parameters(self.function())]
            self._refuse_names(unknown, [*self._extents, *_parameters(self.function())])
        else:
            known = inspect.signature(self.function()).parameters
            if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
                self._refuse_names([name for name in names if name not in known], list(known), " (or --shapes, if it is a function of arrays)")
            missing = [n for n, p in known.items() if p.default is p.empty and n not in names and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            if missing:
                raise InputError(
                    f"{self.text} takes {', '.join(known)}: give {missing[0]} too, as in --over {missing[0]}=2..64 (or --shapes for a function of arrays)"
                )

    def _check_text(self, axes: Sequence[Axis]) -> None:
        program = load(self.text, entry=self.entry)
        if any(not axis.is_size for axis in axes):
            word = next(axis.name for axis in axes if not axis.is_size)
            raise InputError(f"{word}: the extents of {self.text} are numbers")
        is_open = isinstance(program, DynamicProgram) and not program.is_closed
        if axes and not is_open:
            raise InputError(f"{self.text} leaves no extent open, so there is nothing that {axes[0].name} could be")
        if is_open and not axes:
            raise InputError(f"{self.text} leaves extents open: give their values, as in --over n=2..4096")
        if self.shapes:
            self._refuse_names([axis.name for axis in axes if axis.name not in self._extents], self._extents)
        elif len(axes) > 1:
            raise InputError(f"say which extents of {self.text} {' and '.join(axis.name for axis in axes)} are, as in --shapes nxd,d")

    def _refuse_names(self, unknown: Sequence[str], known: Sequence[str], hint: str = "") -> None:
        if unknown:
            listed = did_you_mean(unknown[0], known) or (f"there are: {', '.join(known)}" if known else "it has none")
            raise InputError(f"{self.text} has no size {unknown[0]!r}; {listed}{hint}")

    @property
    def _extents(self) -> list[str]:
        """The names in the shapes."""
        parts = [extent for shape in self.shapes.split(",") for extent in shape.strip().split("x")]
        return list(dict.fromkeys(extent for extent in parts if extent and not extent.isdecimal() and extent != "keep"))

    # -- at given sizes

    def at(self, sizes: Sizes) -> Point:
        """The program for these sizes. Raises InputError where what comes back is no program, and what the function or the program raises."""
        if self.is_text:
            return self._of_text(sizes)
        function = self.function()
        if self.shapes:
            return self._of_arrays(function, sizes)
        made = function(**sizes)
        program, given = _program_of(made, self.text, sizes)
        return Point(self.label, _static(program, self.text), dict(sizes), given)

    def _of_text(self, sizes: Sizes) -> Point:
        program = load(self.text, entry=self.entry)
        if isinstance(program, DynamicProgram):
            program = program.specialize(*self._shapes_of_text(program, sizes))
        return Point(self.label, program, dict(sizes))

    def _shapes_of_text(self, program: Program, sizes: Sizes) -> list[tuple[int, ...] | None]:
        if self.shapes:
            return [None if shape is None else tuple(shape) for shape in self._read_shapes(sizes)]
        size = next(iter(sizes.values()), 0)
        parameters = program.signature.arguments
        return [None if p.is_static else tuple(int(size) if extent < 0 else extent for extent in p.shape) for p in parameters]

    def _of_arrays(self, function: Callable[..., Any], sizes: Sizes) -> Point:
        import wengert as wg

        shapes = self._read_shapes(sizes)
        if any(shape is None for shape in shapes):
            raise InputError("--shapes: 'keep' is for arguments of a text, whose types say their shapes")
        specs = [wg.ArraySpec(shape, self.dtype) for shape in shapes]
        static = {name: value for name, value in sizes.items() if name not in self._extents}
        traced = wg.jit(function, static_argnames=tuple(static)) if static else wg.jit(function)
        return Point(self.label, traced.program(*specs, **static), dict(sizes))

    def _read_shapes(self, sizes: Sizes) -> list[list[int] | None]:
        shapes: list[list[int] | None] = []
        for text in self.shapes.split(","):
            text = text.strip()
            parts = text.split("x") if text else []
            unknown = [part for part in parts if not part.isdecimal() and part not in sizes]
            if unknown and text != "keep":
                raise InputError(f"--shapes: no value for {unknown[0]!r}: give it, as in --over {unknown[0]}=2..64")
            shapes.append(None if text == "keep" else [int(part) if part.isdecimal() else int(sizes[part]) for part in parts])
        return shapes

    # -- the function

    def function(self) -> Callable[..., Any]:
        """The Python function. Raises InputError where there is none."""
        where, colon, name = self.text.rpartition(":")
        if not colon or not where or not name:
            raise InputError(f"expected FILE.mlir, FILE.py:function or module:function, found {self.text!r}")
        module = _file_module(Path(where)) if where.endswith(".py") else _named_module(where)
        target: Any = module
        for part in name.split("."):
            if not hasattr(target, part):
                callables = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
                raise InputError(f"{where} has no function {name!r}; {did_you_mean(name, callables) or 'there are: ' + ', '.join(callables)}")
            target = getattr(target, part)
        if not callable(target):
            raise InputError(f"{self.text} is no function")
        return target


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _file_module(path: Path) -> ModuleType:
    """The module that a file holds, run once; its folder is on the search path, for what lies beside it."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    name = f"wengert_sweep_{path.resolve().as_posix().replace('/', '_').replace('.', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    if str(path.resolve().parent) not in sys.path:
        sys.path.append(str(path.resolve().parent))
    spec = spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise InputError(f"{path} cannot be imported: {described(error)}") from error
        raise
    return module


def _named_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"there is no module {name!r} (a file ends in .py)") from None
        raise InputError(f"{name} cannot be imported: {described(error)}") from error
    except Exception as error:
        raise InputError(f"{name} cannot be imported: {described(error)}") from error


def described(error: Exception) -> str:
    """An exception of the user's code, with the line that raised it."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parents[2])
    theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"


# -- what a function returns


def _program_of(made: Any, text: str, sizes: Sizes) -> tuple[Program, tuple[Array, ...]]:
    """The program that a function's result is, and the inputs that came with it."""
    from wengert.frontends.transforms.jit import Traceable, jit

    program = getattr(made, "program", None)
    if isinstance(made, Program) or (isinstance(program, Program) and not isinstance(made, Traceable)):
        return (made if isinstance(made, Program) else program), ()  # pyright: ignore[reportReturnType]
    if isinstance(made, str):
        return parse(made, text), ()
    pair: tuple[Any, ...] = cast("tuple[Any, ...]", made) if isinstance(made, tuple) else ()
    if len(pair) == 2 and callable(pair[0]):
        function = pair[0]
        args: tuple[Any, ...] = tuple(cast("Sequence[Any]", pair[1])) if isinstance(pair[1], tuple | list) else (pair[1],)
        traced = function if isinstance(function, Traceable) else jit(function)
        return traced.program(*args), _given(args)
    called = f"{text}({', '.join(f'{name}={value!r}' for name, value in sizes.items())})"
    raise InputError(f"{called} returned {_kind(cast(object, made))}; expected a program, a function with its arguments as in (f, (x, w)), or StableHLO text")


def _kind(value: object) -> str:
    return type(value).__name__


def _given(args: tuple[Any, ...]) -> tuple[Array, ...]:
    """The arrays among arguments, up to the first one that has no elements."""
    from wengert.frontends.pytrees import flatten
    from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of

    given: list[Array] = []
    for leaf in flatten((args, dict[str, Any]()))[0]:
        if isinstance(leaf, ArraySpec):
            break
        if is_array_leaf(leaf):
            given.append(np.asarray(leaf, spec_of(leaf).dtype))
    return tuple(given)


def _static(program: Program, text: str) -> Program:
    if isinstance(program, DynamicProgram) and not program.is_closed:
        raise InputError(f"{text} returned a program that leaves extents open: specialize(...) it for the sizes")
    return program.specialize() if isinstance(program, DynamicProgram) else program
