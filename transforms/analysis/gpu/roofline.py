"""Predicts how long a kernel takes on a device, by a roofline: the slowest of memory, workgroup memory and arithmetic, and the launch.

    time = launch + max(bytes / (bandwidth u), shared bytes / shared bandwidth, flops / (peak v))

``u`` and ``v`` say how much of the device the launch keeps busy. By Little's law memory is busy if ``bandwidth * latency`` bytes are on their way, of which
every resident thread has those that it reads at once. Arithmetic is busy on the processors that have groups; the last groups may leave some without.
(Williams, Waterman, Patterson, "Roofline", CACM 52, 2009; Volkov, "Understanding Latency Hiding on GPUs", 2016.)

The published figures are in :mod:`wengert.transforms.analysis.gpu.devices`. What is not published is assumed, here, for all devices alike. Nothing was
measured, so predictions are for comparing kernels and programs, not for reports of speed.
"""

from __future__ import annotations

from math import ceil

from msgspec import Struct

from wengert.dialects.gpu.memory import DeviceSpace
from wengert.transforms.analysis.gpu.devices import PublishedDevice
from wengert.transforms.analysis.gpu.kernel_cost import KernelCost

LAUNCH_SECONDS = 2e-6
"""Assumed: from the end of a kernel to the beginning of the next one."""
LATENCY_SECONDS = 4e-7
"""Assumed: from a read to its value, when memory is not busy."""
FUNCTION_FLOPS = 20
"""Assumed: what a transcendental function takes in arithmetic, besides the flop that it is counted as."""
BUSY = 0.5
"""Launches that keep less of the memory busy than this wait for it rather than fill it."""
MOST_GROUPS = 32
"""The most groups of a processor."""


class Prediction(Struct, frozen=True):
    """The time of one launch, in seconds, and what it is made of; ``busy`` is the share of the memory's bandwidth that the launch has threads for."""

    memory: float
    shared: float
    arithmetic: float
    busy: float

    @property
    def seconds(self) -> float:
        """The whole."""
        return LAUNCH_SECONDS + max(self.memory, self.shared, self.arithmetic)

    @property
    def bound(self) -> str:
        """What takes longest."""
        parts = {
            "memory" if self.busy > BUSY else "latency": self.memory,
            "shared memory": self.shared,
            "arithmetic": self.arithmetic,
            "launch": LAUNCH_SECONDS,
        }
        return max(parts, key=lambda name: parts[name])


def predict(cost: KernelCost, device: PublishedDevice) -> Prediction:
    """How long one launch of a kernel takes on a device."""
    resident = _resident_groups(cost, device)
    running = min(cost.groups, device.processors * resident)
    rounds = ceil(cost.groups / device.processors)
    balance = cost.groups / (rounds * device.processors)
    on_the_way = running * cost.threads * _read_at_once(cost)
    busy = min(1.0, on_the_way / (device.bandwidth * LATENCY_SECONDS)) or 1.0
    shared = sum(access.asked for access in cost.accesses if access.space is DeviceSpace.WORKGROUP)
    work = sum(flops / device.peak(kind) for kind, flops in cost.flops.items()) + cost.transcendentals * FUNCTION_FLOPS / device.peak("f32")
    memory = moved_bytes(cost, device) / (device.bandwidth * busy)
    return Prediction(memory, shared / (device.shared_bandwidth * balance), work / balance, busy)


def moved_bytes(cost: KernelCost, device: PublishedDevice) -> float:
    """The bytes between a device's memory and a kernel: what fits half of the last cache is moved once."""
    fits = device.cache_bytes // 2
    return sum(traffic.needed if traffic.distinct <= fits else traffic.moved for traffic in cost.traffic.values())


def occupancy(cost: KernelCost, device: PublishedDevice) -> float:
    """The share of a processor's threads that groups of a kernel can fill, as far as threads and workgroup memory say; registers may leave less."""
    return _resident_groups(cost, device) * cost.threads / device.resident


def _resident_groups(cost: KernelCost, device: PublishedDevice) -> int:
    """How many groups run on a processor at once."""
    threads = ceil(cost.threads / device.warp) * device.warp
    limits = [MOST_GROUPS, device.resident // threads]
    if cost.workgroup_bytes:
        limits.append(device.shared_bytes // cost.workgroup_bytes)
    return max(min(limits), 1)


def _read_at_once(cost: KernelCost) -> float:
    """The bytes that a thread reads in the part of the kernel that is run most often, before it needs them."""
    reads = [access for access in cost.accesses if access.space is DeviceSpace.GLOBAL and not access.writes and access.stride != 0]
    most = max((access.count for access in reads), default=0.0)
    return sum(access.element * access.elements for access in reads if access.count >= most / 2) or 4.0
