"""The examples that learn to read digits: our ways to train and PyTorch's go through the same losses to the same accuracy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[2] / "examples"))  # where Python looks when an example is run
import digits
import digits_conv
import digits_mlp

WAYS = ["traced", "define by run", "define by run, compiled", "PyTorch"]


@pytest.mark.parametrize("example", [digits_mlp, digits_conv], ids=lambda module: module.__name__)
def test_all_ways_agree(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings = digits.Settings(epochs=2, steps=6)
    courses = digits.compare(example.NETWORK, settings, torch=torch)
    assert list(courses) == WAYS
    assert digits.disagreement(courses) < 1e-5
    for course in courses.values():
        assert len(course.losses) == 12
        np.testing.assert_allclose(course.losses, courses["PyTorch"].losses, rtol=1e-4)
        assert course.last_loss < course.losses[0]
        assert course.accuracy == pytest.approx(courses["PyTorch"].accuracy, abs=0.01)
    printed = capsys.readouterr().out
    assert all(f"\n{way:24} " in printed for way in WAYS)


def test_the_command() -> None:
    options = ["--style", "traced", "--epochs", "1", "--steps", "2", "--no-torch"]
    done = subprocess.run([sys.executable, digits_mlp.__file__, *options], capture_output=True, text=True, check=True)
    assert "1437 images\nbatches of 64, 1 epochs of 2 steps\n" in done.stdout
    assert "PyTorch" not in done.stdout
    assert "2/2" in done.stderr  # the progress bar
