"""Reference programs for many devices, if WENGERT_CORPUS has them: outputs and derivatives, per device and of whole tensors, by all engines of one process."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference_programs import CORPUS, needs_corpus, share

import wengert as wg

ROOT = CORPUS / "spmd"
Arrays = dict[int, np.ndarray[Any, np.dtype[Any]]]
NAMES = sorted(path.parent.name for path in ROOT.glob("*/meta.json"))


def stored(folder: Path, front: str, kind: str) -> Arrays:
    """The arrays of a kind, by position."""
    with np.load(folder / "f64.npz") as archive:
        keys = [key for key in archive.files if re.fullmatch(rf"{front}{kind}_\d+", key)]
        return {int(key.rpartition("_")[2]): archive[key] for key in keys}


def agree(actual: Any, wanted: np.ndarray[Any, np.dtype[Any]], tolerance: float) -> bool:
    """Whether all elements are within a tolerance times the largest one."""
    scale = np.abs(wanted.astype(np.complex128)).max(initial=0.0) or 1.0
    return bool(np.all(np.abs(np.asarray(actual, np.complex128) - wanted) <= tolerance * scale))


@needs_corpus
@pytest.mark.parametrize("name", share(NAMES, 6))
def test_program(name: str) -> None:
    folder = ROOT / name
    meta = json.loads((folder / "meta.json").read_text())
    within = meta["tolerance"]
    local = wg.load(folder / "f64.local.mlir")
    for backend in ("cpu", "interpreter"):
        check(folder, local, lambda p, backend=backend: p.distribute(meta["n_devices"], backend=backend), "d", within)
    if meta["kind"] != "hand":
        p = wg.load(folder / "f64.mlir")
        check(folder, p, lambda q: q, "", within)
        check(folder, wg.spmd(p), lambda q: q, "", within)


def check(folder: Path, program: Any, on: Any, front: str, within: Any) -> None:
    """Outputs, JVP and VJP by both strategies."""
    inputs, outputs = stored(folder, front, "in"), stored(folder, front, "out")
    given = [inputs[i] for i in sorted(inputs)]
    for j, y in enumerate(on(program)(*given)):
        assert agree(y, outputs[j], within["out"]["f64"]), f"result {j}"
    tangents, jvp, cotangents, vjp = (stored(folder, front, kind) for kind in ("tan", "jvp", "cot", "vjp"))
    if not jvp:
        return
    wrt, of = tuple(sorted(tangents)), tuple(sorted(jvp))
    for j, y_dot in zip(of, on(program.jvp(wrt=wrt, of=of))(*given, *[tangents[i] for i in wrt])[-len(of) :], strict=True):
        assert agree(y_dot, jvp[j], within["jvp"]["f64"]), f"tangent of result {j}"
    wrt, of = tuple(sorted(vjp)), tuple(sorted(cotangents))
    for strategy in ("transpose", "direct"):
        for i, x_bar in zip(wrt, on(program.vjp(wrt=wrt, of=of, strategy=strategy))(*given, *[cotangents[j] for j in of])[-len(wrt) :], strict=True):
            assert agree(x_bar, vjp[i], within["vjp"]["f64"]), f"cotangent of argument {i} by {strategy}"
