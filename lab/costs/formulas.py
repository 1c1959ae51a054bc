"""The costs of a program and its derivatives as polynomials: in open extents, iterations of loops, and branches taken.

A program that leaves extents open, or a family of programs, is differentiated at a few sizes; what differs between these instances are polynomials in the sizes
(:mod:`wengert.transforms.analysis.symbolic.instances`). The costs of derivatives follow as exactly as those of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.costs.rows import check_symbols, figure
from wengert.lab.draw.escaping import markup
from wengert.runtime.derived.positions import Positions
from wengert.runtime.dynamic_program import DynamicProgram
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import ProgramCost, program_cost
from wengert.transforms.analysis.symbolic.extents import STATIC, Extents
from wengert.transforms.analysis.symbolic.instances import InstanceExtents, Point, sample_points
from wengert.transforms.analysis.symbolic.integers import is_total
from wengert.transforms.analysis.symbolic.polynomial import Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

FIGURES = ("flops", "transcendentals", "bytes_read", "bytes_written")
_NAME = re.compile(r"[a-wyz][a-wyz0-9_]*|\d+")

Shape = tuple[str, ...]
"""Extents: names or numbers."""


@dataclass(frozen=True)
class Formulas:
    """The costs of a program and its derivatives.

    Attributes:
        program: its name.
        rows: costs by ``primal``, ``forward``, ``reverse``, and the names of other strategies.
        symbols: what each symbol stands for.
        values: those that were put in.
    """

    program: str
    rows: dict[str, ProgramCost]
    symbols: dict[str, str]
    values: dict[str, Number] = field(default_factory=dict[str, Number])

    def at(self, values: Mapping[str, Number]) -> Formulas:
        """The same with values for some symbols; an InputError for a name that is none."""
        check_symbols(values, self.symbols)
        return replace(self, rows={name: cost.at(values) for name, cost in self.rows.items()}, values={**self.values, **values})

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds; polynomials as text."""
        rows = {
            name: {"ops": {op: figure(times) for op, times in sorted(cost.ops.items())}, **{part: figure(value) for part, value in _figures(cost)}}
            for name, cost in self.rows.items()
        }
        return {"program": self.program, "symbols": self.symbols, "values": self.values, "rows": rows}

    def _repr_html_(self) -> str:
        return f"<pre>{markup(str(self))}</pre>"

    def __str__(self) -> str:
        lines = [f"costs of {self.program}"]
        for name, meaning in self.symbols.items():
            lines.append(f"  {meaning}" + (f" = {self.values[name]}" if name in self.values else ""))
        for name, cost in self.rows.items():
            parts = [[part.replace("_", " "), str(value)] for part, value in _figures(cost)]
            parts += [[f"  {op}", str(times)] for op, times in sorted(cost.ops.items(), key=lambda item: item[0])]
            lines += ["", *_left(name, parts)]
        return "\n".join(lines)


def _figures(cost: ProgramCost) -> list[tuple[str, Polynomial]]:
    return [*[(name, getattr(cost, name)) for name in FIGURES], ("bytes", cost.bytes), ("op_count", cost.count)]


