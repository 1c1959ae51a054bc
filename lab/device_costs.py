"""The prediction of ``wengert costs --device h100``: how long the kernels of a program and of its derivatives take on a GPU that need not be there.

Kernels are those that the compiler makes for the device; their figures are read from their text, and published figures of the device make times of them
(:mod:`wengert.transforms.analysis.gpu.roofline`). Nothing is run and nothing is measured.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.tables import count, seconds, size, table
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.gpu.devices import PUBLISHED, PublishedDevice
from wengert.transforms.analysis.gpu.launches import Launched, launches_of
from wengert.transforms.analysis.gpu.roofline import LAUNCH_SECONDS, Prediction, moved_bytes, occupancy, predict
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline


@dataclass(frozen=True)
class KernelRow:
    """A kernel with one grid: its figures, how often it is launched, and how long one launch takes."""

    launched: Launched
    device: PublishedDevice

    @cached_property
    def prediction(self) -> Prediction:
        """Of one launch."""
        return predict(self.launched.cost, self.device)

    @property
    def seconds(self) -> float:
        """Of all launches."""
        return self.launched.times * self.prediction.seconds

    @property
    def moved(self) -> float:
        """The bytes of one launch."""
        return moved_bytes(self.launched.cost, self.device)

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        cost, prediction = self.launched.cost, self.prediction
        return {
            "kernel": cost.name,
            "launches": self.launched.times,
            "groups": cost.groups,
            "threads": cost.threads,
            "workgroup_bytes": cost.workgroup_bytes,
            "occupancy": occupancy(cost, self.device),
            "bytes": self.moved,
            "bytes_needed": cost.needed,
            "flops": cost.flops,
            "transcendentals": cost.transcendentals,
            "seconds": {"memory": prediction.memory, "shared": prediction.shared, "arithmetic": prediction.arithmetic, "total": prediction.seconds},
            "bound": prediction.bound,
        }


@dataclass(frozen=True)
class ProgramRows:
    """The kernels of one program, and what the host runs."""

    name: str
    kernels: tuple[KernelRow, ...]
    host: collections.Counter[str]
    uncounted: bool

    @property
    def seconds(self) -> float:
        """The kernels one after the other; what the host runs is not in it."""
        return sum(row.seconds for row in self.kernels)

    @property
    def launches(self) -> int:
        """How many kernels are launched."""
        return sum(row.launched.times for row in self.kernels)

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        kernels = [row.to_json() for row in self.kernels]
        return {"seconds": self.seconds, "launches": self.launches, "kernels": kernels, "host": dict(self.host), "uncounted": self.uncounted}


@dataclass(frozen=True)
class DeviceCosts:
    """The predictions for a program, its forward and its reverse derivative."""

    program: str
    device: PublishedDevice
    rows: tuple[ProgramRows, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {"program": self.program, "device": self.device.name, "measured": False, "programs": {row.name: row.to_json() for row in self.rows}}

    def __str__(self) -> str:
        lines = [f"predicted for {self.device.title}: {self.program}", "by published figures of the device; nothing was measured", ""]
        for row in self.rows:
            lines += [*_table(row), ""]
        lines += table(["", "launches", "predicted", "of these launches"], [_total(row) for row in self.rows])
        return "\n".join(lines)


def _table(rows: ProgramRows) -> list[str]:
    header = [rows.name, "launches", "groups", "threads", "bytes", "flops", "bound by", "each", "all", ""]
    cells = [_cells(row, rows.seconds) for row in rows.kernels]
    notes = [f"on the host, not counted: {name}, {count(times)} times" for name, times in rows.host.items()]
    notes += ["loops whose iterations depend on data are counted once"] * rows.uncounted
    return [*table(header, cells), *notes]


def _cells(row: KernelRow, total: float) -> list[str]:
    cost, once = row.launched.cost, row.prediction
    numbers = [count(row.launched.times), count(cost.groups), str(cost.threads), size(round(row.moved)), count(round(sum(cost.flops.values())))]
    return [cost.name, *numbers, once.bound, seconds(once.seconds), seconds(row.seconds), f"{100 * row.seconds / total:.0f} %"]


def _total(rows: ProgramRows) -> list[str]:
    return [rows.name, count(rows.launches), seconds(rows.seconds), f"{100 * rows.launches * LAUNCH_SECONDS / rows.seconds:.0f} %" if rows.seconds else ""]


def device_named(name: str) -> PublishedDevice:
    """The description of a device.

    Raises:
        InputError: there is none of this name.
    """
    if name not in PUBLISHED:
        raise InputError(f"there is no description of a device '{name}'{did_you_mean(name, PUBLISHED, '')}; there are: {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


def device_report(program: Program, device: str, *, wrt: Positions = None, of: Positions = None) -> DeviceCosts:
    """Predicts the time of a program and its derivatives on a device.

    Args:
        program: the program, with static shapes.
        device: a name of :data:`wengert.transforms.analysis.gpu.devices.PUBLISHED`.
        wrt: arguments to differentiate by; every float or complex one by default.
        of: results to differentiate; every float or complex one by default.

    Raises:
        InputError: there is no such device, or there is nothing to differentiate.
    """
    known = device_named(device)
    programs = [("primal", program), ("forward (JVP)", program.jvp(wrt=wrt, of=of)), ("reverse (VJP)", program.vjp(wrt=wrt, of=of))]
    return DeviceCosts(program.name, known, tuple([_rows(name, made, known) for name, made in programs]))


def _rows(name: str, program: Program, device: PublishedDevice) -> ProgramRows:
    module = parse_pipeline(gpu_lowering(device.target)).run(alone(core_form(runnable(program.optimized_module)), "main"))
    counted = launches_of(module)
    kernels: Sequence[KernelRow] = [KernelRow(launched, device) for launched in counted.kernels]
    return ProgramRows(name, tuple(kernels), counted.host, counted.uncounted)
