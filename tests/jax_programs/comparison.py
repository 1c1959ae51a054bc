"""Our values and derivatives of a program beside JAX's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jax_oracle import Expected
from program_table import Array, JaxProgram

from wengert.lab.corpus import array_error
from wengert.runtime.loading import parse

KINDS = ("primal", "jvp", "vjp", "dot product", "hvp")
TOLERANCE = {"f64": 1e-10, "f32": 2e-4}
NARROW = {"f32": 2e-4, "f16": 4e-3, "bf16": 4e-2, "f8E4M3FN": 0.15}


def tolerance(program: JaxProgram, text: str, precision: str, kind: str) -> float:
    """Relative to the largest element; looser by the narrowest type in the text and for second derivatives."""
    narrow = [bound for name, bound in NARROW.items() if re.search(rf"[x<]{name}>", text)]
    base = max([TOLERANCE[precision], *narrow])
    return base * program.tolerance * (10 if kind == "hvp" else 1)


def differences(program: JaxProgram, wanted: Expected, precision: str, backend: str, kinds: Sequence[str] = KINDS) -> Iterator[tuple[str, float, float]]:
    """(kind, error, tolerance) of everything that can be compared."""
    ours = parse(wanted.text, program.name)
    wrt, of = tuple(wanted.tangents), tuple(wanted.cotangents)
    bound = lambda kind: tolerance(program, wanted.text, precision, kind)
    jvp: dict[int, Array] = {}
    if "primal" in kinds:
        yield "primal", _worst(dict(enumerate(ours.compile(backend)(*wanted.inputs))), dict(enumerate(wanted.outputs))), bound("primal")
    if not wrt or not of:
        return
    if "jvp" in kinds:
        results = ours.jvp(wrt=wrt, of=of).compile(backend)(*wanted.inputs, *wanted.tangents.values())
        jvp = dict(zip(of, results[-len(of) :], strict=True))
        if wanted.jvp is not None:
            yield "jvp", *((_distance(jvp, wanted.jvp), 1e-6) if wanted.by_differences else (_worst(jvp, wanted.jvp), bound("jvp")))
    if not {"vjp", "hvp"} & set(kinds):
        return
    pullback = ours.vjp(wrt=wrt, of=of)
    if "vjp" in kinds:
        vjp = dict(zip(wrt, pullback.compile(backend)(*wanted.inputs, *wanted.cotangents.values())[-len(wrt) :], strict=True))
        if wanted.vjp is not None:
            yield "vjp", _worst(vjp, wanted.vjp), bound("vjp")
        if jvp and program.dual:
            yield "dot product", _dot_error(wanted, jvp, vjp), bound("vjp")
    if "hvp" in kinds and wanted.hvp is not None:
        first = len(wanted.outputs)
        second = pullback.jvp(wrt=wrt, of=range(first, first + len(wrt)))
        results = second.compile(backend)(*wanted.inputs, *wanted.cotangents.values(), *wanted.tangents.values())
        yield "hvp", _worst(dict(zip(wrt, results[-len(wrt) :], strict=True)), wanted.hvp), bound("hvp")


def _worst(actual: dict[int, Any], reference: dict[int, Array]) -> float:
    mistyped = [k for k, a in reference.items() if np.asarray(actual[k]).dtype != a.dtype]
    return float("inf") if mistyped else max((array_error(actual[k], a) for k, a in reference.items()), default=0.0)


def _distance(actual: dict[int, Any], reference: dict[int, Array]) -> float:
    """Relative where elements are large, absolute where they are small: differences of a constant are rounding."""
    return max((float(np.max(np.abs(actual[k] - a) / (1 + np.abs(a)), initial=0)) for k, a in reference.items()), default=0.0)


def _dot_error(wanted: Expected, jvp: dict[int, Array], vjp: dict[int, Array]) -> float:
    """|<cotangents, JVP> - <VJP, tangents>| against the size of the terms."""
    products = lambda a, b: np.concatenate([(np.asarray(a[k]).astype(complex) * np.asarray(b[k]).astype(complex)).real.ravel() for k in a])
    left, right = products(wanted.cotangents, jvp), products(wanted.tangents, vjp)
    scale = max(np.abs(left).sum(), np.abs(right).sum())
    return float(np.abs(left.sum() - right.sum()) / scale) if scale > 0 else 0.0
