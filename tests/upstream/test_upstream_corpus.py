"""The corpus of upstream programs: outputs, tangents and cotangents, in both forms of the text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.upstream_runner import run

ROOT = Path(os.environ.get("WENGERT_CORPUS", "")) / "upstream"
NAMES = json.loads((ROOT / "manifest.json").read_text())["programs"] if os.environ.get("WENGERT_CORPUS") and (ROOT / "manifest.json").exists() else []
SMALL = {"float64": np.float32, "complex128": np.complex64}

pytestmark = pytest.mark.skipif(not NAMES, reason="WENGERT_CORPUS is not set, or has no upstream programs")


class Case:
    """A program of the corpus with its inputs and references."""

    def __init__(self, name: str, precision: str):
        self.folder, self.precision = ROOT / name, precision
        self.meta: dict[str, Any] = json.loads((self.folder / "meta.json").read_text())
        with np.load(self.folder / "f64.npz") as file:
            self.arrays = {key: file[key] for key in file.files}

    def kind(self, prefix: str, *, given: bool = False) -> dict[int, Any]:
        """The arrays of a kind by position, rounded to f32 if they are given to a program of that precision."""
        arrays = {int(key.removeprefix(prefix)): value for key, value in self.arrays.items() if key.startswith(prefix)}
        narrow = given and self.precision == "f32"
        return {k: v.astype(SMALL.get(v.dtype.name, v.dtype)) if narrow else v for k, v in sorted(arrays.items())}

    def run(self, form: str = "", **options: Any) -> list[Any]:
        text = (self.folder / f"{self.precision}{form}.mlir").read_text()
        return run(text, list(self.kind("in_", given=True).values()), self.meta, **options)

    def compare(self, kind: str, results: list[Any], expected: dict[int, Any]) -> None:
        assert len(results) == len(expected)
        for result, value in zip(results, expected.values(), strict=True):
            assert result.shape == value.shape
            if value.dtype.kind in "fc":
                scale = np.abs(value).max(initial=0) or 1.0
                assert np.abs(result - value).max(initial=0) <= self.meta["tolerance"][kind][self.precision] * scale
            else:
                np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_programs_of_the_corpus(name: str, precision: str) -> None:
    case = Case(name, precision)
    if precision not in case.meta["precisions"]:
        pytest.skip("the corpus has it in f64 only")
    of, wrt = list(case.kind("jvp_")), list(case.kind("vjp_"))
    case.compare("out", case.run(), case.kind("out_"))
    case.compare("jvp", case.run(wrt=wrt, of=of, tangents=list(case.kind("tan_", given=True).values())), case.kind("jvp_"))
    case.compare("vjp", case.run(wrt=wrt, of=of, cotangents=list(case.kind("cot_", given=True).values())), case.kind("vjp_"))


@pytest.mark.parametrize("name", NAMES)
def test_the_generic_form_is_the_same_program(name: str) -> None:
    case = Case(name, "f64")
    case.compare("out", case.run(".generic"), case.kind("out_"))
