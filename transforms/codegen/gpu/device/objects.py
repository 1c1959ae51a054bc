"""Objects of devices from LLVM text: PTX, SPIR-V and AMDGPU objects, by LLVM's own back ends."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from wengert.ir.stages import LOCK
from wengert.transforms.codegen.gpu.device.spirv_labels import repeated_labels
from wengert.transforms.codegen.gpu.device.targets import SPIRV, DeviceTarget
from wengert.transforms.schedule.host import llvm_binding

ATTEMPTS = 200
"""How often SPIR-V is written until its labels are unique (:mod:`wengert.transforms.codegen.gpu.device.spirv_labels`)."""


class DeviceCompileError(RuntimeError):
    """LLVM rejected the generated code: a defect of this compiler."""


@lru_cache(maxsize=1)
def _llvm() -> Any:
    llvm = llvm_binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # without it an atomic sum of floats ends the process
    llvm.set_option("wengert", "--spirv-ext=+SPV_EXT_shader_atomic_float_add")
    # it looks for checksums in loops of 8, 16, 24, ... iterations, along every path through their bodies: seconds for one of a hundred ops
    llvm.set_option("wengert", "--disable-loop-idiom-hashrecognize")
    return llvm


def _machine(target: DeviceTarget, chip: str, features: str) -> Any:
    """A new machine for each module: that of SPIR-V keeps what it knows of the last one, and a second one ends the process."""
    return _llvm().Target.from_triple(target.triple).create_target_machine(cpu=chip, features=features, opt=target.level)


def optimized(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> str:
    """LLVM text after LLVM's passes of this level.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    with LOCK:
        return str(_optimized(text, target, chip, features, level))


def bitcode(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> bytes:
    """LLVM text after LLVM's passes of this level, as bitcode.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    with LOCK:
        return _optimized(text, target, chip, features, level).as_bitcode()


def assembly(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> str:
    """PTX for NVIDIA's devices, assembly for others, from LLVM text.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    with LOCK:
        return _machine(target, chip, features).emit_assembly(_optimized(text, target, chip, features, level))


def binary(text: str, target: DeviceTarget, chip: str = "", features: str = "", *, level: int = 2) -> bytes:
    """A SPIR-V module, or an object file that is still to be linked, from LLVM text.

    Raises:
        DeviceCompileError: LLVM does not accept the text.
    """
    with LOCK:
        module, failed = _optimized(text, target, chip, features, level), list[Any]()
        if target is not SPIRV:
            return _machine(target, chip, features).emit_object(module)
        final = str(module)
        for _ in range(ATTEMPTS):
            made: bytes = _machine(target, chip, features).emit_object(module)
            if not repeated_labels(made):
                return made
            failed.append(module)  # it keeps its memory, so that the next one gets other addresses
            final = _rotated(final)
            module = _optimized(final, target, chip, features, 0)
    raise DeviceCompileError(f"LLVM wrote SPIR-V with two labels of one number {ATTEMPTS} times")


def _rotated(text: str) -> str:
    """The text with its first function behind the others."""
    head, *functions = re.split(r"(?m)^(?=define )", text)
    body, end, rest = functions[-1].partition("\n}\n")
    return "".join((head, *functions[1:-1], body, end, "\n", functions[0], rest)) if len(functions) > 1 else text


def _optimized(text: str, target: DeviceTarget, chip: str, features: str, level: int) -> Any:
    llvm = _llvm()
    machine = _machine(target, chip, features)
    try:
        module = llvm.parse_assembly(text)
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise DeviceCompileError(f"LLVM rejected generated code: {error}") from None
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.slp_vectorization = options.loop_vectorization = False  # a thread is one lane
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return module
