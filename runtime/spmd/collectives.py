"""Collectives on arrays, from what a device can do. Reductions combine in the order of the group, element by element, so that every device and every engine
gets the same bits.

A long all-reduce is a reduce-scatter followed by an all-gather, which sends 2 m (p - 1) / p bytes from each device (Rabenseifner 2004; Thakur, Rabenseifner,
Gropp 2005); a short one gathers everything, which takes one exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dialects.stablehlo.process_groups import Group
from wengert.runtime.spmd.device import Array, Call, Device
from wengert.transforms.analysis.communication import SHORT

Combine = Callable[[Any, Any], Any]


def folded(combine: Combine, parts: Sequence[Array]) -> Array:
    """Arrays combined from the first to the last."""
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return np.asarray(total)


def all_reduce(device: Device, group: Group, x: Array, combine: Combine, call: Call) -> Array:
    """The arrays of a group combined elementwise."""
    if x.nbytes <= SHORT or x.size < len(group):
        return folded(combine, device.gather(group, x, call))
    count = -(-x.size // len(group))
    flat = x.reshape(-1)
    if (missing := count * len(group) - x.size) > 0:
        flat = np.concatenate([flat, np.zeros(missing, x.dtype)])
    share = folded(combine, device.exchange(group, list(flat.reshape(len(group), count)), call))
    return np.concatenate(device.gather(group, share, call))[: x.size].reshape(x.shape)


def reduce_scatter(device: Device, group: Group, x: Array, axis: int, combine: Combine, call: Call) -> Array:
    """The share that this device has of the arrays of a group combined elementwise."""
    return folded(combine, device.exchange(group, np.split(x, len(group), axis), call))


def all_gather(device: Device, group: Group, x: Array, axis: int, call: Call) -> Array:
    """The arrays of a group, one after the other."""
    return np.concatenate(device.gather(group, x, call), axis)


def all_to_all(device: Device, group: Group, x: Array, split: int, concat: int, call: Call) -> Array:
    """The parts that the devices of a group have for this one, one after the other."""
    return np.concatenate(device.exchange(group, np.split(x, len(group), split), call), concat)


def permute(device: Device, pairs: Sequence[tuple[int, int]], x: Array, call: Call) -> Array:
    """Receives what another device sends here; zeros where nobody does."""
    here = device.number
    source = next((s for s, t in pairs if t == here), None)
    target = next((t for s, t in pairs if s == here), None)
    if source == here:
        return np.array(x)
    received = device.pass_on(x, source, target, call) if source is not None or target is not None else None
    return np.zeros_like(x) if received is None else received


def broadcast(device: Device, group: Group | None, x: Array, call: Call) -> Array:
    """The array of the first device of a group, in a tree of log2 p rounds; zeros on a device that is in none."""
    if group is None:
        return np.zeros_like(x)
    place, step, value = group.index(device.number), 1, np.array(x)
    while step < len(group):
        source = group[place - step] if step <= place < 2 * step else None
        target = group[place + step] if place < step and place + step < len(group) else None
        received = device.pass_on(value, source, target, call) if source is not None or target is not None else None
        value, step = value if received is None else received, 2 * step
    return value
