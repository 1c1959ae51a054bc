"""Describes GPUs, as far as schedules depend on them."""

from __future__ import annotations

from msgspec import Struct


class GpuTarget(Struct, frozen=True):
    """A GPU: ``warp`` threads run in lockstep, ``group`` is the usual size of a group, at most ``most_group``, with ``workgroup_bytes`` of shared memory.

    A thread has ``registers`` of 32 bits at most, and moves ``access_bytes`` at once; ``processors`` run ``resident`` threads each. Sizes are in bytes.
    ``shuffles``: reductions read registers of a warp's threads; ``multiplies``: a warp multiplies matrices by ``mma.sync``, also those of f32 if ``tf32``, of
    which it then takes ten bits of the mantissa.

    Times are estimates in cycles of a processor: ``launch_cycles`` from one launch to the next where nothing else is to be done, ``readback_cycles`` until the
    host has seen a value and the next launch runs, ``memory_cycles`` until global memory answers.
    """

    name: str
    warp: int
    group: int
    most_group: int
    registers: int
    workgroup_bytes: int
    access_bytes: int
    processors: int
    resident: int
    shuffles: bool = False
    multiplies: bool = False
    tf32: bool = False
    launch_cycles: int = 4000
    readback_cycles: int = 20000
    memory_cycles: int = 500

    @property
    def busy(self) -> int:
        """So many threads keep all processors busy while memory answers."""
        return self.processors * self.resident // 2


GPU_TARGETS = {
    "gpu": GpuTarget("gpu", 32, 256, 256, 255, 32 << 10, 16, 64, 1024),
    "sm_80": GpuTarget("sm_80", 32, 256, 1024, 255, 48 << 10, 16, 108, 2048, shuffles=True, multiplies=True),
    "sm_90": GpuTarget("sm_90", 32, 256, 1024, 255, 48 << 10, 16, 132, 2048, shuffles=True, multiplies=True),
    "gfx90a": GpuTarget("gfx90a", 64, 256, 1024, 512, 64 << 10, 16, 104, 2048),
    "gfx942": GpuTarget("gfx942", 64, 256, 1024, 512, 64 << 10, 16, 304, 2048),
}
"""GPUs by name. ``gpu`` is none in particular: what it needs any device of OpenCL has."""
