"""The processor that this process runs on, as LLVM knows it: what code is generated for unless a target is named."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.transforms.schedule.target import TARGETS, Target, described


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
    return Host(llvm.get_process_triple(), cpu, features.flatten(), described(cpu, features, llvm.get_process_triple().partition("-")[0]))


HOST = "cpu"
"""The name of the processor that this process runs on."""

_NAMED = {
    "sse2": ("x86_64-unknown-linux-gnu", "x86-64"),
    "avx2": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "avx512": ("x86_64-unknown-linux-gnu", "x86-64-v4"),
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
