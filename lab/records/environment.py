"""The environment of a run: the commit, the machine, and the versions of what takes part."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

PREFIXES = ("WENGERT_", "OMP_", "OPENBLAS_", "MKL_", "XLA_", "JAX_")
"""The beginnings of the environment variables that may change what is computed, or how fast."""
_ROOT = Path(__file__).resolve().parents[2]
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        name: what it calls itself.
        processor: the model of the processor, as the system says it.
        target: the processor as LLVM knows it.
        cores: those that this process may use.
        memory: bytes; 0 where it is not known.
        system: the operating system and its version.
        governor: how the processor's clock is chosen; empty where it is not known.
    """

    name: str
    processor: str
    target: str
    cores: int
    memory: int
    system: str
    governor: str = ""


@dataclass(frozen=True)
class Environment:
    """The environment of a run.

    Attributes:
        machine: the machine.
        commit: of the repository in the current folder; empty where there is none. ``-dirty`` at its end: files that it tracks were changed.
        wengert: the version of this package, with its commit where it is run from a repository.
        versions: of Python and of the packages that take part.
        variables: environment variables that may change what is computed.
        threads: the most threads that run a compiled program.
        plugins: the hash of each plug-in's file, by its source.
    """

    machine: Machine
    commit: str
    wengert: str
    versions: dict[str, str]
    variables: dict[str, str]
    threads: int
    plugins: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def hash(self) -> str:
        """The name of the environment: equal ones have the same."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return asdict(self)

    @staticmethod
    def of_json(fields: dict[str, Any]) -> Environment:
        """The environment that :meth:`to_json` wrote."""
        known: dict[str, Any] = {**fields, "machine": Machine(**fields["machine"])}
        return Environment(**known)


def environment() -> Environment:
    """The environment of this process."""
    from wengert import __version__
    from wengert.runtime.cpu.thread_count import default_threads

    own = commit_of(_ROOT) if (_ROOT / ".git").exists() else ""
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(PREFIXES)}
    wengert = f"{__version__} ({own})" if own else __version__
    return Environment(machine(), commit_of(Path.cwd()), wengert, versions(), variables, default_threads(), plugin_hashes())


@cache
def machine() -> Machine:
    """The machine that this process runs on."""
    from wengert.transforms.schedule.host import host

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(platform.node(), _processor(), host().cpu, cores, _memory(), platform.platform(), _governor())


def _processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() in ("model name", "Model", "cpu model")]
    return models[0] if models else platform.processor() or platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def _governor() -> str:
    try:
        return _GOVERNOR.read_text().strip()
    except OSError:
        return ""


@cache
def versions() -> dict[str, str]:
    """The versions of Python and of the packages that take part."""
    from importlib.metadata import PackageNotFoundError, version

    from wengert.transforms.schedule.host import llvm_binding

    known = {"python": platform.python_version(), "LLVM": ".".join(map(str, llvm_binding().llvm_version_info))}
    for name in ("numpy", "llvmlite", "xdsl", "scipy", *(name for name in ("jax", "torch") if name in sys.modules)):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


@cache
def commit_of(folder: Path) -> str:
    """The commit of the repository that a folder is in, with ``-dirty`` where files that it tracks were changed; empty where there is none."""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return ""
    return f"{commit}-dirty" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit


def _git(folder: Path, *words: str) -> str:
    """What a command of git prints; empty where it fails, takes long, or there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def plugin_hashes() -> dict[str, str]:
    """The hash of the file of each plug-in that was loaded; empty for one without a file."""
    from wengert.ir.plugins import LOADED

    return {source: _file_hash(plugin.file) for source, plugin in sorted(LOADED.items())}


def _file_hash(path: str) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()[:32] if path else ""
    except OSError:
        return ""


def load() -> float:
    """How many processes want to run, on average over the last minute; NaN where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return float("nan")
