"""The environment in which Intel's driver is loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from wengert.runtime.devices import intel_runtime


@pytest.mark.parametrize("known", [True, False])
def test_options_that_the_driver_knows(known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that it does not know would end the process."""
    driver = tmp_path / intel_runtime.DRIVER
    driver.write_bytes(b"\0ELF " + (intel_runtime.NO_CHECKSUMS.encode() if known else b"another-option") + b"\0")
    monkeypatch.setattr(intel_runtime, "installed", lambda: driver)
    for name in (intel_runtime.VENDORS, intel_runtime.OPTIONS):
        monkeypatch.setenv(name, "")  # so that it is set back
        monkeypatch.delenv(name)
    assert intel_runtime.register()
    assert os.environ.get(intel_runtime.OPTIONS) == (f"-{intel_runtime.NO_CHECKSUMS}" if known else None)
    assert Path(os.environ[intel_runtime.VENDORS], "intel.icd").read_text() == f"{driver}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the driver is for Linux")
def test_options_of_the_user_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = tmp_path / intel_runtime.DRIVER
    driver.write_bytes(intel_runtime.NO_CHECKSUMS.encode())
    monkeypatch.setattr(intel_runtime, "installed", lambda: driver)
    monkeypatch.setenv(intel_runtime.VENDORS, "")
    monkeypatch.delenv(intel_runtime.VENDORS)
    monkeypatch.setenv(intel_runtime.OPTIONS, "-their-own")
    assert intel_runtime.register()
    assert os.environ[intel_runtime.OPTIONS] == "-their-own"
