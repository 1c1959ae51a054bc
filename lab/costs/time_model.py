"""Predicts the time of a compiled program: a machine's seconds for each feature of its kernels.

A model is a line for each feature (:mod:`wengert.lab.costs.features`) with the nanoseconds that one unit takes, and the factor within which nine of
ten programs were predicted that it was not fitted to. ``wengert calibrate`` fits one to the machine and keeps it in the user's cache folder; until
then the model that comes with the package is used, of the machine that it names. Times are those of calls without contention, with inputs in the
cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.features import program_features
from wengert.lab.tables import seconds
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.machine_model import model_path, model_stamp
from wengert.runtime.program import Program
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

VERSION = 2
"""The version of the features: a model of another one is not read."""
SHIPPED = Path(__file__).parent / "machine_model.json"
_FEMTO = 10**15


class MachineModel(Struct, frozen=True):
    """The times of a machine.

    Attributes:
        nanoseconds: by feature.
        nominal: the features that no program had that was measured: their times are assumed.
        factor: nine of ten programs that the model was not fitted to take at most so many times the predicted time, and at least the predicted time
            divided by this.
        processor, threads: what was measured on.
        programs: how many programs it was fitted to.
        taken: the date.
        version: of the features.
    """

    nanoseconds: dict[str, float]
    factor: float
    processor: str
    threads: int
    programs: int = 0
    taken: str = ""
    version: int = VERSION
    calibrated: bool = False
    nominal: tuple[str, ...] = ()

    def total(self, features: Mapping[str, Polynomial]) -> Polynomial:
        """The seconds that features take, exact to a femtosecond of each unit."""
        total = ZERO
        for name, count in features.items():
            total = total + count * round(self.nanoseconds.get(name, self._like(name)) * 1e6)
        return total * Fraction(1, _FEMTO)

    def _like(self, name: str) -> float:
        """The time of a feature that the model has not: in f32 as in f64, and of a function or of code that is not known, that of its kind."""
        general = name.removeprefix("f32 ")
        return self.nanoseconds.get(general, self.nanoseconds.get(f"other {general.partition(' ')[2]}", 0.0))


@dataclass(frozen=True)
class Prediction:
    """The predicted time of some calls, and the factor within which nine of ten are."""

    seconds: Polynomial
    factor: float
    calibrated: bool

    def __mul__(self, runs: int) -> Prediction:
        return Prediction(self.seconds * runs, self.factor, self.calibrated)

    def at(self, values: Mapping[str, Polynomial | Number]) -> Prediction:
        """The prediction with values for some symbols."""
        return Prediction(self.seconds.at(values), self.factor, self.calibrated)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The times between which nine of ten programs are, where the prediction is a number."""
        number = self.seconds.constant
        return None if number is None else (float(number) / self.factor, float(number) * self.factor)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON: seconds, or text where they depend on what is not known."""
        number = self.seconds.constant
        shown = float(number) if number is not None else in_nanoseconds(self.seconds)
        return {"seconds": shown, "interval": self.interval, "factor": self.factor, "calibrated": self.calibrated}

    def __str__(self) -> str:
        number = self.seconds.constant
        if number is None:
            return f"{in_nanoseconds(self.seconds)} ns"
        low, high = self.interval or (0.0, 0.0)
        return f"{seconds(float(number))} ({seconds(low)} to {seconds(high)})"


def in_nanoseconds(time: Polynomial) -> str:
    """A time that depends on symbols, with rounded coefficients."""
    return str(Polynomial({monomial: round(Fraction(c) * 10**9) or 1 for monomial, c in time.terms.items()}))


def predicted(program: Program, cost: CompiledCost) -> Prediction:
    """The time of one call by the model of this machine."""
    model = machine_model()
    features = program_features(cost, len(program.signature.arguments), len(program.signature.results), default_threads())
    return Prediction(model.total(features), model.factor, model.calibrated)


def predicted_time(program: Program, unknowns: Unknowns | None = None) -> Prediction:
    """The time of one call of a program without open extents; a polynomial in what only a run tells.

    Raises:
        DiagnosticError: the program cannot be compiled.
    """
    return predicted(program, compiled(program, unknowns))


# -- where models are kept


def machine_model() -> MachineModel:
    """The model of this machine, or the one that comes with the package."""
    return _read(model_path(), model_stamp()) or shipped_model()


@lru_cache(maxsize=4)
def _read(path: Path | None, stamp: int) -> MachineModel | None:
    """The model in a file; None for one that is not there, damaged, or of other features."""
    if path is None or not stamp:
        return None
    try:
        model = msgspec.json.decode(path.read_bytes(), type=MachineModel)
    except (OSError, msgspec.DecodeError):
        return None
    return model if model.version == VERSION else None


@lru_cache(maxsize=1)
def shipped_model() -> MachineModel:
    """The model that comes with the package."""
    return msgspec.json.decode(SHIPPED.read_bytes(), type=MachineModel)


def write_model(model: MachineModel, path: Path) -> None:
    """Keeps a model, under another name first, so that a reader sees a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(msgspec.to_builtins(model), indent=1, sort_keys=True) + "\n")
    part.replace(path)
