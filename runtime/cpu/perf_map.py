"""Tells ``perf`` the functions of machine code that was loaded into memory: lines of ``/tmp/perf-<process>.map``, which it looks for by itself.

The file has the address, the size and the name of each function. For object files other than ELF nothing is written.
"""

from __future__ import annotations

import os
from pathlib import Path

from wengert.runtime.cpu.object_file import functions_of


def write_map(image: bytes, entry: str, address: int, folder: str = "/tmp") -> None:
    """Appends the functions of an object file to this process's map, given where one of them was loaded. A file that cannot be written is left out."""
    functions = functions_of(image)
    if entry not in functions:
        return
    base = address - functions[entry][0]
    lines = [f"{base + offset:x} {size:x} {name}\n" for name, (offset, size) in functions.items()]
    try:
        with (Path(folder) / f"perf-{os.getpid()}.map").open("a") as file:
            file.writelines(lines)
    except OSError:
        return
