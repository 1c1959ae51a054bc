"""LLVM's passes that find next to nothing to do in our code: switched off while an object is made, half of the time otherwise.

They are options of LLVM's command line, which are global to the process; they are set back at once, for other users of llvmlite. LLVM takes
50 us to read a command line however little is on it, so that all of them are read from a file in one go.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DISABLED = (
    "disable-lsr",  # loop strength reduction: a quarter of the time, and our loops step by pointers already
    "disable-post-ra",  # scheduling after register allocation: for processors that do not reorder by themselves
    "disable-constant-hoisting",
    "disable-postra-machine-licm",
    "disable-postra-machine-sink",
    "disable-tail-duplicate",
    "disable-early-taildup",
    "disable-early-ifcvt",
    "disable-ssc",  # sharing of stack slots
    "disable-cgp",  # brings addresses and constants to their uses, where ours stand already
    "disable-machine-cse",
    "disable-machine-sink",
    "disable-block-placement",  # our blocks stand in the order in which they run
    "disable-branch-fold",
    "disable-peephole",
    "disable-copyprop",
    "disable-partial-libcall-inlining",
)
"""Options that are off, by LLVM's names; true switches the pass off."""

DISABLED_X86 = ("disable-x86-lea-opt", "disable-x86-domain-reassignment", "x86-disable-avoid-SFB")
"""More of them, known where the target is x86."""

ENABLED = ("enable-misched", "enable-shrink-wrap")
"""Options that are on; false switches the pass off. The machine scheduler is one: instruction selection orders by register pressure too."""

ENABLED_X86 = ("x86-cmov-converter", "x86-machine-combiner")
"""More of them, known where the target is x86."""


@contextmanager
def without_idle_passes(llvm: Any, triple: str) -> Generator[None]:
    """The passes are off inside.

    Args:
        llvm: llvmlite's binding.
        triple: the target; some options are only known for x86.
    """
    off, on = _files(triple.startswith("x86_64"))
    llvm.set_option("wengert", f"@{off}")
    try:
        yield
    finally:
        llvm.set_option("wengert", f"@{on}")


@lru_cache(maxsize=2)
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="wengert-")


@lru_cache(maxsize=2)
def _files(x86: bool) -> tuple[Path, Path]:
    """Files of options that switch the passes off, and on again."""
    folder = Path(_folder().name)
    disabled, enabled = (DISABLED + DISABLED_X86, ENABLED + ENABLED_X86) if x86 else (DISABLED, ENABLED)
    files = (folder / "off", folder / "on")
    for file, off in zip(files, ("true", "false"), strict=True):
        on = "false" if off == "true" else "true"
        file.write_text("\n".join([*(f"-{name}={off}" for name in disabled), *(f"-{name}={on}" for name in enabled)]))
    return files
