"""Profiles of programs on OpenCL devices: the driver says when each kernel ran.

Equal launches share a kernel (``gpu-kernel-outlining``), so that a row is a kernel with all its launches, at the lines that they come from.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from wengert.dialects.gpu import LaunchFuncOp
from wengert.ir.construction import copy_module
from wengert.ir.location.locations import Role, provenance
from wengert.ir.traversal import ops_of
from wengert.lab.inputs import random_inputs
from wengert.lab.inspection.naming import SourceNames, plain_name
from wengert.lab.inspection.sources import Sources
from wengert.lab.inspection.subject import Subject
from wengert.lab.memory.arena_level import Describer, location_of
from wengert.lab.profile.profile import BUDGET, LEAST_RUNS, MOST_RUNS, KernelTime, Profile
from wengert.lab.profile.trace import Event
from wengert.runtime.derived.derivation import finishing
from wengert.runtime.devices.compile import compile as compile_for
from wengert.runtime.devices.opencl import TimedOpenCLDevice, device_named


@dataclass(frozen=True)
class _Run:
    """One run: the seconds of the call, and each launch with begin and end in nanoseconds."""

    seconds: float
    launches: list[tuple[str, int, int]]


def profile_on_opencl(subject: Subject, inputs: Sequence[Any] | None = None, budget: float = BUDGET) -> Profile:
    """Times the kernels of what a command looks at on the first OpenCL device.

    Raises:
        InputError: there is no such device, or the program cannot be compiled for it.
    """
    program = subject.program.specialize() if inputs is None else subject.program.specialized_for(inputs)
    given = random_inputs(program.signature, 0) if inputs is None else list(inputs)
    device = device_named(timed=True)
    assert isinstance(device, TimedOpenCLDevice)
    core = program.optimized_module
    module = copy_module(core)
    timed = compile_for(module, finishing(core, as_given=program.as_given), device)
    plain = program.compile("opencl")
    runs, calls = list[_Run](), list[float]()
    start = time.perf_counter()
    timed(*given)
    plain(*given)
    while len(runs) < LEAST_RUNS or (time.perf_counter() - start < budget and len(runs) < MOST_RUNS):
        calls.append(_seconds(lambda: plain(*given)))
        device.launches.clear()
        taken = _seconds(lambda: timed(*given))
        runs.append(_Run(taken, device.times()))
    kernels, numbers = _kernels(module, runs, SourceNames(subject.primal, subject.sources))
    best = min(runs, key=lambda run: run.seconds)
    first = min((begin for _, begin, _ in best.launches), default=0)
    on_device = sum(end - begin for _, begin, end in best.launches) / 1e9
    return Profile(
        title=f"{subject.title} on {device.name}",
        kernels=tuple(kernels),
        calls=len(runs),
        between=best.seconds - on_device,
        empty=0.0,
        plain=min(calls),
        plain_median=median(calls),
        timed=best.seconds,
        events=tuple(Event(numbers[name], (begin - first) / 1e9, (end - begin) / 1e9) for name, begin, end in best.launches),
        logged=True,
        sources=Sources(subject.sources),
        file=subject.name,
    )


def _seconds(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _kernels(module: Any, runs: Sequence[_Run], names: SourceNames) -> tuple[list[KernelTime], dict[str, int]]:
    """The kernels with their times, and the number of each by its name."""
    launches: dict[str, list[LaunchFuncOp]] = defaultdict(list)
    for op in ops_of(module, LaunchFuncOp):
        launches[op.kernel_name].append(op)
    numbers = {name: number for number, name in enumerate(launches)}
    times = {name: [sum(end - begin for each, begin, end in run.launches if each == name) / 1e9 for run in runs] for name in numbers}
    counts = {name: sum(each == name for each, _, _ in runs[0].launches) for name in numbers}
    describe = Describer(names)
    kernels: list[KernelTime] = []
    for name, ops in launches.items():
        more = f" and {len(ops) - 1} more" if len(ops) > 1 else ""
        derived = provenance(location_of(ops[0]))
        reverse = derived is not None and derived.role in (Role.COTANGENT, Role.ACCUMULATION)
        source = names.at(location_of(ops[0])).partition("#")[0]
        of = f", {derived.role.value} of {source or plain_name(derived.op_name)}" if derived is not None else f" {source}" if source else ""
        what = f"{name}{of}{more}"
        kernels.append(KernelTime(what, describe.line(ops[0]), reverse, counts[name], min(times[name]), median(times[name]), 0, 0, 0.0))
    return kernels, numbers
