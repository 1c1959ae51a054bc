"""Checks SPIR-V modules before a driver is given them, which may crash on what is wrong, or run it.

What is checked is what a defect of a compiler breaks first: that numbers of values are unique and defined before they are used, that types are types,
and that blocks, branches and phis fit together ("SPIR-V Specification" 1.6, 2.4 and 2.16).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wengert.transforms.codegen.gpu.device.spirv_grammar import (
    FORWARD,
    FUNCTION,
    FUNCTION_END,
    KNOWN,
    LABEL,
    LINES,
    PARAMETER,
    PHI,
    SAME_TYPE,
    TERMINATORS,
    TYPES,
    Instruction,
    SPIRVError,
    instructions,
    words_of,
)

__all__ = ["SPIRVError", "checked"]


def checked(binary: bytes) -> None:
    """Nothing, or a SPIRVError that says what is wrong with a module."""
    words = words_of(binary)
    module = list(instructions(words))
    complete = all(one.opcode in KNOWN for one in module)
    defined = _results(module, words[3])
    if complete:
        _uses(module, defined)
    for function in _functions(module):
        _blocks(function)


def _results(module: Sequence[Instruction], bound: int) -> dict[int, Instruction]:
    """The instruction that each number is the result of."""
    defined: dict[int, Instruction] = {}
    for one in module:
        if not one.result:
            continue
        first = defined.setdefault(one.result, one)
        if first is not one:
            raise SPIRVError(f"%{one.result} is the result of two instructions, {first.name} at word {first.at} and {one.name} at word {one.at}")
        if one.result >= bound:
            raise SPIRVError(f"%{one.result} is not below the module's bound {bound}")
    return defined


def _uses(module: Sequence[Instruction], defined: dict[int, Instruction]) -> None:
    """Whether what is used is there, and is of the kind that is asked for."""
    seen: set[int] = set()
    for one in module:
        for number in (one.type, *one.used) if one.type else one.used:
            if number not in defined:
                raise SPIRVError(f"%{number}, which {one.name} at word {one.at} uses, is not defined")
            if number not in seen and one.opcode not in FORWARD and defined[number].opcode != FUNCTION and number != one.result:
                raise SPIRVError(f"%{number} is used by {one.name} at word {one.at}, before it is defined")
        if one.type and defined[one.type].opcode not in TYPES:
            raise SPIRVError(f"%{one.type}, the type of {one.name} at word {one.at}, is no type")
        operands = one.used if one.opcode in SAME_TYPE else one.used[::2] if one.opcode == PHI else ()
        for number in operands:
            if defined[number].type != one.type:
                raise SPIRVError(f"%{number}, which {one.name} at word {one.at} uses, has another type than its result")
        if one.result:
            seen.add(one.result)


def _functions(module: Sequence[Instruction]) -> Iterator[list[Instruction]]:
    """The instructions of each function that has a body, from the first label on."""
    inside: list[Instruction] | None = None
    for one in module:
        if one.opcode in LINES:
            continue
        if one.opcode == FUNCTION:
            if inside is not None:
                raise SPIRVError(f"a function begins within another at word {one.at}")
            inside = []
        elif one.opcode == FUNCTION_END:
            if inside:
                yield inside
            inside = None
        elif inside is not None and one.opcode != PARAMETER:
            inside.append(one)
    if inside is not None:
        raise SPIRVError("the last function has no end")


def _blocks(function: Sequence[Instruction]) -> None:
    """Whether each block begins with a label and ends with a branch, and phis have a value for each block that leads here."""
    blocks: dict[int, list[Instruction]] = {}
    block: list[Instruction] | None = None
    for one in function:
        if (one.opcode == LABEL) is (block is not None):
            raise SPIRVError(f"{one.name} at word {one.at} stands " + ("in no block" if block is None else "in a block that has no end"))
        if block is None:
            blocks[one.result] = block = []
        else:
            block.append(one)
        if one.opcode in TERMINATORS:
            block = None
    if block is not None:
        raise SPIRVError("the last block of a function has no end")
    _edges(blocks)


def _edges(blocks: dict[int, list[Instruction]]) -> None:
    before: dict[int, set[int]] = {label: set() for label in blocks}
    for label, block in blocks.items():
        for target in block[-1].targets:
            if target not in before:
                raise SPIRVError(f"{block[-1].name} at word {block[-1].at} leads to %{target}, which is no block of its function")
            before[target].add(label)
    for label, block in blocks.items():
        for one in block:
            parents = set(one.used[1::2])
            if one.opcode == PHI and parents != before[label]:
                listed = ", ".join(f"%{number}" for number in sorted(before[label] ^ parents))
                raise SPIRVError(f"OpPhi at word {one.at} and the blocks that lead there differ in {listed}")
