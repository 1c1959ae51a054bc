"""An adapter from gradient benchmarks to wengert's public API.

``make`` is called with the StableHLO text of a function, example inputs, and what is asked in words: the names of the derivative's
arrays, their shapes in the size's parameters, and which kind of derivative it is. It knows nothing of the single benchmarks.

- *Gradients*: an array ``d_x`` is the gradient of the scalar result with respect to the input ``x``.
- *Sparse Jacobians*: a result's rows depend on one row of every input, and the values are asked for with one more dimension than
  the result has, its columns. The inputs are those that the result depends on here and whose rows together have that many elements;
  they must be the only ones. All rows move at once, one column after the other.
- *Minimisers*: the one input is where the descent starts, and the array asked for has its shape.

What a request does not say, and what therefore is written here as :class:`Descent`: the step rule and the stopping rule of
the gradient descent. The descent stops where the gradient is below 1e-5, far from the minimum by the measure that results are compared in,
so that the answer depends on the rule: the first step size, its factors, after how many improvements it grows, and both tolerances.
The kit states them in its own reference program alone; neither the parameters nor the text nor the program hold them.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Mapping[str, Array]
Call = Callable[[tuple[Any, ...]], Sequence[Array]]


MOST_COLUMNS = 64
"""Jacobians of more columns are not differentiated column by column but in a batch: the one costs compile time, the other memory."""


@dataclass(frozen=True)
class Descent:
    """Gradient descent that keeps a step if it lowers the value, and doubles and halves the step size.

    It ends where the gradient or the next step is no longer than ``tolerance``.
    """

    step: float = 1e-5
    tolerance: float = 1e-5
    grows_after: int = 10


def make(eval_name: str, size_name: str, params: Mapping[str, Any], inputs: Inputs, programs: Mapping[str, Path]) -> tuple[Call, float]:
    """The compiled derivative that an evaluation asks for, and how long it took to make.

    Raises:
        NotImplementedError: what is asked is neither gradients, nor Jacobians, nor minimisers, or the request leaves open which.
    """
    evaluation = importlib.import_module("evals").EVALS[eval_name]
    asked, names, path = evaluation.outputs, list(inputs), programs[f"{eval_name}_{size_name}"]
    start = time.perf_counter()
    words = evaluation.asked.lower()
    if "jacobian" in words:
        call = sparse_jacobian(path, asked_shapes(evaluation.asked, params), list(inputs.values()))
    elif "minimis" in words and len(names) == len(asked) == 1:
        call = minimiser(path, is_forward=_outer_mode(params) == "f")
    elif "gradient" in words and all(name.startswith("d_") and name[2:] in names for name in asked):
        call = gradient(path, [names.index(name[2:]) for name in asked])
    else:
        raise NotImplementedError(f"what is asked is neither a gradient, nor a Jacobian, nor a minimiser: {evaluation.asked}")
    prepared = prepare(inputs)
    call(prepared)
    first = time.perf_counter() - start
    call.prepare = prepare  # type: ignore[attr-defined]
    return call, first


def asked_shapes(words: str, params: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """The shapes in a description, such as ``(p,2,15)``: those whose extents are numbers and parameters."""
    shapes = list[tuple[int, ...]]()
    for inside in re.findall(r"\(([^()]*)\)", words):
        extents = [extent.strip() for extent in inside.split(",") if extent.strip()]
        if all(extent.isdecimal() or extent in params for extent in extents):
            shapes.append(tuple(int(params.get(extent, extent)) for extent in extents))
    return shapes


def _outer_mode(params: Mapping[str, Any]) -> str:
    """The mode of the outermost derivative: modes are given as one word of the letters f and r, the outermost first."""
    modes = [value for value in params.values() if isinstance(value, str) and value and set(value) <= set("fr")]
    if len(modes) != 1:
        raise NotImplementedError(f"which mode is asked for does not follow from the parameters {dict(params)}")
    return modes[0][0]


def gradient(path: Path, wrt: Sequence[int]) -> Call:
    """The gradient of a scalar program."""
    compiled = wg.load(path).vjp(wrt=wrt).compile()
    seed = np.ones((), compiled.signature.results[0].dtype)

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        return compiled(*prepared, seed)[1:]

    return call


def minimiser(path: Path, *, is_forward: bool, rule: Descent = Descent()) -> Call:
    """Gradient descent on a function of one number."""
    program = wg.load(path)
    (start,) = program.signature.arguments
    if start.shape:
        raise NotImplementedError(f"the minimiser of a function of {start.type}: only functions of one number are minimised")
    compiled = (program.jvp() if is_forward else program.vjp()).compile()
    one = np.ones(())

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        (x,), eta, good = prepared, rule.step, 0
        fx, g = compiled(x, one)
        while abs(float(g)) > rule.tolerance:
            if good == rule.grows_after:
                eta, good = 2 * eta, 0
            new = np.asarray(float(x) - eta * float(g))
            if abs(float(new) - float(x)) <= rule.tolerance:
                break
            next_point = compiled(new, one)
            if float(next_point[0]) < float(fx):
                x, good = new, good + 1
                fx, g = next_point
            else:
                eta, good = eta / 2, 0
        return [np.asarray(x)]

    return call


def sparse_jacobian(path: Path, shapes: Sequence[tuple[int, ...]], inputs: Sequence[Array]) -> Call:
    """The columns of each result's rows, in the inputs that it depends on, one after the other."""
    program = wg.load(path)
    results = program.signature.results
    if len(shapes) != len(results):
        raise NotImplementedError(f"{len(results)} results and {len(shapes)} shapes of Jacobians")
    calls: list[Callable[[tuple[Any, ...]], Array]] = []
    for result, shape in zip(results, shapes, strict=True):
        used = jacobian_inputs(program, result.position, shape, inputs)
        calls.append(_columns(program, result.position, used, inputs))

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        return [column(prepared) for column in calls]

    return call


