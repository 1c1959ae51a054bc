"""The processor that this process runs on, as LLVM knows it: what code is generated for unless a target is named."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from wengert.transforms.schedule.target import Target


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
    return Host(llvm.get_process_triple(), cpu, features.flatten(), _target(cpu, features, llvm.get_process_triple().partition("-")[0]))


def _target(cpu: str, features: dict[str, bool], family: str) -> Target:
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512dq") and features.get("avx512bw"):
        return Target(cpu, 64, 32, True, 'nounwind "prefer-vector-width"="512"', family)
    if features.get("avx2"):
        return Target(cpu, 32, 16, bool(features.get("f16c")), family=family)
    neon = bool(features.get("neon"))
    return Target(cpu, 16, 32 if neon else 16, neon or bool(features.get("f16c")), family=family)
