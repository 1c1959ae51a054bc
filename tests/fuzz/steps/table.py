"""The table of steps: each adds one op, or a few, of a family to a program and returns the values that come of it."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.grower import Grower, Value

Step = Callable[[Grower], "list[Value] | None"]
FAMILIES: dict[str, list[Step]] = {}
"""The steps of each family. A step returns None where it made nothing."""


def step(family: str, weight: int = 1) -> Callable[[Step], Step]:
    """Registers a step of a family; a heavy one is taken more often."""

    def register(function: Step) -> Step:
        FAMILIES.setdefault(family, []).extend([function] * weight)
        return function

    return register
