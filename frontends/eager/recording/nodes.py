"""``Node``: what all nodes of the graph of gradients are instances of, though they do not inherit from it, as in PyTorch."""

from __future__ import annotations

from typing import Any

from wengert.eager.function import Context
from wengert.eager.recording.record import AccumulateGrad, Record

_KINDS = (Record, AccumulateGrad, Context)


class _NodeType(type):
    """Makes records, nodes of leaves and contexts of custom functions instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _KINDS)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls in subclass.__mro__ or issubclass(subclass, _KINDS)


class Node(metaclass=_NodeType):
    """A node of the graph of gradients: of an operation (``grad_fn``), of a leaf, or of a custom function, whose context counts as its node."""
