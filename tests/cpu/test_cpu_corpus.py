"""The corpus's programs on the CPU backend against the reference values. Needs WENGERT_CORPUS, the corpus folder."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from wengert.ir.parser import parse_module
from wengert.runtime.cpu import compile

FOLDER = os.environ.get("WENGERT_CORPUS")
DEV = Path(FOLDER or ".") / "dev"


def programs():
    if FOLDER is None or not (DEV / "corpus_io.py").exists():
        return []
    sys.path.insert(0, str(DEV))
    from corpus_io import Corpus

    return [pytest.param(p, prec, id=f"{p.name}-{prec}") for p in Corpus(str(DEV)) for prec in p.meta["precisions"]]


@pytest.mark.skipif(FOLDER is None, reason="WENGERT_CORPUS is not set")
@pytest.mark.parametrize(("program", "precision"), programs())
def test_primal(program, precision: str) -> None:
    data = program.data(precision)
    kept = [x.copy() for x in data.inputs]
    found = compile(parse_module(program.text(precision), program.name))(*data.inputs)
    (report,) = program.compare(precision, outputs=list(found)).values()
    assert report[0], report
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(data.inputs, kept, strict=True))
