"""Programs of many kinds, lowered by JAX on the spot: our values and derivatives beside JAX's.

By default a sample, the same every time; WENGERT_JAX_PROGRAMS=full takes all programs in both precisions and on both
backends, WENGERT_JAX_PROGRAMS=name,name some.
"""

from __future__ import annotations

import os

import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
from all_programs import PROGRAMS
from comparison import differences
from jax_oracle import expected

CHOSEN = os.environ.get("WENGERT_JAX_PROGRAMS", "sample")
SAMPLE = 16
"""By default every sixteenth program."""


def cases() -> list[object]:
    names = list(PROGRAMS)
    if CHOSEN == "full":
        return [pytest.param(n, p, b, id=f"{n}-{p}-{b}") for n in names for p in ("f64", "f32") for b in ("cpu", "interpreter")]
    chosen = names[::SAMPLE] if CHOSEN == "sample" else CHOSEN.split(",")
    return [pytest.param(n, "f64", "cpu", id=n) for n in chosen]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "precision", "backend"), cases())
def test_agrees_with_jax(name: str, precision: str, backend: str) -> None:
    program = PROGRAMS[name]
    actual = list(differences(program, expected(program, precision), precision, backend))
    assert actual
    assert [f"{kind}: {error:.1e} > {bound:.0e}" for kind, error, bound in actual if not error <= bound] == []
