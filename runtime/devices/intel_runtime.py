"""Makes Intel's OpenCL runtime for processors usable where it was installed by pip (``wengert[opencl-cpu]``).

The packages ``intel-opencl-rt`` and ``intel-cmplr-lib-rt`` put libraries into the environment's ``lib``, but the file that names the driver to the
loader of OpenCL holds the path of another machine, and the driver does not say where the libraries lie that it needs. So the loader is given
a file of our own, and these libraries are loaded beforehand: who looks for one by its name finds it in the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from pathlib import Path

DRIVER = "libintelocl.so"
NEEDED = ("libintlc.so.5", "libimf.so", "libsvml.so", "libirng.so", "libtbb.so.12", "libtbbmalloc.so.2", "libtbbbind.so.3")
"""The libraries that the driver asks for by name, each after those that it needs itself."""
VENDORS = "OCL_ICD_VENDORS"
"""The environment variable in which the loader finds a folder of files that name drivers."""
VECTORIZER = "CL_CONFIG_CPU_VECTORIZER_MODE"
"""The environment variable that chooses how many threads of a work-group the driver makes lanes of: 1 is none.

It computes some loops with barriers wrongly where it makes lanes, and others where it does not and positions have 32 bits. So kernels with barriers
have wide positions, and there are no lanes."""
OPTIONS = "CL_CONFIG_LLVM_OPTIONS"
"""The environment variable with options for the driver's LLVM, which ends the process if it does not know one."""
NO_CHECKSUMS = "disable-loop-idiom-hashrecognize"
"""An option without which LLVM looks for checksums in short loops, along every path through their bodies: seconds for one of a hundred ops."""
_kept: list[object] = []


def installed() -> Path | None:
    """The driver in this environment; None if it was not installed here by pip."""
    driver = Path(sys.prefix) / "lib" / DRIVER
    return driver if sys.platform == "linux" and driver.exists() else None


def register() -> bool:
    """Names the driver to the loader, unless the user names drivers; whether it did. To be called before the loader is loaded."""
    os.environ.setdefault(VECTORIZER, "1")
    driver = installed()
    if driver is None or VENDORS in os.environ:
        return False
    if _knows(driver, NO_CHECKSUMS):
        os.environ.setdefault(OPTIONS, f"-{NO_CHECKSUMS}")
    for name in NEEDED:
        library = driver.with_name(name)
        if library.exists():
            _kept.append(ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL))
    folder = tempfile.TemporaryDirectory(prefix="wengert-opencl-")
    _kept.append(folder)
    Path(folder.name, "intel.icd").write_text(f"{driver}\n")
    system = Path("/etc/OpenCL/vendors")
    for other in system.glob("*.icd") if system.is_dir() else ():
        Path(folder.name, other.name).write_text(other.read_text())
    os.environ[VENDORS] = folder.name
    return True


def _knows(driver: Path, option: str) -> bool:
    """Whether the name of an option is among the driver's texts."""
    with driver.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(option.encode()) >= 0
