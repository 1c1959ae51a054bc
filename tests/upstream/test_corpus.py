"""The corpus of upstream programs: outputs, tangents and cotangents, in both forms of the text."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.upstream_runner import run

ROOT = Path(os.environ.get("WENGERT_CORPUS", "")) / "upstream"
pytestmark = pytest.mark.skipif(
    not os.environ.get("WENGERT_CORPUS") or not (ROOT / "upstream_io.py").exists(), reason="WENGERT_CORPUS is not set, or has no upstream programs"
)


def programs() -> list[Any]:
    if not (ROOT / "upstream_io.py").exists():
        return []
    spec = importlib.util.spec_from_file_location("upstream_io", ROOT / "upstream_io.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.Corpus(str(ROOT)))


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.name)
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_programs_of_the_corpus(program: Any, precision: str) -> None:
    if precision not in program.meta["precisions"]:
        return
    data, text = program.data(precision), program.text(precision)
    of, wrt = sorted(data.jvp), sorted(data.vjp)
    tangents, cotangents = [data.tangents[i] for i in wrt], [data.cotangents[j] for j in of]
    outputs = run(text, data.inputs, program.meta)
    jvp = dict(zip(of, run(text, data.inputs, program.meta, wrt=wrt, of=of, tangents=tangents), strict=True))
    vjp = dict(zip(wrt, run(text, data.inputs, program.meta, wrt=wrt, of=of, cotangents=cotangents), strict=True))
    for kind, (agrees, error, tolerance) in program.compare(precision, outputs=outputs, jvp=jvp, vjp=vjp).items():
        assert agrees, f"{kind}: {error} of {tolerance}"


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.name)
def test_the_generic_form_is_the_same_program(program: Any) -> None:
    data = program.data()
    (result,) = program.compare(outputs=run(program.text("f64", "generic"), data.inputs, program.meta)).values()
    assert result[0], f"{result[1]} of {result[2]}"
