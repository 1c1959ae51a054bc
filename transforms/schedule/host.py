"""The processor that this process runs on, as LLVM knows it: what code is generated for unless a target is named."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.transforms.schedule.target import GENERIC, TARGETS, Target, described


def llvm_binding() -> Any:
    """llvmlite's binding, imported late: it takes longer than many programs take to compile (and has no types)."""
    import llvmlite.binding

    return llvmlite.binding


class Host(Struct, frozen=True):
    """The processor that code is generated for, as LLVM names it."""

    triple: str
    cpu: str
    features: str
    target: Target


@lru_cache(maxsize=1)
def host() -> Host:
    """The machine that this process runs on."""
    llvm = llvm_binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    cpu = llvm.get_host_cpu_name()
    triple = llvm.get_process_triple()
    return Host(triple, cpu, features.flatten(), described(cpu, features, triple.partition("-")[0], _second_level_bytes()))


def _second_level_bytes() -> int:
    """The size of a core's second-level cache, as Linux says it; elsewhere a common one."""
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    for index in sorted(folder.glob("index*")):
        try:
            level, size = ((index / name).read_text().strip() for name in ("level", "size"))
        except OSError:
            continue
        if level == "2" and size.endswith("K") and size[:-1].isdecimal() and int(size[:-1]) > 0:
            return int(size[:-1]) << 10
    return GENERIC.second_level_bytes


HOST = "cpu"
"""The name of the processor that this process runs on."""

_NAMED = {
    "sse2": ("x86_64-unknown-linux-gnu", "x86-64"),
    "avx2": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "avx512": ("x86_64-unknown-linux-gnu", "x86-64-v4"),
    "zen4": ("x86_64-unknown-linux-gnu", "znver4"),
    "neon": ("aarch64-unknown-linux-gnu", "generic"),
}
"""LLVM's triple and processor for each target of a name."""


@lru_cache(maxsize=8)
def processor_named(name: str) -> Host:
    """A processor by name as LLVM knows it; a DiagnosticError if there is none.

    Code for processors of other families can be written and read, not run.
    """
    target = target_named(name)
    if name == HOST:
        return host()
    llvm = llvm_binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, cpu = _NAMED[name]
    return Host(triple, cpu, "", target)


def target_named(name: str) -> Target:
    """A processor by name; a DiagnosticError if there is none."""
    if name == HOST:
        return host().target
    if name not in TARGETS:
        raise DiagnosticError(Diagnostic(f"there is no target '{name}'; {did_you_mean(name, TARGETS) or 'there are ' + ', '.join((HOST, *TARGETS))}"))
    return TARGETS[name]
