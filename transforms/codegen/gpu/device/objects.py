"""Objects of devices from LLVM text: PTX, SPIR-V and AMDGPU objects, by LLVM's own back ends, in a process of their own."""

from __future__ import annotations

from typing import Any

from wengert.transforms.codegen.gpu.device import llvm_process
from wengert.transforms.codegen.gpu.device.llvm_process import DeviceCompileError
from wengert.transforms.codegen.gpu.device.spirv_check import SPIRVError, checked
from wengert.transforms.codegen.gpu.device.targets import SPIRV, DeviceTarget

__all__ = ["DeviceCompileError", "assembly", "binary", "bitcode", "optimized"]


def optimized(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> str:
    """LLVM text after LLVM's passes of this level.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    return llvm_process.compile(_request("optimized", target, chip, features, level), text).decode()


def bitcode(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> bytes:
    """LLVM text after LLVM's passes of this level, as bitcode.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    return llvm_process.compile(_request("bitcode", target, chip, features, level), text)


def assembly(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> str:
    """PTX for NVIDIA's devices, assembly for others, from LLVM text.

    Raises:
        DeviceCompileError: LLVM does not accept the text, or has no code for something in it.
    """
    return llvm_process.compile(_request("assembly", target, chip, features, level), text).decode()


def binary(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> bytes:
    """A SPIR-V module, or an object file that is still to be linked, from LLVM text.

    Raises:
        DeviceCompileError: LLVM does not accept the text, has no code for something in it, or wrote SPIR-V that is wrong.
    """
    made = llvm_process.compile(_request("binary", target, chip, features, level), text)
    if target is SPIRV:
        try:
            checked(made)
        except SPIRVError as error:
            raise DeviceCompileError(f"LLVM wrote SPIR-V that is wrong: {error}") from None
    return made


def _request(what: str, target: DeviceTarget, chip: str, features: str, level: int) -> dict[str, Any]:
    """What the process is asked; SPIR-V is written by one that has written none before."""
    return {
        "what": what,
        "triple": target.triple,
        "chip": chip,
        "features": features,
        "emission": target.level,
        "level": level,
        "fresh": target is SPIRV and what in ("assembly", "binary"),
    }
