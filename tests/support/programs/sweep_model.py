"""A model for sweeps, and the command on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wengert.lab.cli.main import main
from wengert.lab.records.database import Database

MODEL = '''
import numpy as np
import wengert as wg
import wengert.numpy as wnp


def mix(n, rows=40):
    """n arguments and as many results as rows: forward mode for a full derivative costs n runs, reverse mode as many as there are rows."""
    def f(x):
        return wnp.sum(wnp.sin(wnp.outer(x, wnp.arange(float(rows)))), axis=0)
    return f, wg.ArraySpec((n,), "float64")


def layer(n, dtype="float64"):
    random = np.random.default_rng(0)
    return wnp.tanh if False else (lambda x, w: wnp.tanh(w @ x)), (random.standard_normal(n).astype(dtype), random.standard_normal((3, n)).astype(dtype))


def program(n):
    return wg.jit(wnp.sin).program(wg.ArraySpec((n,), "float64"))


def text(n):
    return str(program(n))


def decay(x, a, power=1):
    return wnp.sum(wnp.exp(-a * x) ** power)


def number(n):
    return n


def odd(n):
    if n % 2 == 0:
        raise ValueError("even")
    return program(n)


def dying(n):
    import os
    if n == 4:
        os._exit(7)
    return program(n)
'''


def sweep(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main(["sweep", *words.split(), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def error_of(words: str, capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    assert main(["sweep", *words.split()]) == code
    return capsys.readouterr().err


def recorded_ids(path: Path) -> list[str]:
    with Database(path) as database:
        return [record.id for record in database.records()]
