"""Many threads that trace, parse, differentiate, compile, call and record at once; in a process of its own, since what goes wrong ends one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "checks" / "many_threads.py"
LIMIT = 120


@pytest.mark.parametrize(
    "settings",
    [{"WENGERT_CACHE": "off"}, {"WENGERT_NUM_THREADS": "3"}, {"WENGERT_NATIVE_ENTRY": "off"}],
    ids=["compiled anew", "from the disk", "without the native entry"],
)
def test_threads_do_not_disturb_each_other(settings: dict[str, str], tmp_path: Path):
    environment = {**os.environ, "WENGERT_CACHE": str(tmp_path), **settings}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing was wrong\n"), done.stdout + done.stderr
