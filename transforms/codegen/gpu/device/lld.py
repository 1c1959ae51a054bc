"""LLVM's linker, which makes of an object file for AMD's devices the code object (``hsaco``) that HIP loads. It is used where it is found in the path."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from wengert.transforms.codegen.gpu.device.llvm_process import DeviceCompileError

LINKER = "ld.lld"
SHARED_OBJECT = 3
"""The kind of an ELF file that may be loaded, in its two bytes from 16 on (ET_DYN; an object file is of kind 1)."""


def available() -> bool:
    """Whether the linker is in the path."""
    return shutil.which(LINKER) is not None


def linked(object: bytes) -> bytes:
    """The code object of an object file.

    Raises:
        DeviceCompileError: the linker does not accept it, or is not there.
    """
    with tempfile.TemporaryDirectory(prefix="wengert-lld-") as folder:
        source, made = Path(folder, "kernels.o"), Path(folder, "kernels.hsaco")
        source.write_bytes(object)
        try:
            done = subprocess.run([LINKER, "-shared", "-o", made, source], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise DeviceCompileError(f"{LINKER} is not in the path") from None
        if done.returncode:
            raise DeviceCompileError(f"{LINKER} failed: {done.stderr.strip()}")
        return made.read_bytes()


def is_linked(binary: bytes) -> bool:
    """Whether a file is a code object, and not only an object file."""
    return binary[:4] == b"\x7fELF" and int.from_bytes(binary[16:18], "little") == SHARED_OBJECT