def jacobian_inputs(program: wg.Program, result: int, shape: tuple[int, ...], inputs: Sequence[Array]) -> tuple[int, ...]:
    """The inputs whose columns a Jacobian of this shape has: the result moves with them, and their rows add up to its columns.

    Raises:
        NotImplementedError: no inputs add up to them, or several choices do.
    """
    of = program.signature.results[result].shape
    if shape[: len(of)] != of or len(shape) > len(of) + 1:
        raise NotImplementedError(f"values of shape {shape} are not the columns of a result of shape {of}")
    columns = shape[-1] if len(shape) > len(of) else 1
    moving = [i for i, x in enumerate(inputs) if x.dtype.kind == "f" and _depends(program, result, i, inputs)]
    choices = [some for count in range(1, len(moving) + 1) for some in combinations(moving, count) if sum(_width(inputs[i]) for i in some) == columns]
    if len(choices) != 1:
        raise NotImplementedError(f"{columns} columns of result {result} are those of {len(choices)} choices of inputs")
    return choices[0]


def _width(value: Array) -> int:
    """The number of elements of a row."""
    return int(np.prod(value.shape[1:]))


def _columns(program: wg.Program, result: int, used: Sequence[int], inputs: Sequence[Array]) -> Callable[[tuple[Any, ...]], Array]:
    """Tangents of one result in the directions of all columns of some inputs."""
    widths = [_width(inputs[i]) for i in used]
    count = sum(widths)
    if count <= MOST_COLUMNS:
        columns = program.compressed_jacobian(wrt=used, of=(result,)).compile()
        if count == 1:
            return lambda prepared: columns(*prepared)[0][..., 0]
        return lambda prepared: columns(*prepared)[0]
    seeds = [np.zeros((count, *inputs[i].shape), inputs[i].dtype) for i in used]
    offset = 0
    for seed, width in zip(seeds, widths, strict=True):
        for column in range(width):
            seed[offset + column].reshape(seed.shape[1], -1)[:, column] = 1
        offset += width
    tangent = program.jvp(wrt=used, of=(result,))
    results = program.signature.results
    axes: list[int | None] = [None] * len(results)
    in_axes: list[int | None] = [None] * len(inputs) + [0] * len(used)
    batched = tangent.vmap(in_axes=tuple(in_axes), out_axes=(*axes, len(results[result].shape)), size=count).compile()
    return lambda prepared: batched(*prepared, *seeds)[-1]


def _depends(program: wg.Program, result: int, argument: int, inputs: Sequence[Array]) -> bool:
    """Whether a result moves with an argument here."""
    tangents = program.jvp(wrt=(argument,), of=(result,))(*inputs, np.ones_like(inputs[argument]))
    return bool(np.any(tangents[-1]))


def prepare(inputs: Inputs) -> tuple[Array, ...]:
    """The inputs as a compiled program takes them."""
    return tuple(np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value) for value in inputs.values())
