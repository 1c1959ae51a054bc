"""Special values: what operations and their first two derivatives give at them is what PyTorch gives, whichever way they are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eager_special_values import EXCEPTIONS, cases, compared, differences

import wengert.eager as eager
from wengert.eager.recording.tape import RecordedTape

FLOATS = [np.float64, np.float32]
INTEGERS = [np.int64, np.int32, np.int8, np.uint8, np.bool_]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=lambda d: d.__name__)
@pytest.mark.filterwarnings("ignore")
def test_special_values_are_those_of_pytorch(dtype: Any) -> None:
    lines = [line for name, function, arrays in cases(dtype) for line in compared(function, arrays, name)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.filterwarnings("ignore")
def test_the_ops_on_the_tape_compute_what_the_kernels_do(target: str) -> None:
    """NumPy computes at first; compiled tapes are the ops."""
    lines: list[str] = []
    for name, function, arrays in cases(np.float64):
        if " of " in name:
            continue
        xs = [eager.tensor(a) for a in arrays]
        with eager.Tape() as tape:
            for x in xs:
                tape.number(x)  # the arguments of the program, in this order
            y = function(eager, *xs)
        again = np.asarray(RecordedTape(tape.steps, [tape.number(y)]).program().compile(target)(*arrays)).reshape(y.shape)
        wrong = np.argwhere(differences(again, y.detach().numpy()))
        if len(wrong):
            place = tuple(wrong[0])
            at = [a[place[: a.ndim]] for a in arrays]
            lines.append(f"{name}: {len(wrong)} differ, at {at}: {again[place]} on the tape, {y.detach().numpy()[place]} at once")
    assert not lines, "\n".join(lines)


def test_exceptions_name_what_is_tested() -> None:
    names = {name for name, _, _ in cases(np.float64)}
    assert {name for name, _ in EXCEPTIONS} <= names
