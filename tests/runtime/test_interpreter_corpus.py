"""The interpreter on the reference programs: their outputs, and JAX's own JVPs and VJPs of them as programs."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.ir.parser import parse_module
from wengert.runtime.interpreter import run

ROOT = os.environ.get("WENGERT_CORPUS", "")
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not ROOT, reason="WENGERT_CORPUS is not set"), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def _corpus() -> Any:
    if not ROOT:
        return []
    sys.path.insert(0, str(Path(ROOT) / "dev"))
    from corpus_io import Corpus  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the reader leaves closing its files to the collector
        return Corpus(str(Path(ROOT) / "dev"))


PROGRAMS = [pytest.param(p, precision, id=f"{p.name}-{precision}") for p in _corpus() for precision in p.meta["precisions"]]
SAMPLE = PROGRAMS[::6]


def _text(program: Any, name: str) -> str:
    return (Path(program.dir) / name).read_text()


@pytest.mark.parametrize(("program", "precision"), PROGRAMS)
def test_outputs(program: Any, precision: str) -> None:
    name, data = f"{precision}.mlir", program.data(precision)
    outputs = run(parse_module(_text(program, name), name), data.inputs)
    assert [(o.shape, o.dtype) for o in outputs] == [(o.shape, o.dtype) for o in data.outputs]
    close, error, tolerance = program.compare(precision, outputs=outputs)["out"]
    assert close, f"{error} > {tolerance}"


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
@pytest.mark.parametrize(("program", "precision"), SAMPLE)
def test_derivative_programs(program: Any, precision: str, mode: str) -> None:
    path = Path(program.dir) / f"{precision}.jax_{mode}.mlir"
    if not path.exists():
        pytest.skip("JAX has no such derivative of this program")
    data = program.data(precision)
    seeds = data.tangents if mode == "jvp" else data.cotangents
    results = run(parse_module(path.read_text(), path.name), [*data.inputs, *(seeds[k] for k in sorted(seeds))])
    reference, other = (data.jvp, data.alt_jvp) if mode == "jvp" else (data.vjp, data.alt_vjp)
    found = dict(zip(sorted(reference), results[len(data.outputs) :], strict=True))
    report = program.compare(precision, outputs=results[: len(data.outputs)], **{mode: found})
    assert report["out"][0], report
    if not report[mode][0]:  # the function has a derivative rule of its own, which the text does not show
        assert other, report
        assert all(np.allclose(found[k], value, rtol=1e-4) for k, value in other.items()), report
