"""What the code generator needs to know about the processor."""

from __future__ import annotations

from msgspec import Struct


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
