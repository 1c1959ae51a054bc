"""Describes processors, as far as schedules and code depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean


class Target(Struct, frozen=True):
    """A processor: the bytes of a vector register, how many there are, and whether f16 conversion is in hardware.

    ``attributes`` are LLVM function attributes that every kernel gets; ``family`` is the first part of the triple.
    """

    name: str
    vector_bytes: int
    vector_registers: int
    has_f16: bool
    attributes: str = "nounwind"
    family: str = ""


GENERIC = Target("generic", 16, 16, False)

NOMINAL = Target("nominal", 32, 16, True)
"""For estimates of work where the processor is not known yet."""

HOST = "cpu"
"""The name of the processor that this process runs on."""
_LONG_VECTORS = 'nounwind "prefer-vector-width"="512"'
TARGETS = {
    "sse2": Target("sse2", 16, 16, False, family="x86_64"),
    "avx2": Target("avx2", 32, 16, True, family="x86_64"),
    "avx512": Target("avx512", 64, 32, True, _LONG_VECTORS, "x86_64"),
    "neon": Target("neon", 16, 32, True, family="aarch64"),
}
"""Processors by name, for schedules that do not depend on where they are made."""


def target_named(name: str) -> Target:
    """A processor by name; a DiagnosticError if there is none."""
    if name == HOST:
        return host_target()
    if name not in TARGETS:
        raise DiagnosticError(Diagnostic(f"there is no target '{name}'; {did_you_mean(name, TARGETS) or 'there are ' + ', '.join((HOST, *TARGETS))}"))
    return TARGETS[name]


@lru_cache(maxsize=1)
def host_target() -> Target:
    """The processor that this process runs on."""
    import llvmlite.binding as llvm  # here: it takes longer than many programs take to compile  # pyright: ignore[reportMissingTypeStubs]

    return described(llvm.get_host_cpu_name(), llvm.get_host_cpu_features(), llvm.get_process_triple().partition("-")[0])  # pyright: ignore


def described(name: str, features: Mapping[str, bool], family: str) -> Target:
    """The processor that LLVM knows by this name and these features."""
    if all(features.get(feature) for feature in ("avx512f", "avx512vl", "avx512dq", "avx512bw")):
        return Target(name, 64, 32, True, _LONG_VECTORS, family)
    if features.get("avx2"):
        return Target(name, 32, 16, bool(features.get("f16c")), family=family)
    neon = bool(features.get("neon"))
    return Target(name, 16, 32 if neon else 16, neon or bool(features.get("f16c")), family=family)
