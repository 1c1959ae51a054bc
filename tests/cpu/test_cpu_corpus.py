"""The corpus's programs on the CPU backend against the reference values. Needs WENGERT_CORPUS, the corpus folder."""

from __future__ import annotations

import numpy as np
import pytest
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share

from wengert.ir.parsing.parser import parse_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu import compile


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 2))
def test_primal(program: CorpusProgram, precision: str) -> None:
    data = program.reference(precision)
    kept = [x.copy() for x in data.inputs]
    actual = compile(parse_module(program.path(precision).read_text(), program.name))(*data.inputs)
    assert_agrees(program, "primal", precision, actual, data.outputs)
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(data.inputs, kept, strict=True))
