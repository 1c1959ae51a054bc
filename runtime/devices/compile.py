"""Compiles a module for a device: to kernels, launches on buffers, objects of the device, and a callable."""

from __future__ import annotations

import time
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects import gpu
from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.dumps import Dumper
from wengert.ir.pipeline.observers import PassTimes
from wengert.ir.pipeline.stages import stage
from wengert.ir.traversal import ops_in, ops_of
from wengert.runtime.devices.executable import DeviceFunction, loaded
from wengert.runtime.devices.interface import Device
from wengert.runtime.errors import InputError
from wengert.transforms.lowering import function
from wengert.transforms.pipelines import EMIT_GPU, gpu_lowering, gpu_placing, joined, parse_pipeline


def device_for(backend: str, device: str = "") -> Device:
    """The device of a backend.

    Raises:
        InputError: it is not there; says what to install.
    """
    if backend == "opencl":
        from wengert.runtime.devices.opencl import device_named

        return device_named(device)
    if backend == "cuda":
        from wengert.runtime.devices import cuda

        return cuda.device_named(device)
    from wengert.runtime.devices.ptx import PTXInterpreter

    return PTXInterpreter()


FRONT_END = ("expand-functions", "schedule")
"""The passes that the phases ``fuse`` and ``codegen`` of the compile times begin with."""


@stage(last=True)
def compile(
    module: ModuleOp, before: str, device: Device, *, entry: str = "main", dump_dir: Path | None = None, poison: bool = False, tf32: bool = False
) -> DeviceFunction:
    """A function of a module as a callable on arrays whose kernels run on a device. The module is changed in place.

    Args:
        module: a program that core passes have run on, or one of kernels or launches, which is compiled as it stands.
        before: a pipeline that runs first.
        device: what it runs on.
        entry: the function to compile.
        dump_dir: a folder for the IR after every pass, and the assembly of the kernels.
        poison: fills memory with wrong values before every call, so that a test sees what is read before it was written.
        tf32: products of f32 take ten bits of the mantissas of their factors, where the device has tensor cores.

    Raises:
        InputError: a type or an op that cannot be compiled, at its place, or a program for another device.
        DeviceError: the device has not enough memory, or refused the kernels.
    """
    times = PassTimes()
    try:
        _lower(module, before, device, times, Dumper(dump_dir) if dump_dir is not None else None, tf32=tf32)
    except DiagnosticError as error:
        raise InputError(f"{error.diagnostic.place}: error: {error.diagnostic.message}") from None
    spent = _phases(times)
    start = time.perf_counter()
    kernels = {op.sym_name.data: loaded(op, device) for op in ops_in(module.body.block) if isinstance(op, gpu.BinaryOp)}
    spent["load"] = 1e3 * (time.perf_counter() - start)
    main: FuncOp = function(module, entry)
    return DeviceFunction(main, device, kernels, spent, poison=poison)


def _lower(module: ModuleOp, before: str, device: Device, times: PassTimes, dumper: Dumper | None, *, tf32: bool) -> None:
    """Runs all passes; with a folder for dumps, the kernels are also written as text."""
    placed = parse_pipeline(
        joined(before, remaining(module, device.schedule, tf32=tf32), "" if _is_compiled(module) else device.attach, EMIT_GPU if dumper is not None else "")
    )
    placed.run(module, time_passes=times, observer=dumper)
    if dumper is not None and len([op for op in module.ops if isinstance(op, gpu.ModuleOp)]) == 1:
        placed.translate(module, observer=dumper)
    parse_pipeline(device.to_binary).run(module, time_passes=times, observer=dumper)


def remaining(module: ModuleOp, target: str = "gpu", *, tf32: bool = False) -> str:
    """The pipeline from a module to modules of a device, which ``schedule`` knows as ``target``; empty for what has them, and of kernels only how they run."""
    if any(isinstance(op, gpu.ModuleOp | gpu.BinaryOp) for op in module.ops):
        return ""
    if ops_of(module, gpu.LaunchOp):
        return "gpu-kernel-outlining"
    return gpu_placing(target, tf32=tf32) if holds_kernels(module) else gpu_lowering(target, tf32=tf32)


def _is_compiled(module: ModuleOp) -> bool:
    return any(isinstance(op, gpu.BinaryOp) or (isinstance(op, gpu.ModuleOp) and op.targets is not None) for op in module.ops)


def _phases(times: PassTimes) -> dict[str, float]:
    """The milliseconds of the phases: core passes, fusion, schedules and launches, the objects of the device."""
    names, phase = dict(zip(FRONT_END, ("fuse", "codegen"), strict=True)) | {"gpu-module-to-binary": "llvm"}, "core"
    spent: dict[str, float] = {}
    for run in times.runs:
        phase = names.get(run.pass_.name, phase)
        spent[phase] = spent.get(phase, 0.0) + 1e3 * run.seconds
    return spent
