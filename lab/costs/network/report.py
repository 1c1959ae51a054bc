"""The report of ``wengert costs --ranks``: what each collective of a program and of its reverse derivative costs on a network, and how both scale.

The text says what one device of a few does. On p ranks groups are as large a part of all ranks: a group of all devices has p ranks, and the axes of a mesh
grow alike. *Weak* scaling keeps the blocks of a device, and its computation. *Strong* scaling keeps whole tensors: computation is divided among more ranks,
and so are the operands of ``all_gather``, ``all_to_all`` and ``collective_permute``, which are blocks; those of sums and broadcasts are whole values and
stay. Times of computation are those of the machine model; nothing overlaps. All of it is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.process_groups import Grid, is_collective
from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.tensor_types import type_of
from wengert.ir.traversal import all_ops
from wengert.lab.costs.network.network import Network
from wengert.lab.costs.time_model import predicted_time
from wengert.lab.tables import seconds, size, table
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.communication import Collective, collectives_of
from wengert.transforms.rewriter import Rewriter

_BLOCKS = ("all_gather", "all_to_all", "collective_permute")
"""Collectives whose operands are blocks of whole values."""
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""The numbers of ranks that scaling is shown for."""


class Part(Struct, frozen=True):
    """The forward or the reverse program of one device.

    Attributes:
        name: ``forward`` or ``reverse``.
        collectives: what it exchanges.
        seconds: the time of its computation alone, on a grid of so many devices.
    """

    name: str
    collectives: tuple[Collective, ...]
    seconds: float | None


class Line(Struct, frozen=True):
    """One collective on so many ranks: ``seconds`` for all its runs."""

    part: str
    collective: Collective
    times: int
    ranks: int
    bytes: int
    algorithm: str
    rounds: int
    sent: float
    seconds: float


class Point(Struct, frozen=True):
    """A part on so many ranks."""

    ranks: int
    compute: float
    communicate: float
    dominant: str

    @property
    def seconds(self) -> float:
        """Computation and communication, one after the other."""
        return self.compute + self.communicate


