"""``wengert devices``."""

from __future__ import annotations

import argparse
import json
import platform

from wengert.lab.cli.exit_codes import Exit
from wengert.runtime.devices import cuda, opencl
from wengert.runtime.errors import InputError
from wengert.runtime.memory import plain

Row = tuple[str, str, str]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--json", action="store_true", help="print them as JSON")


def execute(options: argparse.Namespace) -> int:
    """Lists backends with their devices."""
    rows: list[Row] = [("cpu", f"this processor ({platform.machine()})", "")]
    rows += [("interpreter", "NumPy", "slow: the definition of the semantics"), *opencl_rows()]
    rows.append(("ptx-interpreter", "interpreter of PTX", "slow: runs kernels for NVIDIA's devices and checks every access"))
    rows += cuda_rows()
    if options.json:
        print(json.dumps([dict(zip(("backend", "device", "remark"), row, strict=True)) for row in rows], indent=1))
        return Exit.OK
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for backend, device, remark in rows:
        print(f"{backend:{widths[0]}}  {device:{widths[1]}}  {remark}".rstrip())
    return Exit.OK


def opencl_rows() -> list[Row]:
    """The devices of OpenCL drivers, or what to install."""
    try:
        known = list(opencl.devices())
    except InputError as error:
        return [("opencl", "none", str(error))]
    if not known:
        return [("opencl", "none", opencl.no_device())]
    return [("opencl", opencl.name_of(device), f"{plain(device.global_mem_size)} of memory") for device in known]


def cuda_rows() -> list[Row]:
    """NVIDIA's devices, or what is missing."""
    try:
        known = cuda.devices()
    except InputError as error:
        return [("cuda", "none", str(error))]
    if not known:
        return [("cuda", "none", f"{cuda.NO_DEVICE}; kernels are compiled without one (gpu-module-to-binary)")]
    return [("cuda", str(device.name), "compute capability {}.{}".format(*device.compute_capability)) for device in known]
