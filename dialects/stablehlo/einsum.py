"""Labels of Einstein's summation: ``"...ij,jk->...ik"`` names the dimensions of operands and result.

A label that the result does not have is summed over, one that an operand has twice is its diagonal, and three dots are all dimensions that have no
label of their own, counted from the last one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_DOTS = "..."
_SIDE = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")


class EinsumLabels(Struct, frozen=True):
    """A label for every dimension of every operand and of the result; dimensions under three dots have the labels ``.0``, ``.1`` and so on."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @classmethod
    def of(cls, config: str, ranks: Sequence[int]) -> EinsumLabels:
        """The labels that a text gives operands of these ranks; a ValueError says what is wrong with it."""
        before, arrow, after = config.replace(" ", "").partition("->")
        sides = before.split(",")
        if not arrow or len(sides) != len(ranks):
            example = "ij,jk->ik" if len(ranks) == 2 else "ij->ji"
            raise ValueError(f'einsum_config must name the dimensions of {len(ranks)} operand(s) and of the result, such as "{example}", found "{config}"')
        operands = tuple(_labels(side, config, rank) for side, rank in zip(sides, ranks, strict=True))
        dotted = max((sum(name[0] == "." for name in names) for names in operands), default=0)
        result = _labels(after, config, len(after.replace(_DOTS, "")) + dotted * (_DOTS in after))
        if dotted and _DOTS not in after:
            raise ValueError(f"einsum_config must keep the dimensions under '...' in the result, found \"{config}\"")
        if len(set(result)) != len(result):
            raise ValueError(f'einsum_config must not repeat a label in the result, found "{config}"')
        missing = set(result) - {name for names in operands for name in names}
        if missing:
            raise ValueError(f"einsum_config has the label '{min(missing)}' in the result and in no operand, found \"{config}\"")
        return cls(operands, result)


def _labels(side: str, config: str, rank: int) -> tuple[str, ...]:
    if not _SIDE.fullmatch(side):
        raise ValueError(f"einsum_config consists of letters, and '...' at most once in each part, found \"{config}\"")
    first, dots, last = side.partition(_DOTS)
    free = rank - len(first) - len(last)
    if free < 0 or (free and not dots):
        raise ValueError(f'einsum_config names {len(first) + len(last)} dimensions by "{side}", but the operand has {rank}')
    return (*first, *(f".{d}" for d in reversed(range(free))), *last)
