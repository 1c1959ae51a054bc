"""Devices for tests: which backends run here, and why others do not."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from wengert.runtime.devices.compile import device_for
from wengert.runtime.errors import InputError


@cache
def missing(backend: str) -> str:
    """Why a backend has no device here; empty if it has one."""
    try:
        device_for(backend)
    except InputError as error:
        return str(error)
    return ""


needs_opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
BACKENDS: list[Any] = [pytest.param("opencl", marks=needs_opencl), "ptx-interpreter"]
"""The backends for devices; that of OpenCL is skipped where there is none."""
