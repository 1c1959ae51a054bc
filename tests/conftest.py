"""What all tests share: settings of hypothesis, and folders of their own for what wengert writes."""

from __future__ import annotations

import os
from pathlib import Path

# Workers run side by side, so each computes on one core. This has to be said before NumPy is imported.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import pytest
from hypothesis import HealthCheck, settings

# Time limits measure the machine, not the code; a failure prints what reproduces it.
settings.register_profile("wengert", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wengert")


def pytest_report_header() -> str:
    """Says whether tests against the reference programs will run."""
    return f"reference programs: {os.environ.get('WENGERT_CORPUS', 'none; set WENGERT_CORPUS to test against them')}"


@pytest.fixture(scope="session", autouse=True)
def _folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of compiled code for this run, shared by all workers, and a folder for reproducers."""
    shared: Path = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    os.environ["WENGERT_CACHE"] = str(shared / "cache")
    os.environ["WENGERT_REPRODUCER_DIR"] = str(shared / "reproducers")
    os.environ.pop("WENGERT_DUMP_DIR", None)
