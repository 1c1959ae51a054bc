"""LLVM's passes that find next to nothing to do in our code: switched off while an object is made, half of the time otherwise.

They are options of LLVM's command line, which are global to the process; they are set back at once, for other users of llvmlite. LLVM takes
50 us to read a command line however little is on it, so that all of them are read from a file in one go.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
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
    x86 = triple.startswith("x86_64")
    disabled, enabled = (DISABLED + DISABLED_X86, ENABLED + ENABLED_X86) if x86 else (DISABLED, ENABLED)
    _set(llvm, [*(f"-{name}=true" for name in disabled), *(f"-{name}=false" for name in enabled)])
    try:
        yield
    finally:
        _set(llvm, [*(f"-{name}=false" for name in disabled), *(f"-{name}=true" for name in enabled)])


def _set(llvm: Any, options: list[str]) -> None:
    """Sets options by a file, or one by one where no file can be written.

    The file is written each time: LLVM ends the process where it finds no such file, and files for temporary use are removed by others in time.
    """
    try:
        with NamedTemporaryFile("w", prefix="wengert-") as file:
            file.write("\n".join(options))
            file.flush()
            llvm.set_option("wengert", f"@{file.name}")
    except OSError:
        for option in options:
            llvm.set_option("wengert", option)
