"""Traits of op classes, looked up once for each class."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Operation
from xdsl.traits import Pure


@lru_cache(maxsize=1024)
def is_pure(cls: type[Operation]) -> bool:
    """Whether ops of a class do nothing but compute their results."""
    return cls.has_trait(Pure, value_if_unregistered=False)
