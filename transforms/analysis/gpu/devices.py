"""Published figures of GPUs: bandwidth, peaks, caches. Nothing in this table was measured by us.

Sources: NVIDIA, "H100 Tensor Core GPU Architecture" (2022), "H100 Tensor Core GPU" and "H200 Tensor Core GPU" (data sheets, SXM), "A100 Tensor Core GPU
Architecture" (2020) and "A100 80GB Tensor Core GPU" (data sheet, SXM); AMD, "Instinct MI210 Accelerator" and "Instinct MI300X Accelerator" (data sheets),
"CDNA 3 Architecture" (2023). Peaks of matrix units are without sparsity.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class PublishedDevice(Struct, frozen=True):
    """A GPU as its makers describe it.

    Attributes:
        name: as the command line has it.
        title: the product.
        target: the description that schedules are made for, by its name.
        bandwidth: of the memory, bytes per second.
        peaks: flops per second by the type of elements (a fused multiply-add is two), those of matrix units as ``tensor bf16``.
        processors: multiprocessors or compute units.
        clock: the highest, in Hz.
        cache_bytes: of the last cache.
        shared_bytes: workgroup memory of a processor.
        resident: threads of a processor.
        warp: threads in lockstep.
    """

    name: str
    title: str
    target: str
    bandwidth: float
    peaks: Mapping[str, float]
    processors: int
    clock: float
    cache_bytes: int
    shared_bytes: int
    resident: int = 2048
    warp: int = 32

    @property
    def shared_bandwidth(self) -> float:
        """Bytes per second between threads and the workgroup memory of all processors: 32 banks of 4 bytes in every cycle (CUDA C++ Programming Guide; AMD's
        instruction set references say the same of the local data share)."""
        return self.processors * 128 * self.clock

    def peak(self, kind: str) -> float:
        """Flops per second on elements of a type; narrow floats are computed in f32, and complex numbers in their parts."""
        return self.peaks.get({"c128": "f64", "c64": "f32"}.get(kind, kind)) or self.peaks["f32"]


def _peaks(f64: float, f32: float, tf32: float, f16: float) -> Mapping[str, float]:
    """The table of peaks, from teraflops."""
    units = {"f64": f64, "f32": f32, "tensor tf32": tf32, "tensor f16": f16, "tensor bf16": f16}
    return {name: 1e12 * value for name, value in units.items()}


_HOPPER = _peaks(33.5, 66.9, 494.7, 989.4)
PUBLISHED = {
    device.name: device
    for device in (
        PublishedDevice("h100", "NVIDIA H100 SXM", "sm_90", 3.35e12, _HOPPER, 132, 1.98e9, 50 << 20, 228 << 10),
        PublishedDevice("h200", "NVIDIA H200 SXM", "sm_90", 4.8e12, _HOPPER, 132, 1.98e9, 50 << 20, 228 << 10),
        PublishedDevice("a100", "NVIDIA A100 80GB SXM", "sm_80", 2.039e12, _peaks(9.7, 19.5, 156, 312), 108, 1.41e9, 40 << 20, 164 << 10),
        PublishedDevice("mi210", "AMD Instinct MI210", "gfx90a", 1.6e12, _peaks(22.6, 22.6, 22.6, 181), 104, 1.7e9, 8 << 20, 64 << 10, warp=64),
        PublishedDevice("mi300x", "AMD Instinct MI300X", "gfx942", 5.3e12, _peaks(81.7, 163.4, 653.7, 1307.4), 304, 2.1e9, 256 << 20, 64 << 10, warp=64),
    )
}
"""The devices by name."""
