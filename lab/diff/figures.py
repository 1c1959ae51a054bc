"""Figures of the ops of a program: flops, bytes kept for the reverse part, bytes of the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.facts import MissingFactsError
from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.diagnostics import DiagnosticError
from wengert.transforms.analysis.kept import kept_by
from wengert.transforms.analysis.opcost import is_executed, work
from wengert.transforms.analysis.peak import live_at_peak
from wengert.transforms.analysis.symbolic.executions import Executions, executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.shapes.dynamism import is_dynamic


@dataclass(frozen=True)
class Weights:
    """The weight of each op of a program; what is missing weighs nothing.

    Attributes:
        flops: of all executions of an op; a polynomial where only a run tells how often it is executed.
        kept: bytes of an op's results that the reverse part reads, for ops of the forward part.
        peak: bytes of what an op makes (or an argument is) that are live where the program takes the most.
        symbols: what the symbols in flops stand for: how often this region (by its number) of an op is run.
        known: whether the level is one at which these are counted.
    """

    flops: dict[object, Polynomial] = field(default_factory=dict[object, Polynomial])
    kept: dict[object, int] = field(default_factory=dict[object, int])
    peak: dict[object, int] = field(default_factory=dict[object, int])
    symbols: dict[str, tuple[object, int]] = field(default_factory=dict[str, "tuple[object, int]"])
    known: bool = True

    def renamed(self, counterparts: Mapping[object, object], other: Weights) -> Weights:
        """The same with the symbols of another program for what its counterparts do there."""
        theirs = {region: name for name, region in other.symbols.items()}
        names = {name: theirs.get((counterparts.get(op), number), name) for name, (op, number) in self.symbols.items()}
        changed = {name: Polynomial.symbol(new) for name, new in names.items() if new != name}
        return replace(self, flops={op: flops.at(changed) for op, flops in self.flops.items()}) if changed else self

    @property
    def total_flops(self) -> Polynomial:
        """The flops of the program."""
        return sum(self.flops.values(), ZERO)


UNKNOWN = Weights(known=False)


def weights(module: ModuleOp, entry: str, unknowns: Unknowns) -> Weights:
    """The weights of the ops of a static program on tensors; :data:`UNKNOWN` for what is beyond that (buffers, kernels of devices, open extents).

    Args:
        module: the IR.
        entry: the function that is run.
        unknowns: the symbols of the program that it is compared with.
    """
    function = _entry(module, entry)
    if function is None or is_dynamic(module) or is_bufferized(function):
        return UNKNOWN
    try:
        runs = executions(module, entry, STATIC, unknowns)
        flops = {op: times * int(work(op)[0]) for block, times in runs.blocks for op in block.ops if is_executed(op)}
        live = live_at_peak(module, entry)
    except (MissingFactsError, DiagnosticError, KeyError, TypeError, AttributeError, ValueError):
        return UNKNOWN
    peak: dict[object, int] = {}
    for value, size in live:
        peak[_maker(value)] = peak.get(_maker(value), 0) + size
    return Weights({op: number for op, number in flops.items() if number != 0}, {**kept_by(function)}, peak, _symbols(runs))


def _symbols(runs: Executions) -> dict[str, tuple[object, int]]:
    """The op and region that each symbol counts the runs of."""
    symbols: dict[str, tuple[object, int]] = {}
    for unknown, blocks in runs.unknown.items():
        region = blocks[-1].parent if blocks else None
        if region is not None and region.parent is not None:
            symbols[unknown.name] = (region.parent, region.parent.regions.index(region))
    return symbols


def _maker(value: SSAValue) -> object:
    return value.owner if isinstance(value.owner, Operation) else value


def _entry(module: ModuleOp, entry: str) -> FuncOp | None:
    return next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == entry and op.body.blocks), None)
