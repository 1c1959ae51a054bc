"""Fingerprints of regions: equal for two that do the same with values of the same types, whatever values are called and wherever they were written."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Block, Region, SSAValue


def fingerprint(region: Region) -> tuple[Hashable, ...]:
    """A fingerprint of what a closed region does: two with equal fingerprints may take each other's place. Places and names do not count."""
    numbers: dict[SSAValue, int] = {}
    return _region(region, numbers)


def _region(region: Region, numbers: dict[SSAValue, int]) -> tuple[Hashable, ...]:
    order = {block: number for number, block in enumerate(region.blocks)}
    return tuple([_block(block, order, numbers) for block in region.blocks])


def _block(block: Block, order: dict[Block, int], numbers: dict[SSAValue, int]) -> tuple[Hashable, ...]:
    for argument in block.args:
        numbers[argument] = len(numbers)
    parts: list[Hashable] = [tuple(block.arg_types)]
    for op in block.ops:
        operands = tuple([numbers.setdefault(value, len(numbers)) for value in op.operands])
        for value in op.results:
            numbers.setdefault(value, len(numbers))
        inner = tuple([_region(region, numbers) for region in op.regions])
        successors = tuple([order[successor] for successor in op.successors])
        parts.append((op.name, operands, tuple(op.result_types), entries(op.properties), entries(op.attributes), successors, inner))
    return tuple(parts)


def entries(dictionary: dict[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    """A dictionary of attributes as a key."""
    return tuple(sorted(dictionary.items(), key=lambda entry: entry[0]))
