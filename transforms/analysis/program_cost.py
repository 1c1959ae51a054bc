"""The costs of one run of a program: the costs of its ops, each as often as its block runs.

Costs are polynomials in what the text does not say: total iterations of loops that depend on data (``T0``), how often branches are taken (``B0_1``), and
sizes where the program stands for several (:mod:`wengert.transforms.analysis.symbolic`). With what a run of the interpreter measures
put in (:func:`measured`), they are exactly what it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.ir.location.places import describe
from wengert.transforms.analysis.liveness import peak_bytes
from wengert.transforms.analysis.opcost import is_executed, is_of_unknown_cost, moved, work
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC, Extents
from wengert.transforms.analysis.symbolic.integers import Extent
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknown, Unknowns
from wengert.transforms.shapes.dynamism import require_static


class ProgramCost(Struct, frozen=True):
    """Executed ops by name, and what they do.

    Attributes:
        ops: executions by op name; constants and terminators are not counted.
        flops, transcendentals, bytes_read, bytes_written: totals over all executions (``wengert.transforms.analysis.opcost``).
        peak_bytes: predicted peak of live bytes, without constants; 0 where sizes are not known.
        unknown: the symbols for what only a run tells, with the blocks that run so often.
        alternatives: the symbols for the branches of a case, with how often it is run.
        uncounted: the places of ops of which it is not known what they compute, so that the flops are a lower bound.
    """

    ops: dict[str, Polynomial]
    flops: Polynomial = ZERO
    transcendentals: Polynomial = ZERO
    bytes_read: Polynomial = ZERO
    bytes_written: Polynomial = ZERO
    peak_bytes: int = 0
    unknown: dict[Unknown, list[Block]] = field(default_factory=dict[Unknown, list[Block]])
    alternatives: dict[tuple[str, ...], Polynomial] = field(default_factory=dict[tuple[str, ...], Polynomial])
    uncounted: tuple[str, ...] = ()

    @property
    def count(self) -> Polynomial:
        """The number of executed ops."""
        return sum(self.ops.values(), ZERO)

    @property
    def bytes(self) -> Polynomial:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that some figure depends on."""
        figures = (*self.ops.values(), self.flops, self.transcendentals, self.bytes)
        return frozenset(name for figure in figures for name in figure.symbols)

    def at(self, values: Mapping[str, Polynomial | Number]) -> ProgramCost:
        """The costs with values for some symbols."""
        return ProgramCost(
            {name: known for name, times in self.ops.items() if (known := times.at(values)) != 0},
            self.flops.at(values),
            self.transcendentals.at(values),
            self.bytes_read.at(values),
            self.bytes_written.at(values),
            self.peak_bytes,
            {symbol: blocks for symbol, blocks in self.unknown.items() if symbol.name not in values},
            {symbols: times.at(values) for symbols, times in self.alternatives.items() if not set(symbols) & values.keys()},
            self.uncounted,
        )


def program_cost(module: ModuleOp, entry: str = "main", *, extents: Extents = STATIC, unknowns: Unknowns | None = None) -> ProgramCost:
    """The costs of one run of the entry function.

    Args:
        module: a module without open extents.
        entry: the function that is run.
        extents: where shapes and constants are read: as they are written, or as polynomials in sizes, of which the module is one instance.
        unknowns: the symbols of other programs to compare with; loops and branches that derive from theirs share them.
    """
    require_static(next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == entry), "counting costs")
    runs = executions(module, entry, extents, unknowns or Unknowns())
    total = _Total(extents)
    for block, times in runs.blocks:
        total.add(block, times)
    peak = peak_bytes(module, entry) if extents is STATIC else 0
    ops = {name: times for name, times in total.ops.items() if times != 0}
    flops, functions, read, written = total.figures
    return ProgramCost(ops, flops, functions, read, written, peak, runs.unknown, runs.alternatives, tuple(total.uncounted))


class _Total:
    """Adds up blocks."""

    def __init__(self, extents: Extents):
        self.extents = extents
        self.ops: dict[str, Polynomial] = {}
        self.figures = [ZERO] * 4
        self.uncounted: dict[str, None] = {}

    def add(self, block: Block, times: Polynomial) -> None:
        """Adds the ops of a block that runs so often, without those of regions in it."""
        names: dict[str, int] = {}
        once: list[Extent] = [0] * 4
        for op in block.ops:
            if not is_executed(op):
                continue
            names[op.name] = names.get(op.name, 0) + 1
            once = [a + b for a, b in zip(once, (*work(op, self.extents), *moved(op, self.extents)), strict=True)]
            if is_of_unknown_cost(op):
                self.uncounted[describe(op.location)] = None
        for name, count in names.items():
            self.ops[name] = self.ops.get(name, ZERO) + times * count
        self.figures = [total + times * figure for total, figure in zip(self.figures, once, strict=True)]


def measured(cost: ProgramCost, entered: Mapping[Block, int]) -> dict[str, int]:
    """The values of a program's symbols in a run of the interpreter that entered blocks so often (:class:`wengert.runtime.interpreter.Counter`).

    Raises:
        ValueError: loops or branches that share a symbol did not run equally often (a defect of how they are recognised).
    """
    values: dict[str, int] = {}
    for symbol, blocks in cost.unknown.items():
        counts = {entered.get(block, 0) for block in blocks}
        if len(counts) > 1:
            raise ValueError(f"{symbol}: blocks that are taken for one ran {', '.join(map(str, sorted(counts)))} times")
        values[symbol.name] = counts.pop()
    return values


def described(places: Iterable[str], limit: int = 3) -> str:
    """A few places in words."""
    listed = list(places)
    return ", ".join(listed[:limit]) + (f" and {len(listed) - limit} more" if len(listed) > limit else "")
