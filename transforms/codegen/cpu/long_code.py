"""Divides long code: LLVM's time for a block, a call and the values that are live in between grows faster than their number.

What is counted are ops of a nest, not instructions, which are others where fewer lanes are active: LLVM contracts products and sums within a block, and has to
do so alike in the registers of a loop and in its remainder.
"""

from __future__ import annotations

OF_BLOCK = 256
"""Straight-line code is divided into blocks of so many ops."""
BETWEEN_STORES = 32
"""In code of several blocks values are stored after so many ops, not after all, so that they need no registers, nor memory on the stack, up to the end."""
PARAMETERS = 64
"""A kernel of more pointers takes them in an array (:mod:`wengert.transforms.codegen.cpu.pointers.frames`)."""
POINTERS = 64
"""So many pointers of a function, or fewer, are computed once (:mod:`wengert.transforms.codegen.cpu.pointers.near_pointers`)."""


def is_long(ops: int) -> bool:
    """Whether code of so many ops has several blocks."""
    return ops > OF_BLOCK


def begins_block(number: int) -> bool:
    """Whether a block begins at an op, by its number in the code."""
    return number > 0 and number % OF_BLOCK == 0


def stored_before(number: int) -> range:
    """The numbers of the ops whose values long code stores in front of an op."""
    return range(number - BETWEEN_STORES, number) if number > 0 and number % BETWEEN_STORES == 0 else range(0)


def needs_frame(pointers: int) -> bool:
    """Whether a kernel of so many pointers takes them in an array."""
    return pointers > PARAMETERS


def computed_near(pointers: int) -> bool:
    """Whether so many pointers of a function are computed where they are used."""
    return pointers > POINTERS
