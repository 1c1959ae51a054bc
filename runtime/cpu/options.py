"""Options of the CPU backend, checked."""

from __future__ import annotations

import os

from msgspec import Struct

from wengert.runtime.errors import InputError
from wengert.transforms.codegen.cpu.machine_code import TIERS, Tier
from wengert.transforms.schedule.host import host

FLUSH = "WENGERT_FLUSH_SUBNORMALS"
"""The environment variable for programs that do not say whether subnormal numbers are zeros."""


class Options(Struct, frozen=True):
    """``strict`` turns reassociation and contraction off; ``opt`` is the tier of the code generator; ``flush`` makes zeros of subnormal numbers."""

    strict: bool = False
    opt: Tier = "best"
    flush: bool = False


def options_of(strict: bool = False, opt: Tier = "best", flush_subnormals: bool | None = None) -> Options:
    """The options that these arguments of :func:`wengert.runtime.cpu.compile` mean; an InputError if there is no such tier, or no mode for subnormal
    numbers."""
    if opt not in TIERS:
        raise InputError(f"opt must be 'best' or 'fast', found {opt!r}")
    flush = os.environ.get(FLUSH, "0") == "1" if flush_subnormals is None else flush_subnormals
    if flush:
        _check_flush()
    return Options(strict, opt, flush)


def _check_flush() -> None:
    from wengert.transforms.codegen.cpu.subnormals import can_flush  # here, because few programs ask for it

    if not can_flush(host().target):
        raise InputError(f"flush_subnormals: it is not known how a processor of the family {host().target.family!r} is told")
