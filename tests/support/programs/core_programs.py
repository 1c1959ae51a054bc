"""Reference programs and their derivatives at core level, with what they should give."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.loading import load
from wengert.transforms.lowering import alone


def core_of(program: CorpusProgram, precision: str, kind: str) -> tuple[ModuleOp, list[np.ndarray], list[np.ndarray]]:
    """The program or its derivative, its inputs and what should come out."""
    data, loaded = program.reference(precision), load(program.path(precision))
    if kind == "primal":
        return alone(core_form(runnable(loaded.optimized_module)), "main"), data.inputs, data.outputs
    if kind == "vjp":
        derivative, given, expected = loaded.vjp(wrt=sorted(data.vjp), of=sorted(data.cotangents)), data.cotangents, data.vjp
    else:
        derivative, given, expected = loaded.jvp(wrt=sorted(data.tangents), of=sorted(data.jvp)), data.tangents, data.jvp
    inputs, outputs = [*data.inputs, *[given[k] for k in sorted(given)]], [*data.outputs, *[expected[k] for k in sorted(expected)]]
    return alone(core_form(runnable(derivative.optimized_module)), "main"), inputs, outputs
