"""A corpus: a folder of programs with inputs, outputs and derivatives to compare with.

The folder holds ``manifest.json`` and one folder per program with, for each precision, ``f64.mlir`` (pretty),
``f64.generic.mlir`` and ``f64.npz``. The arrays of the latter are ``in_i``, ``out_j``, the tangents ``tan_i`` and
cotangents ``cot_j`` that were pushed and pulled, the results ``jvp_j`` and ``vjp_i``, and where stored the Jacobian
blocks ``jac_j_i`` and ``hvp_i``, the derivative of the VJP in the direction of the tangents.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wengert.runtime.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Reference:
    """The stored arrays of one program in one precision, by position."""

    inputs: list[Array]
    outputs: list[Array]
    tangents: dict[int, Array] = field(default_factory=dict[int, Array])
    cotangents: dict[int, Array] = field(default_factory=dict[int, Array])
    jvp: dict[int, Array] = field(default_factory=dict[int, Array])
    vjp: dict[int, Array] = field(default_factory=dict[int, Array])
    hvp: dict[int, Array] = field(default_factory=dict[int, Array])
    jac: dict[tuple[int, int], Array] = field(default_factory=dict[tuple[int, int], Array])


@dataclass(frozen=True)
class CorpusProgram:
    """One program of a corpus."""

    folder: Path
    name: str
    precisions: tuple[str, ...]
    tolerances: dict[str, dict[str, float]]
    meta: dict[str, Any]

    def path(self, precision: str, *, generic: bool = False) -> Path:
        """The file of its text."""
        return self.folder / f"{precision}{'.generic' if generic else ''}.mlir"

    def tolerance(self, kind: str, precision: str) -> float:
        """The largest error, relative to the largest magnitude of the reference, that counts as agreement."""
        if kind == "hvp":
            return 10 * self.tolerances["vjp"][precision]
        if kind == "jac":
            return max(self.tolerances["jvp"][precision], self.tolerances["vjp"][precision])
        return self.tolerances["out" if kind == "primal" else kind][precision]

    def reference(self, precision: str) -> Reference:
        """The stored arrays."""
        with np.load(self.folder / f"{precision}.npz") as archive:
            arrays = dict(archive)

        def numbered(kind: str) -> dict[int, Array]:
            return {int(key[len(kind) + 1 :]): a for key, a in sorted(arrays.items()) if key.startswith(kind + "_") and key[len(kind) + 1 :].isdigit()}

        inputs, outputs = numbered("in"), numbered("out")
        blocks = {(int(j), int(i)): a for key, a in arrays.items() if key.startswith("jac_") for _, j, i in [key.split("_")]}
        return Reference(
            [inputs[i] for i in range(len(inputs))],
            [outputs[j] for j in range(len(outputs))],
            numbered("tan"),
            numbered("cot"),
            numbered("jvp"),
            numbered("vjp"),
            numbered("hvp"),
            blocks,
        )


def read_corpus(folder: str | os.PathLike[str], only: set[str] | None = None) -> list[CorpusProgram]:
    """The programs of a corpus folder, all or those named; an InputError if it is none or does not hold a name."""
    root = Path(folder)
    try:
        manifest = json.loads((root / "manifest.json").read_text())
        programs = [_program(root, entry) for entry in manifest["programs"]]
    except FileNotFoundError as error:
        raise InputError(f"{root} is not a corpus folder: there is no file {error.filename}") from None
    except OSError as error:
        raise InputError(f"{root} is not a corpus folder: {error.filename}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{root / 'manifest.json'} is not a corpus manifest: {type(error).__name__}: {error}") from None
    if only is None:
        return programs
    missing = only - {p.name for p in programs}
    if missing:
        raise InputError(f"{root} has no program {', '.join(sorted(missing))}")
    return [p for p in programs if p.name in only]


def _program(root: Path, entry: dict[str, Any]) -> CorpusProgram:
    return CorpusProgram(root / entry["name"], entry["name"], tuple(entry["precisions"]), entry["tolerance"], entry)


def array_error(array: Any, reference: Array) -> float:
    """max|found - reference| / max|reference|, absolute where the reference is zero.

    Infinite where shapes, NaN positions or infinities differ; for integers 1.0 where any element differs.
    """
    array = np.asarray(array)
    if array.shape != reference.shape:
        return float("inf")
    if reference.size == 0:
        return 0.0
    if reference.dtype.kind in "biu":
        return float(np.any(array != reference))
    a, b = array.astype(np.complex128), reference.astype(np.complex128)
    if np.any(np.isnan(a) != np.isnan(b)):
        return float("inf")
    finite = np.isfinite(b)
    unbounded = ~finite & ~np.isnan(b)
    if np.any(a[unbounded] != b[unbounded]):
        return float("inf")
    if not finite.any():
        return 0.0
    distance, scale = np.abs(a[finite] - b[finite]).max(), np.abs(b[finite]).max()
    return float(distance / scale) if scale > 0 else float(distance)
