"""The interpreter on the reference programs: their outputs, and JAX's own JVPs and VJPs of them as programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share

from wengert.ir.parsing.parser import parse_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import run

pytestmark = [pytest.mark.corpus, needs_corpus]


@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 2))
def test_outputs(program: CorpusProgram, precision: str) -> None:
    path, data = program.path(precision), program.reference(precision)
    outputs = run(parse_module(path.read_text(), path.name), data.inputs)
    assert [(o.shape, o.dtype) for o in outputs] == [(o.shape, o.dtype) for o in data.outputs]
    assert_agrees(program, "primal", precision, outputs, data.outputs)


def _other(program: CorpusProgram, precision: str, mode: str) -> list[np.ndarray[Any, Any]]:
    """The other derivative that may be meant, of the text as it stands, where the function has a rule of its own; else empty."""
    with np.load(program.folder / f"{precision}.npz") as archive:
        return [archive[key] for key in sorted(archive) if key.startswith(f"alt_{mode}_")]


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 6))
def test_derivative_programs(program: CorpusProgram, precision: str, mode: str) -> None:
    path = program.folder / f"{precision}.jax_{mode}.mlir"
    if not path.exists():
        pytest.skip("JAX has no such derivative of this program")
    data = program.reference(precision)
    seeds, reference = (data.tangents, data.jvp) if mode == "jvp" else (data.cotangents, data.vjp)
    results = run(parse_module(path.read_text(), path.name), [*data.inputs, *(seeds[k] for k in sorted(seeds))])
    outputs, derivatives = results[: len(data.outputs)], results[len(data.outputs) :]
    assert_agrees(program, "primal", precision, outputs, data.outputs)
    other = _other(program, precision, mode)
    if not (other and all(np.allclose(a, b, rtol=1e-4) for a, b in zip(derivatives, other, strict=True))):
        assert_agrees(program, mode, precision, derivatives, [reference[k] for k in sorted(reference)])
