"""Measures how much memory a tape keeps alive."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.eager.checkpoint import Frame, tensors_in
from wengert.eager.recording import dispatch
from wengert.eager.recording.program import Array
from wengert.eager.recording.record import Deferred, Output, Record, reachable
from wengert.eager.recording.saved_hooks import Packed
from wengert.eager.tensor import Tensor


def saved_bytes(*outputs: Tensor) -> int:
    """The bytes of all arrays that the tape behind these tensors keeps for derivatives, arguments of checkpoints and the tensors and arrays that hooks
    made of kept values included.

    Memory that several records keep counts once; that of leaves, which their owners keep anyway, does not count.

    >>> import wengert.eager as eager
    >>> x = eager.ones(1000, requires_grad=True)
    >>> y = x.sin()  # keeps x, which is a leaf
    >>> z = y.exp().tanh()  # each of these keeps its result
    >>> eager.saved_bytes(y), eager.saved_bytes(z)
    (0, 8000)
    """
    sources = [dispatch.source_of(y) for y in outputs]
    records = reachable([s.record if isinstance(s, Output) else s for s in sources if isinstance(s, Record | Output)])
    kept: list[Array] = []
    frames: set[Frame | Packed] = set()
    for record in records:
        arrays, deferred = record.holds()
        kept += arrays
        while deferred is not None and deferred.frame not in frames:
            frames.add(deferred.frame)
            call = deferred.frame.call
            if isinstance(deferred.frame, Packed):
                kept += [content for content in deferred.frame.contents if isinstance(content, np.ndarray)]
            deferred = call if isinstance(call, Deferred) else None
            if not isinstance(call, Deferred):
                kept += [x.array for x in tensors_in(call[1:])]
    leaves = {id(_owner(s.array)) for record in records for s in record.inputs if isinstance(s, Tensor)}
    owners = {id(owner): owner for array in kept if id(owner := _owner(array)) not in leaves}
    return sum(owner.nbytes for owner in owners.values())


def _owner(array: Array) -> Array:
    """The array whose memory it is."""
    while isinstance(base := cast(Any, array.base), np.ndarray):
        array = cast(Array, base)
    return array
