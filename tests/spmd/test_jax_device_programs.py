"""Programs for four devices that are written in JAX, by ``shard_map`` and by sharding annotations: all that JAX says of them, in processes with four devices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from reference_programs import share

pytest.importorskip("jax")
FOLDER = Path(__file__).with_name("device_programs")
FILES = ("algorithms", "annotations", "compositions", "learning", "rules", "schedules")
NAMES = [
    name
    for file in FILES
    for name in re.findall(r"^@s(?:map|jit)\((?:[^@]|\n)*?\ndef (\w+)|^PROGRAMS\[\"(\w+)\"\]", (FOLDER / f"{file}.py").read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("name", share(sorted({one or other for one, other in NAMES}), 16))
def test_values_and_derivatives(name: str) -> None:
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(FOLDER / "compare.py"), name]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stdout, done.stdout
