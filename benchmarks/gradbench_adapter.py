"""An adapter from gradient benchmarks to wengert's public API.

``make`` is called with the StableHLO text of a function and the names of what is asked; it knows nothing of the single
benchmarks. An output ``d_x`` is the gradient of the scalar result with respect to the input ``x``. Outputs ``jac_...`` are the
values of sparse Jacobians, one for each result, whose rows depend on one row of every input: the tangents of all rows are
then found at once, one direction for each column of an input. An output ``x`` of a function of ``x0`` is what minimises it,
by gradient descent with the step sizes that the benchmark prescribes.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Mapping[str, Array]
Call = Callable[[tuple[Any, ...]], Sequence[Array]]


def make(eval_name: str, size_name: str, params: Mapping[str, Any], inputs: Inputs, programs: Mapping[str, Path]) -> tuple[Call, float]:
    """The compiled derivative that an evaluation asks for, and how long it took to make.

    Raises:
        NotImplementedError: what is asked is neither gradients nor Jacobians.
    """
    evaluation = importlib.import_module("evals").EVALS[eval_name]
    asked, names, path = evaluation.outputs, list(inputs), programs[f"{eval_name}_{size_name}"]
    start = time.perf_counter()
    if all(name.startswith("d_") and name[2:] in names for name in asked):
        call = gradient(path, [names.index(name[2:]) for name in asked])
    elif all(name.startswith("jac_") for name in asked):
        moving = [i for i, name in enumerate(names) if inputs[name].dtype.kind == "f" and _mentions(evaluation.asked, name)]
        call = sparse_jacobian(path, moving, list(inputs.values()))
    elif len(asked) == 1 and names == [f"{asked[0]}0"]:
        call = minimiser(path, forward=str(params["mode"]).startswith("f"))
    else:
        raise NotImplementedError(f"what is asked is neither a gradient nor a Jacobian: {', '.join(asked)}")
    prepared = prepare(inputs)
    call(prepared)
    first = time.perf_counter() - start
    call.prepare = prepare  # type: ignore[attr-defined]
    return call, first


def gradient(path: Path, wrt: Sequence[int]) -> Call:
    """The gradient of a scalar program."""
    compiled = wg.load(path).vjp(wrt=wrt).compile()
    seed = np.ones((), compiled.signature.results[0].dtype)

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        return compiled(*prepared, seed)[1:]

    return call


def minimiser(path: Path, *, forward: bool) -> Call:
    """Gradient descent on a function of one number; the step doubles after ten improvements and halves after a failure."""
    program = wg.load(path)
    compiled = (program.jvp() if forward else program.vjp()).compile()
    one = np.ones(())

    def call(prepared: tuple[Any, ...], tolerance: float = 1e-5) -> Sequence[Array]:
        (x,), eta, good = prepared, 1e-5, 0
        fx, g = compiled(x, one)
        while abs(float(g)) > tolerance:
            if good == 10:
                eta, good = 2 * eta, 0
            new = np.asarray(float(x) - eta * float(g))
            if abs(float(new) - float(x)) <= tolerance:
                break
            found = compiled(new, one)
            if float(found[0]) < float(fx):
                x, good = new, good + 1
                fx, g = found
            else:
                eta, good = eta / 2, 0
        return [np.asarray(x)]

    return call


def sparse_jacobian(path: Path, wrt: Sequence[int], inputs: Sequence[Array]) -> Call:
    """The columns of each result's rows, in the inputs that it depends on, one after the other."""
    program = wg.load(path)
    calls = [_columns(program, result.position, wrt, inputs) for result in program.signature.results]

    def call(prepared: tuple[Any, ...]) -> Sequence[Array]:
        return [column(prepared) for column in calls]

    return call


def _columns(program: wg.Program, result: int, wrt: Sequence[int], inputs: Sequence[Array]) -> Callable[[tuple[Any, ...]], Array]:
    """Tangents of one result in the directions of all columns of the inputs that it depends on."""
    used = [i for i in wrt if _depends(program, result, i, inputs)]
    widths = [int(np.prod(inputs[i].shape[1:])) for i in used]
    count = sum(widths)
    seeds = [np.zeros((count, *inputs[i].shape), inputs[i].dtype) for i in used]
    offset = 0
    for seed, width in zip(seeds, widths, strict=True):
        for column in range(width):
            seed[offset + column].reshape(seed.shape[1], -1)[:, column] = 1
        offset += width
    tangent = program.jvp(wrt=used, of=(result,))
    if count == 1:
        compiled = tangent.compile()
        return lambda prepared: compiled(*prepared, *[seed[0] for seed in seeds])[-1]
    results = program.signature.results
    axes: list[int | None] = [None] * len(results)
    in_axes: list[int | None] = [None] * len(inputs) + [0] * len(used)
    batched = tangent.vmap(in_axes=tuple(in_axes), out_axes=(*axes, len(results[result].shape)), size=count).compile()
    return lambda prepared: batched(*prepared, *seeds)[-1]


def _depends(program: wg.Program, result: int, argument: int, inputs: Sequence[Array]) -> bool:
    """Whether a result moves with an argument here."""
    found = program.jvp(wrt=(argument,), of=(result,))(*inputs, np.ones_like(inputs[argument]))
    return bool(np.any(found[-1]))


def _mentions(text: str, name: str) -> bool:
    """Whether a description has a word that begins as the name of an input does."""
    return any(word[:3] == name[:3] for word in re.findall(r"[a-z]+", text.lower()))


def prepare(inputs: Inputs) -> tuple[Array, ...]:
    """The inputs as a compiled program takes them."""
    return tuple(np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value) for value in inputs.values())
