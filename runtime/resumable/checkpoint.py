r"""A checkpoint: how far a run is, and the values that the rest of it needs, in one file that is replaced as a whole.

The file is written beside the old one, brought to the disk, and renamed: whatever happens, one of the two is there, complete. Its end is a hash of all
before it, since not every file system keeps what it promises.

.. code-block:: text

    WENGERT-CHECKPOINT 1\n   length of the head (8 bytes)   head (JSON)   elements of the arrays, one after the other   SHA-256 (32 bytes)
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from wengert.runtime.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
Values = dict[int, Array]
"""Arrays by the numbers of values."""

_MAGIC = b"WENGERT-CHECKPOINT 1\n"
_DIGEST = 32


@dataclass(frozen=True)
class Checkpoint:
    """The progress of a run.

    Attributes:
        about: what is run, on what, by which version: a run goes on only from one that says the same.
        segment: the segment that is next, or under way.
        iteration: how many iterations of it have run, where it is a loop.
        values: of each device, what the rest needs.
    """

    about: Mapping[str, Any]
    segment: int
    iteration: int
    values: Sequence[Values]


def write(checkpoint: Checkpoint, path: str) -> None:
    """Puts a checkpoint in the place of the one before. Raises OSError; the one before is there then."""
    arrays = [(device, number, array) for device, values in enumerate(checkpoint.values) for number, array in sorted(values.items())]
    head = {
        "about": dict(checkpoint.about),
        "segment": checkpoint.segment,
        "iteration": checkpoint.iteration,
        "devices": len(checkpoint.values),
        "arrays": [[device, number, array.dtype.name, list(array.shape)] for device, number, array in arrays],
    }
    text, hashed, beside = json.dumps(head).encode(), sha256(), f"{path}.new"
    with open(beside, "wb") as file:
        for part in (_MAGIC, len(text).to_bytes(8, "little"), text, *(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for _, _, array in arrays)):
            file.write(part)
            hashed.update(part)
        file.write(hashed.digest())
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    _sync_folder(Path(path).resolve().parent)


def _sync_folder(folder: Path) -> None:
    """Brings the new name to the disk, where folders can be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: str) -> Checkpoint:
    """The checkpoint of a file. Raises InputError where it is none, or not complete, and OSError."""
    data = Path(path).read_bytes()
    if not data.startswith(_MAGIC):
        raise InputError(f"{path} is no checkpoint of a run")
    if sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise InputError(f"{path} is damaged: its contents do not have the hash at its end")
    place = len(_MAGIC) + 8
    length = int.from_bytes(data[len(_MAGIC) : place], "little")
    head, place = json.loads(data[place : place + length]), place + length
    values: list[Values] = [{} for _ in range(head["devices"])]
    for device, number, dtype, shape in head["arrays"]:
        type = _dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * type.itemsize
        values[device][number] = np.frombuffer(bytearray(data[place : place + size]), type).reshape(shape)
        place += size
    return Checkpoint(head["about"], head["segment"], head["iteration"], values)


def _dtype(name: str) -> np.dtype[Any]:
    """The dtype of a name, those of machine learning among them."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))