def _left(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Two columns, both to the left."""
    width = max(len(row[0]) for row in rows)
    return [title, *[f"  {row[0]:{width}}  {row[1]}" for row in rows]]


@dataclass(frozen=True)
class _Asked:
    """The derivatives that are asked for."""

    wrt: Positions
    of: Positions
    strategies: tuple[str, ...]

    def derived(self, program: Program) -> dict[str, Program]:
        """The program and its derivatives."""
        wrt, of = program.resolve(wrt=self.wrt, of=self.of)
        rows = {"primal": program, "forward": program.jvp(wrt, of), "reverse": program.vjp(wrt, of)}
        return rows | {strategy: program.vjp(wrt, of, strategy=strategy) for strategy in self.strategies if strategy != "transpose"}


def formulas(program: Program, wrt: Positions = None, of: Positions = None, strategies: Sequence[str] = ()) -> Formulas:
    """The costs of a static program and its derivatives, as polynomials in iterations and branches taken.

    Args:
        program: the program.
        wrt: arguments to differentiate by; every float or complex one by default.
        of: results to differentiate; every float or complex one by default.
        strategies: strategies, by name, whose reverse derivatives are shown beside that of ``transpose``.
    """
    return _of_instances([program], [{}], _Asked(wrt, of, tuple(strategies)))


def formulas_of_instances(
    make: Callable[[Point], Program], names: Sequence[str], wrt: Positions = None, of: Positions = None, strategies: Sequence[str] = ()
) -> Formulas:
    """The costs of a family of programs, as polynomials in sizes.

    Args:
        make: the program for given sizes.
        names: the names of the sizes: lower-case letters.
        wrt: arguments to differentiate by; every float or complex one by default.
        of: results to differentiate; every float or complex one by default.
        strategies: strategies, by name, whose reverse derivatives are shown beside that of ``transpose``.

    Raises:
        DiagnosticError: the program is not of the same form for the sizes that are tried.
    """
    problem: DiagnosticError | None = None
    for scale in (1, 16):  # a size may have to be a multiple of some number
        points = sample_points(names, scale)
        try:
            made = formulas_of_points([make(point) for point in points], points, wrt, of, strategies)
            return made if scale == 1 else replace(made, symbols={**made.symbols, **{name: f"{name}: a size, a multiple of {scale}" for name in names}})
        except DiagnosticError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def formulas_of_points(
    programs: Sequence[Program], points: Sequence[Point], wrt: Positions = None, of: Positions = None, strategies: Sequence[str] = ()
) -> Formulas:
    """The costs of a family of programs from instances at these sizes.

    Raises:
        InputError: sizes have no names, or not the same ones.
        DiagnosticError: the instances differ in more than numbers, or are too few to tell.
    """
    names = list(points[0])
    if not names or any(set(point) != set(names) for point in points):
        raise InputError("every instance needs values for the same sizes, as in n=16,d=4")
    for name in names:
        if is_total(name) or not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name of a size: they are lower-case letters without x, and digits")
    return _of_instances(programs, points, _Asked(wrt, of, tuple(strategies)))


def _of_instances(programs: Sequence[Program], points: Sequence[Point], asked: _Asked) -> Formulas:
    unknowns = Unknowns()
    derived = [asked.derived(program) for program in programs]
    rows: dict[str, ProgramCost] = {}
    for name in derived[0]:
        modules = [family[name].counted_module for family in derived]
        extents: Extents = InstanceExtents(modules, points) if points[0] else STATIC
        rows[name] = program_cost(modules[0], extents=extents, unknowns=unknowns)
    sizes = {name: f"{name}: a size" for name in points[0]}
    used = {symbol.name: str(symbol) for cost in rows.values() for symbol in cost.unknown}
    return Formulas(programs[0].name, rows, {**sizes, **used})


# -- programs that leave extents open


def formulas_of_shapes(program: Program, shapes: str | None = None, wrt: Positions = None, of: Positions = None, strategies: Sequence[str] = ()) -> Formulas:
    """The costs of a program that leaves extents open, as polynomials in them.

    Args:
        program: the program.
        shapes: the shapes of its arguments with names for extents, ``nxd,dxd``; without it, each open extent has a name of its own, or
            all have one where the program is refused otherwise.
        wrt: arguments to differentiate by; every float or complex one by default.
        of: results to differentiate; every float or complex one by default.
        strategies: strategies, by name, whose reverse derivatives are shown beside that of ``transpose``.
    """
    asked = _Asked(wrt, of, tuple(strategies))
    if shapes is not None:
        return _of_shapes(program, [_read(part) for part in shapes.split(",")], asked)
    try:
        return _of_shapes(program, _named(program, one=False), asked)
    except DiagnosticError:
        return _of_shapes(program, _named(program, one=True), asked)


def _of_shapes(program: Program, shapes: Sequence[Shape | None], asked: _Asked) -> Formulas:
    names = list(dict.fromkeys(extent for shape in shapes for extent in shape or () if not extent.isdecimal()))
    if not names:
        return formulas(program.specialize(*[None if shape is None else tuple(map(int, shape)) for shape in shapes]), asked.wrt, asked.of, asked.strategies)

    def make(point: Point) -> Program:
        return program.specialize(*[None if shape is None else tuple([point.get(e) or int(e) for e in shape]) for shape in shapes])

    made = formulas_of_instances(make, names, asked.wrt, asked.of, asked.strategies)
    return replace(made, symbols={**made.symbols, **{name: made.symbols[name].replace("a size", _places(name, shapes)) for name in names}})


def _places(name: str, shapes: Sequence[Shape | None]) -> str:
    places = [f"{d} of argument {i}" for i, shape in enumerate(shapes) for d, extent in enumerate(shape or ()) if extent == name]
    return f"extent {', '.join(places)}"


def _read(text: str) -> Shape | None:
    text = text.strip()
    if text == "keep":
        return None
    parts = tuple(text.split("x")) if text else ()
    if any(_NAME.fullmatch(part) is None for part in parts):
        raise InputError(f"{text!r} is no shape: extents are numbers or names without x, as in nxd, and 'keep' stands for what the type says")
    return parts


def _named(program: Program, *, one: bool) -> list[Shape | None]:
    """The shapes of the arguments, with a name for each open extent, or one for all."""
    if not isinstance(program, DynamicProgram):
        raise InputError(f"{program.name} leaves no extent open")
    count = 0
    shapes: list[Shape | None] = []
    for parameter in program.signature.arguments:
        if parameter.is_static:
            shapes.append(None)
            continue
        extents: list[str] = []
        for extent in parameter.shape:
            extents.append(str(extent) if extent >= 0 else "n" if one else f"n{count}")
            count += extent < 0
        shapes.append(tuple(extents))
    return shapes
