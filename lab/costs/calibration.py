"""Fits the machine model: small programs of every class of kernel are compiled and timed, and the nanoseconds of each feature follow.

The fit minimises the squared logarithms of predicted over measured times, from a fit with nonnegative coefficients on. What the programs tell
little about stays near the model that comes with the package, scaled as the others are. The model's factor is that of predictions for programs that
were left out of the fit, in turn.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from wengert.lab.costs.calibration_programs import programs
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.features import program_features
from wengert.lab.costs.time_model import MachineModel, shipped_model
from wengert.lab.inputs import random_inputs
from wengert.lab.measure import measure_times
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.interpreter import Counter, run
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import measured, program_cost
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.schedule.host import host

Vector = np.ndarray[Any, np.dtype[np.float64]]

PRIOR = 0.05
"""How much a feature's distance from the shipped model counts, squared, against a program's distance from its measured time."""
FOLDS = 8
MOST_DIRECTIONS, MOST_ELEMENTS = 400, 20_000
"""The Jacobian of a larger program is not timed."""
_LEAST = 1e-4
"""Nanoseconds; nothing is taken to be free."""


@dataclass(frozen=True)
class Sample:
    """A program's features and the seconds that a call takes. ``group`` is the program that it derives from."""

    name: str
    group: str
    features: dict[str, float]
    seconds: float


def calibrate(progress: Callable[[str], None] = lambda line: None) -> tuple[MachineModel, list[Sample]]:
    """The model of this machine, and what it was fitted to."""
    samples: list[Sample] = []
    for program in programs():
        progress(program.name)
        samples += sampled(program)
    return fit(samples), samples


def sampled(program: Program) -> list[Sample]:
    """A program and its derivatives, timed in turns."""
    variants = list(_variants(program))
    inputs = [random_inputs(variant.signature, 0) for variant in variants]
    calls = [partial(variant.compile(), *given) for variant, given in zip(variants, inputs, strict=True)]
    times = measure_times(calls, rounds=9, budget=0.03)
    return [Sample(variant.name, program.name, features_of(variant, given), time.minimum) for variant, given, time in zip(variants, inputs, times, strict=True)]


def _variants(program: Program) -> Iterator[Program]:
    """A program, its reverse derivative, and its Jacobian in both modes where that is small: kernels of batches are others than those of programs."""
    yield program
    yield program.vjp()
    signature, (wrt, of) = program.signature, program.resolve()
    arguments, results = [signature.arguments[i] for i in wrt], [signature.results[j] for j in of]
    columns, rows = (sum(prod(x.shape) for x in group) for group in (arguments, results))
    if (
        0 < columns <= MOST_DIRECTIONS
        and 0 < rows <= MOST_DIRECTIONS
        and columns * rows <= MOST_ELEMENTS
        and all(x.dtype.kind == "f" for x in (*arguments, *results))
    ):
        yield program.jacfwd()
        yield program.jacrev()


def features_of(program: Program, inputs: Sequence[Any]) -> dict[str, float]:
    """The features of a call; the interpreter tells how often loops and branches run that the text does not."""
    unknowns = Unknowns()
    cost = compiled(program, unknowns)
    features = program_features(cost, len(program.signature.arguments), len(program.signature.results), default_threads())
    values = values_of(program, inputs, unknowns) if any(count.symbols for count in features.values()) else {}
    return {name: float(count.number(values)) for name, count in features.items()}


def values_of(program: Program, inputs: Sequence[Any], unknowns: Unknowns) -> dict[str, int]:
    """The values of a program's symbols at a point."""
    counter = Counter()
    run(program.counted_module, list(inputs), counter=counter)
    return measured(program_cost(program.counted_module, unknowns=unknowns), counter.blocks)


def fit(samples: Sequence[Sample]) -> MachineModel:
    """The model that fits the samples best."""
    prior = shipped_model()
    names = sorted({*prior.nanoseconds, *(name for sample in samples for name in sample.features)})
    start = np.array([prior.nanoseconds.get(name, 0.0) for name in names])
    weights = _fitted(samples, names, start)
    groups = sorted({sample.group for sample in samples})
    fold = {group: number % FOLDS for number, group in enumerate(groups)}
    ratios: list[float] = []
    for number in range(FOLDS):
        others = _fitted([sample for sample in samples if fold[sample.group] != number], names, start)
        left_out = [sample for sample in samples if fold[sample.group] == number]
        if left_out:
            matrix, times = _matrix(left_out, names)
            ratios += list(np.abs(np.log(matrix @ others / times)))
    factor = float(np.exp(np.quantile(ratios, 0.9)))
    nanoseconds = {name: round(float(weight), 5) for name, weight in zip(names, weights, strict=True)}
    seen = {name for sample in samples for name, count in sample.features.items() if count}
    return MachineModel(
        nanoseconds,
        round(factor, 2),
        host().cpu,
        default_threads(),
        len(samples),
        datetime.date.today().isoformat(),
        calibrated=True,
        nominal=tuple(name for name in names if name not in seen),
    )


def _matrix(samples: Sequence[Sample], names: Sequence[str]) -> tuple[Vector, Vector]:
    """The features of samples, and their times in nanoseconds."""
    return np.array([[sample.features.get(name, 0.0) for name in names] for sample in samples]), np.array([sample.seconds * 1e9 for sample in samples])


def _fitted(samples: Sequence[Sample], names: Sequence[str], prior: Vector) -> Vector:
    """Nanoseconds by feature."""
    optimize: Any = import_module("scipy.optimize")  # has no types
    matrix, times = _matrix(samples, names)
    first, _ = optimize.nnls(matrix / times[:, None], np.ones(len(times)))
    known = prior > 0
    scale = np.exp(np.median(np.log(matrix[:, known] @ prior[known] / times))) if known.any() else 1.0
    wanted = np.log(np.where(known, np.maximum(prior / scale, _LEAST), np.maximum(first, _LEAST)))
    begin = np.log(np.maximum(np.where(known, np.sqrt(np.maximum(first, prior / scale * 0.1) * prior / scale), first), _LEAST))

    def residuals(logs: Vector) -> Vector:
        return np.concatenate([np.log(matrix @ np.exp(logs)) - np.log(times), PRIOR**0.5 * (logs - wanted)])

    def slopes(logs: Vector) -> Vector:
        parts = matrix * np.exp(logs)
        return np.concatenate([parts / parts.sum(axis=1, keepdims=True), PRIOR**0.5 * np.eye(len(logs))])

    return np.exp(optimize.least_squares(residuals, begin, jac=slopes, max_nfev=100).x)
