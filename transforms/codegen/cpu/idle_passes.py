"""Switches off LLVM's passes that have next to nothing to do in our code and take half of the time, while an object is made.

They are options of LLVM's command line, which are global to the process; they are set back at once, for other users of llvmlite. LLVM takes
50 us to read a command line however little is on it, so that all of them are read from a file in one go.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_NAME = "wengert-llvm-options"

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
    "disable-select-optimize",  # looks for selects that had better be branches, by block frequencies: selects of vectors stay
)
"""Options that are off, by LLVM's names; true switches the pass off."""

DISABLED_X86 = ("disable-x86-lea-opt", "disable-x86-domain-reassignment", "x86-disable-avoid-SFB")
"""More of them, known where the target is x86."""

ENABLED = ("enable-misched", "enable-shrink-wrap")
"""Options that are on; false switches the pass off. The machine scheduler is one: instruction selection orders by register pressure too."""

ENABLED_X86 = ("x86-cmov-converter", "x86-machine-combiner")
"""More of them, known where the target is x86."""

LIMITS = (("combiner-tokenfactor-inline-limit", 0, 2048),)  # instruction selection flattens what orders stores, in each of its four rounds
"""Limits that are numbers: the name, the value while an object is made, and LLVM's own."""


@contextmanager
def without_idle_passes(llvm: Any, triple: str) -> Generator[None]:
    """Switches the passes off, and back on at the end.

    Args:
        llvm: llvmlite's binding.
        triple: the target; some options are only known for x86.
    """
    off, on = settings(triple.startswith("x86_64"))
    _set(llvm, off)
    try:
        yield
    finally:
        _set(llvm, on)


@lru_cache(maxsize=2)
def settings(x86: bool) -> tuple[Options, Options]:
    """The options that switch the passes off, and those that set them back."""
    disabled, enabled = (DISABLED + DISABLED_X86, ENABLED + ENABLED_X86) if x86 else (DISABLED, ENABLED)
    return (
        Options([*(f"-{name}=true" for name in disabled), *(f"-{name}=false" for name in enabled), *(f"-{name}={ours}" for name, ours, _ in LIMITS)]),
        Options([*(f"-{name}=false" for name in disabled), *(f"-{name}=true" for name in enabled), *(f"-{name}={own}" for name, _, own in LIMITS)]),
    )


class Options:
    """Options in a file. On Linux the file lies in memory and stays; elsewhere it is written for each use, since LLVM ends the process where it
    finds no such file, and files for temporary use are removed by others in time.

    Attributes:
        options: the options.
        kept: the number of the file in memory, or None.
    """

    def __init__(self, options: list[str]):
        self.options = options
        self._text = "\n".join(options).encode()
        self.kept = _in_memory(self._text)

    @contextmanager
    def path(self) -> Generator[str]:
        """The file's name, good inside. Raises OSError where no file can be written."""
        if self.kept is not None and _is_ours(path := f"/proc/self/fd/{self.kept}"):
            yield path
            return
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile("wb", prefix=f"{_NAME}-") as file:
            file.write(self._text)
            file.flush()
            yield file.name


def _in_memory(text: bytes) -> int | None:
    """The number of a file in memory with this text, or None where the system has no such files."""
    try:
        number = os.memfd_create(_NAME)
        os.write(number, text)
    except (AttributeError, OSError):
        return None
    return number


def _is_ours(path: str) -> bool:
    """Whether a file's number is still that of the file in memory: daemons close what they did not open, and the number is given again."""
    try:
        return os.readlink(path).startswith(f"/memfd:{_NAME} ")
    except OSError:
        return False


def _set(llvm: Any, options: Options) -> None:
    """Sets options by a file, or one by one where no file can be written."""
    try:
        with options.path() as path:
            llvm.set_option("wengert", f"@{path}")
    except OSError:
        for option in options.options:
            llvm.set_option("wengert", option)
