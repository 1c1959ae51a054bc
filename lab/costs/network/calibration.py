"""Fits alpha and beta of this machine to messages between two MPI processes, as programs here exchange them, and keeps them for this machine.

A message is timed as half of an exchange there and back by ``collective_permute``'s own operation, with the 8 bytes that say which collective it is of. Every
round takes a sample of each size, so that other work on the machine delays some samples of all sizes rather than all samples of one. The fit minimises squared
relative errors of ``alpha + m beta``, so that short messages count as long ones do.
"""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from wengert.dialects.stablehlo.process_groups import Grid
from wengert.lab.costs.network.network import ALPHA, BETA, Network
from wengert.runtime import cache
from wengert.runtime.errors import InputError
from wengert.runtime.spmd.device import Call
from wengert.runtime.spmd.mpi import MpiDevice, world
from wengert.transforms.schedule.host import host

SIZES = tuple(8 * 4**k for k in range(10))
"""Bytes of the messages: 8 to 2 MiB."""
ROUNDS, ATTEMPTS = 25, 4
"""How many samples of each size are taken before a fit, and how many fits are tried, each to the least times so far."""
_SHORT, _LONG = 200, 8
"""How many messages a sample of a short one and of a long one is the mean of."""


class Calibration(Struct, frozen=True):
    """The figures that were fitted.

    Attributes:
        alpha, beta: seconds for a message, and for a byte.
        factor: the largest factor between a measured time and the fitted one.
        library: the MPI library.
        taken: the day.
        seconds: the least time of a message of each number of bytes.
    """

    alpha: float
    beta: float
    factor: float
    library: str
    taken: str
    seconds: dict[int, float]


def calibrate_network() -> Calibration | None:
    """Times messages and fits; None on the process that does not tell.

    Raises InputError unless there are two processes, or where other work hides what a message or a byte costs.
    """
    comm = world()
    if comm.size != 2:
        raise InputError(
            f"messages are timed between two processes, and there {'is' if comm.size == 1 else 'are'} {comm.size}: mpiexec -n 2 wengert calibrate --mpi"
        )
    device = MpiDevice(comm, Grid(2, 1))
    taken = least_seconds(lambda size: _message_seconds(device, comm, size), comm.bcast)
    if comm.rank:
        return None
    alpha, beta = fit(taken)
    if hidden := hidden_cost(alpha, beta):
        raise InputError(f"no cost of a {hidden} is to be seen in the times, which other work on this machine may hide: try again when it is quiet")
    factor = max(max(t / (alpha + m * beta), (alpha + m * beta) / t) for m, t in taken.items())
    return Calibration(alpha, beta, factor, _library(), datetime.date.today().isoformat(), taken)


def least_seconds(sample: Callable[[int], float], agreed: Callable[[bool], bool]) -> dict[int, float]:
    """The least of the samples of each size, of which more are taken until both alpha and beta are seen in them, or all attempts are made.

    ``agreed`` returns what the first process says, on both.
    """
    taken = dict.fromkeys(SIZES, float("inf"))
    for _ in range(ATTEMPTS):
        for _ in range(ROUNDS):
            taken = {size: min(least, sample(size)) for size, least in taken.items()}
        if agreed(hidden_cost(*fit(taken)) is None):
            break
    return taken


def _message_seconds(device: MpiDevice, comm: Any, size: int) -> float:
    """The mean time of some messages of so many bytes."""
    call, array, other = Call("calibration", f"{size} bytes"), np.zeros(size, np.uint8), 1 - device.number
    repeats = max(_LONG, min(_SHORT, 2**22 // size))
    comm.Barrier()
    begun = time.perf_counter()
    for _ in range(repeats):
        if device.number == 0:
            device.pass_on(array, None, other, call)
            device.pass_on(array, other, None, call)
        else:
            device.pass_on(array, other, None, call)
            device.pass_on(array, None, other, call)
    return (time.perf_counter() - begun) / (2 * repeats)


def fit(taken: dict[int, float]) -> tuple[float, float]:
    """Alpha and beta, neither below 0, that minimise the squared relative errors."""
    optimize: Any = import_module("scipy.optimize")
    times = np.array(list(taken.values()))
    features = np.array([[1.0, float(size)] for size in taken])
    scale = np.array([1.0, max(taken)])
    (alpha, beta), _ = optimize.nnls(features / scale / times[:, None], np.ones(len(times)))
    return float(alpha / scale[0]), float(beta / scale[1])


def hidden_cost(alpha: float, beta: float) -> str | None:
    """Which of the two does not show in the times: a byte's where the longest message takes hardly more than an empty one, a message's the other way about."""
    if max(SIZES) * beta < 0.1 * alpha:
        return "byte"
    return "message" if alpha < 0.1 * min(SIZES) * beta else None


def _library() -> str:
    from mpi4py import MPI

    return MPI.Get_library_version().splitlines()[0].strip()


# -- what is kept


def network_path() -> Path | None:
    """The file of this machine's calibration; None where the cache is off."""
    folder = cache.folder()
    return None if folder is None else folder / f"network-{host().cpu}.json"


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Keeps a calibration, under another name first, so that a reader sees a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(msgspec.to_builtins(calibration), indent=1) + "\n")
    part.replace(path)


def read_calibration() -> Calibration | None:
    """The calibration of this machine, where there is one that can be read."""
    path = network_path()
    try:
        return None if path is None else msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError):
        return None


def default_network() -> Network:
    """The network of this machine where it was calibrated, or one that nothing is said of."""
    known = read_calibration()
    if known is None:
        return Network.flat(ALPHA, BETA, "assumed: --alpha and --beta, --network or 'wengert calibrate --mpi' say others")
    return Network.flat(known.alpha, known.beta, f"two processes of this machine, {known.taken}, within a factor of {known.factor:.2g}")
