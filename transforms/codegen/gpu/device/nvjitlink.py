"""Assembles PTX by NVIDIA's library nvJitLink, which needs no device: machine code, and what the assembler says of each kernel.

The library comes with CUDA, or alone with the package ``nvidia-nvjitlink``, which the extra ``cuda-assembler`` names (its
C interface: "nvJitLink", NVIDIA, version 13).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

from msgspec import Struct

from wengert.transforms.codegen.gpu.device.objects import DeviceCompileError

INSTALL = "pip install nvidia-nvjitlink"
"""How to get the assembler."""
_PTX = 2  # NVJITLINK_INPUT_PTX
_CHIP = re.compile(r"sm_[1-9]\d{1,2}[af]?")
"""What may be a chip: the library ends the process where it sees that a name is none."""
_LIBRARY = re.compile(r"libnvJitLink\.so\.\d+$|nvJitLink_\d+_0\.dll$")
_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


class AssemblerError(DeviceCompileError):
    """The assembler is not there, or does not take the text."""


class Usage(Struct, frozen=True):
    """The resources that a thread of a kernel takes.

    Attributes:
        kernel: its name.
        registers: of 32 bits each.
        stack_bytes: memory of the thread for what is no register.
        spill_bytes: stores and loads of registers in that memory for want of registers.
    """

    kernel: str
    registers: int
    stack_bytes: int
    spill_bytes: int


class Assembled(Struct, frozen=True):
    """Machine code, and what each kernel takes."""

    code: bytes
    usage: Sequence[Usage]


def available() -> bool:
    """Whether the assembler is installed."""
    return _library() is not None


def assembled(text: str, chip: str) -> Assembled:
    """The machine code of PTX for a chip (``sm_90``).

    Raises:
        AssemblerError: the assembler is not installed, or does not take the text.
    """
    library = _library()
    if library is None:
        raise AssemblerError("NVIDIA's assembler is not installed")
    handle = ctypes.c_void_p()
    options = [f"-arch={chip}".encode(), b"-verbose"]
    if not _CHIP.fullmatch(chip) or library.create(ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options)):
        raise AssemblerError(f"NVIDIA's assembler knows no {chip}")
    try:
        data = text.encode() + b"\0"
        failed = library.add(handle, _PTX, data, len(data), b"kernels") or library.complete(handle)
        if failed:
            raise AssemblerError(_text(handle, library.error_size, library.error).strip() or f"error {failed} of NVIDIA's assembler")
        return Assembled(_bytes(handle, library.code_size, library.code), usages(_text(handle, library.info_size, library.info)))
    finally:
        library.destroy(ctypes.byref(handle))


def usages(log: str) -> list[Usage]:
    """The resources that each kernel takes, from what the assembler says when it is verbose."""
    heads = list(_ENTRY.finditer(log))
    made: list[Usage] = []
    for number, head in enumerate(heads):
        part = log[head.end() : heads[number + 1].start() if number + 1 < len(heads) else len(log)]
        stack, used = _STACK.search(part), _USED.search(part)
        if stack is None or used is None:
            raise AssemblerError(f"NVIDIA's assembler does not say what {head.group(1)} takes: {part.strip()}")
        made.append(Usage(head.group(1), int(used.group(1)), int(stack.group(1)), int(stack.group(2)) + int(stack.group(3))))
    return made


def _bytes(handle: ctypes.c_void_p, size: Callable[..., int], read: Callable[..., int]) -> bytes:
    count = ctypes.c_size_t()
    if size(handle, ctypes.byref(count)) or not count.value:
        return b""
    buffer = ctypes.create_string_buffer(count.value)
    return b"" if read(handle, buffer) else buffer.raw


def _text(handle: ctypes.c_void_p, size: Callable[..., int], read: Callable[..., int]) -> str:
    return _bytes(handle, size, read).rstrip(b"\0").decode(errors="replace")


class _Library(Struct, frozen=True):
    """The functions of the library; each gives 0 if it succeeds."""

    create: Callable[..., int]
    destroy: Callable[..., int]
    add: Callable[..., int]
    complete: Callable[..., int]
    code_size: Callable[..., int]
    code: Callable[..., int]
    info_size: Callable[..., int]
    info: Callable[..., int]
    error_size: Callable[..., int]
    error: Callable[..., int]


@lru_cache(maxsize=1)
def _library() -> _Library | None:
    path = _path()
    if path is None:
        return None
    loaded = ctypes.CDLL(path)
    version = _version(loaded)
    words = (
        "Create",
        "Destroy",
        "AddData",
        "Complete",
        "GetLinkedCubinSize",
        "GetLinkedCubin",
        "GetInfoLogSize",
        "GetInfoLog",
        "GetErrorLogSize",
        "GetErrorLog",
    )
    functions: list[Any] = [_function(loaded, word, version) for word in words]
    functions[2].argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    return _Library(*functions)


def _version(library: ctypes.CDLL) -> str:
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}_{minor.value}"


def _function(library: ctypes.CDLL, word: str, version: str) -> Any:
    """A function by its name, which ends in the version of the interface (the header's macros put it there)."""
    return getattr(library, f"__nvJitLink{word}_{version}")


def _path() -> str | None:
    """Where the library is: in a package, or where the system looks for libraries."""
    for package in ("nvidia-nvjitlink", "nvidia-nvjitlink-cu13", "nvidia-nvjitlink-cu12"):
        try:
            for file in files(package) or ():
                if _LIBRARY.search(file.name):
                    return str(file.locate())
        except PackageNotFoundError:
            continue
    return find_library("nvJitLink")