class CommunicationReport(Struct, frozen=True):
    """The messages of a program on a network, and how they scale."""

    name: str
    devices: int
    ranks: int
    network: Network
    parts: tuple[Part, ...]

    def lines(self) -> list[Line]:
        """Every collective on these ranks, with the algorithm that takes the least time."""
        return [line for part in self.parts for line in self._lines(part, self.ranks, strong=False)]

    def _lines(self, part: Part, ranks: int, *, strong: bool) -> list[Line]:
        return [line for c in part.collectives if (line := self._line(part, c, ranks, strong)) is not None]

    def _line(self, part: Part, c: Collective, ranks: int, strong: bool) -> Line | None:
        group = self.group_on(c, ranks)
        if group < 2:
            return None
        per_rank = c.bytes * self.devices / ranks if strong and c.name in _BLOCKS else c.bytes
        plan = self.network.plan(c.name, group, per_rank, group if c.neighbours else ranks)
        times = c.times.constant
        runs = 1 if times is None else int(times)
        return Line(part.name, c, runs, group, int(per_rank), plan.algorithm, plan.rounds, plan.sent, runs * plan.seconds)

    def group_on(self, c: Collective, ranks: int) -> int:
        """The size of a collective's groups on so many ranks."""
        if c.name == "collective_permute":
            return min(2, ranks)
        if c.group in (1, self.devices) or self.devices == 1:
            return ranks if c.group == self.devices else 1
        return ceil(ranks ** (log(c.group) / log(self.devices)) - 1e-9)

    def scaling(self, part: Part, *, strong: bool, ranks: Sequence[int] = RANKS) -> list[Point]:
        """A part on 1, 2, 4, ... ranks."""
        points = list[Point]()
        for p in ranks:
            lines = self._lines(part, p, strong=strong)
            worst = max(lines, key=lambda line: line.seconds, default=None)
            compute = (part.seconds or 0.0) * (self.devices / p if strong else 1.0)
            points.append(
                Point(p, compute, sum(line.seconds for line in lines), "" if worst is None else f"{worst.collective.name} at {_short(worst.collective.place)}")
            )
        return points

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {
            "program": self.name,
            "devices": self.devices,
            "ranks": self.ranks,
            "alpha": self.network.levels[-1].alpha,
            "beta": self.network.levels[-1].beta,
            "network": {
                "origin": self.network.origin,
                "levels": [{"name": level.name, "ranks": level.ranks, "alpha": level.alpha, "beta": level.beta} for level in self.network.levels],
            },
            "collectives": [
                {
                    "part": line.part,
                    "what": line.collective.what,
                    "place": line.collective.place,
                    "times": str(line.collective.times),
                    "group": line.ranks,
                    "bytes": line.bytes,
                    "algorithm": line.algorithm,
                    "rounds": line.rounds,
                    "sent_bytes": line.sent,
                    "seconds": line.seconds,
                }
                for line in self.lines()
            ],
            "scaling": {
                kind: {
                    part.name: [
                        {"ranks": p.ranks, "compute_seconds": p.compute, "communication_seconds": p.communicate, "dominant": p.dominant}
                        for p in self.scaling(part, strong=kind == "strong")
                    ]
                    for part in self.parts
                }
                for kind in ("strong", "weak")
            },
        }

    def __str__(self) -> str:
        origin = f"; {self.network.origin}" if self.network.origin else ""
        head = f"communication of {self.name}, a text for {self.devices} devices, on {self.ranks} ranks; all figures are predicted"
        head = f"{head}\nnetwork: {self.network}{origin}"
        return "\n\n".join([head, self._collectives(), *(self._scaled(strong) for strong in (True, False))])

    def _collectives(self) -> str:
        lines = self.lines()
        if not lines:
            return "no collectives"
        header = ("", "collective", "at", "times", "group", "operand", "algorithm", "rounds", "sent", "time")
        rows = [
            (
                line.part,
                line.collective.what,
                _short(line.collective.place),
                str(line.collective.times),
                str(line.ranks),
                size(line.bytes),
                line.algorithm,
                str(line.rounds),
                size(round(line.sent)),
                _time(line.seconds),
            )
            for line in lines
        ]
        text = "\n".join(table(header, rows))
        open_ends = {str(line.collective.times) for line in lines if line.collective.times.constant is None}
        return text if not open_ends else f"{text}\n({', '.join(sorted(open_ends))}: only a run tells; times are for one)"

    def _scaled(self, strong: bool) -> str:
        title = "strong scaling (whole tensors stay as they are)" if strong else "weak scaling (blocks stay as they are)"
        series = [self.scaling(part, strong=strong) for part in self.parts]
        header = ["ranks", *(f"{part.name}: {what}" for part in self.parts for what in ("compute", "communicate", "efficiency")), "most time in"]
        rows = list[list[str]]()
        for points in zip(*series, strict=True):
            cells = [str(points[0].ranks)]
            for point, all_points in zip(points, series, strict=True):
                alone = all_points[0].seconds / (point.ranks if strong else 1)
                cells += [_time(point.compute), _time(point.communicate), f"{alone / point.seconds:.0%}" if point.seconds else "-"]
            rows.append([*cells, points[-1].dominant])
        return "\n".join([title, *table(header, rows)])


def _time(value: float) -> str:
    return seconds(value) if value else "0"


def _short(place: str) -> str:
    """A place without the folders of its file."""
    return place.rpartition("/")[2]


def communication_report(parts: Sequence[tuple[str, Program]], name: str, grid: Grid, ranks: int, network: Network) -> CommunicationReport:
    """The report of what one device runs, and of its derivative.

    Args:
        parts: ``forward`` and ``reverse`` with the program of each.
        name: what the program is called.
        grid: the devices that the text is for.
        ranks: how many ranks there are.
        network: what a message costs.

    Raises:
        InputError: the text is for one device.
    """
    if grid.size < 2:
        raise InputError(f"{name} is a program for one device: it exchanges nothing (wg.spmd and shard_map make programs for many)")
    described = [Part(part, tuple(collectives_of(program.optimized_module, grid)), _compute_seconds(program)) for part, program in parts]
    return CommunicationReport(name, grid.size, ranks, network, tuple(described))


def _compute_seconds(program: Program) -> float | None:
    """The predicted time of what a device computes for itself; None where it cannot be compiled or only a run tells."""
    try:
        alone = Program(without_communication(program.optimized_module), name=program.name)
        time = predicted_time(alone).seconds.constant
    except (DiagnosticError, InputError):
        return None
    return None if time is None else float(time)


def without_communication(module: ModuleOp) -> ModuleOp:
    """A core-level module with values of the right types in place of what collectives give."""
    copy = copy_module(module)
    rewriter = Rewriter("without-communication")
    for op in [op for op in all_ops(copy) if is_collective(op) or isinstance(op, hlo.PartitionIdOp | hlo.ReplicaIdOp)]:
        rewriter.move_to(op)
        same = len(op.operands) == 1 and op.operands[0].type == op.results[0].type
        values = rewriter.create(hlo.OptimizationBarrierOp, op.operands, [op.operands[0].type]) if same else [rewriter.zeros(type_of(y)) for y in op.results]
        rewriter.replace(op, values)
    return copy
