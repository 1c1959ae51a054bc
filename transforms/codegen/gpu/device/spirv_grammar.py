"""Reads SPIR-V modules: which words of an instruction are numbers of values, for the instructions that LLVM writes for kernels.

The Khronos Group, "SPIR-V Specification" 1.6, 2.3 (the binary) and 3.52 (the instructions): a module is a header of five words, then instructions; the
first word of one holds its length and its opcode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

MAGIC = 0x07230203
HEADER = 5
"""The words before the first instruction, of which the fourth is above all numbers of values."""

PHI, LABEL, BRANCH, BRANCH_CONDITIONAL, SWITCH = 245, 248, 249, 250, 251
FUNCTION, PARAMETER, FUNCTION_END = 54, 55, 56
ENTRY_POINT, TYPE_INT, CALL = 15, 21, 57
TYPES = range(19, 40)
TERMINATORS = {BRANCH, BRANCH_CONDITIONAL, SWITCH, 252, 253, 254, 255}
CAPABILITY = 17
LINES = {8, 317}
"""Where the source is: these stand anywhere."""
FORWARD = {5, 6, 14, ENTRY_POINT, 16, 39, 71, 72, 73, 74, 331, 332, PHI, 246, 247, BRANCH, BRANCH_CONDITIONAL, SWITCH}
"""The instructions that may name what comes later."""
SAME_TYPE = {*range(126, 143), 149, 152, 166, 167, 168, *range(197, 201)}
"""The instructions whose operands have the type of their result: arithmetic on numbers, and logic."""

NAMES = {
    11: "OpExtInstImport",
    19: "OpTypeVoid",
    20: "OpTypeBool",
    21: "OpTypeInt",
    22: "OpTypeFloat",
    32: "OpTypePointer",
    33: "OpTypeFunction",
    43: "OpConstant",
    FUNCTION: "OpFunction",
    PARAMETER: "OpFunctionParameter",
    FUNCTION_END: "OpFunctionEnd",
    CALL: "OpFunctionCall",
    61: "OpLoad",
    62: "OpStore",
    124: "OpBitcast",
    PHI: "OpPhi",
    LABEL: "OpLabel",
    BRANCH: "OpBranch",
    BRANCH_CONDITIONAL: "OpBranchConditional",
    SWITCH: "OpSwitch",
    253: "OpReturn",
}
"""What messages call them; others by their opcode."""


class Form(Struct, frozen=True):
    """The meanings of an instruction's words, counted behind its first: ``type``, ``result`` (-1 for none), ``used`` and all from ``rest`` on."""

    type: int
    result: int
    used: tuple[int, ...]
    rest: int

    @classmethod
    def of(cls, text: str) -> Form:
        """A form in letters: ``t`` for the type of the result, ``r`` the result, ``i`` a value, ``l`` any other word; ``i*`` for as many as there are."""
        words = text.removesuffix("i*").removesuffix("l*")
        used = tuple(at for at, kind in enumerate(words) if kind == "i")
        return cls(words.find("t"), words.find("r"), used, len(words) if text.endswith("i*") else 1 << 16)


_FORMS: dict[str, Iterable[int]] = {
    "tr": (1, 41, 42, 46, 48, 49, PARAMETER),
    "tri*": (
        44,
        51,
        CALL,
        65,
        66,
        67,
        70,
        77,
        78,
        80,
        83,
        84,
        *range(109, 123),
        *range(124, 153),
        *range(154, 192),
        *range(194, 206),
        227,
        *range(229, 243),
        6035,
    ),
    "trl*": (43, 50),
    "trli*": (52, 59),
    "trli": (FUNCTION,),
    "trili*": (12,),
    "tril*": (61, 81, 123),
    "triil*": (79, 82),
    "rl*": (7, 11, 19, 20, 21, 22, 31, 34, 35, 36, 37, 38, LABEL),
    "ril*": (23,),
    "ri*": (28, 29, 30, 33),
    "rli": (32,),
    "iiil*": (64, BRANCH_CONDITIONAL),
    "iil*": (62, 63, 246),
    "il*": (5, 6, 8, 16, 39, 71, 72, 247, 256, 257),
    "ili*": (331, 332),
    "i*": (BRANCH, 224, 225, 228, 254),
    "l*": (0, 2, 3, 4, 10, 14, 17, FUNCTION_END, 252, 253, 255, 317, 330),
}
FORMS = {opcode: Form.of(text) for text, opcodes in _FORMS.items() for opcode in opcodes}
"""The forms of the instructions that are known here, but for OpEntryPoint, OpPhi and OpSwitch, which have their own."""
KNOWN = {*FORMS, ENTRY_POINT, PHI, SWITCH}


class Instruction(Struct, frozen=True):
    """An instruction.

    Attributes:
        opcode: which.
        type, result: the numbers of the type and of the result; 0 where it has none.
        used: the numbers of the values that it names besides its type; of an OpPhi values and blocks by turns, of an OpSwitch the selector and then the blocks.
        at: its first word in the module.
    """

    opcode: int
    type: int
    result: int
    used: tuple[int, ...]
    at: int

    @property
    def name(self) -> str:
        """As messages call it."""
        return NAMES.get(self.opcode, f"instruction {self.opcode}")

    @property
    def targets(self) -> tuple[int, ...]:
        """The blocks that may follow; empty for what is no branch."""
        if self.opcode == BRANCH:
            return self.used
        return self.used[1:] if self.opcode in (BRANCH_CONDITIONAL, SWITCH) else ()


class SPIRVError(Exception):
    """A module that breaks a rule of the specification, and where."""


def words_of(binary: bytes) -> list[int]:
    """The words of a module; a SPIRVError if it is none."""
    words: list[int] = np.frombuffer(binary, np.uint32, len(binary) // 4).tolist()
    if len(binary) % 4 or len(words) < HEADER or words[0] != MAGIC:
        raise SPIRVError("this is no SPIR-V module")
    return words


def instructions(words: Sequence[int]) -> Iterator[Instruction]:
    """The instructions of a module; of one that is not known here only the opcode. A SPIRVError where there can be none."""
    at = HEADER
    widths: dict[int, int] = {}  # of the types and the values that a switch may be about
    while at < len(words):
        opcode, length = words[at] & 0xFFFF, words[at] >> 16
        if not length or at + length > len(words):
            raise SPIRVError(f"the instruction at word {at} has {length} words")
        try:
            made = _instruction(opcode, words[at + 1 : at + length], at, widths)
        except IndexError:
            raise SPIRVError(f"the instruction at word {at} has {length} words") from None
        if opcode == TYPE_INT:
            widths[made.result] = words[at + 2]
        elif made.type in widths:
            widths[made.result] = widths[made.type]
        yield made
        at += length


def capabilities_of(binary: bytes) -> set[int]:
    """The numbers of the capabilities that a module asks for, which stand first."""
    words, at, capabilities = words_of(binary), HEADER, set[int]()
    while at + 1 < len(words) and words[at] == 2 << 16 | CAPABILITY:
        capabilities.add(words[at + 1])
        at += 2
    return capabilities


def _instruction(opcode: int, words: Sequence[int], at: int, widths: dict[int, int]) -> Instruction:
    form = FORMS.get(opcode)
    if form is not None:
        used = *[words[place] for place in form.used], *words[form.rest :]
        return Instruction(opcode, words[form.type] if form.type >= 0 else 0, words[form.result] if form.result >= 0 else 0, used, at)
    if opcode == PHI:
        return Instruction(opcode, words[0], words[1], tuple(words[2:]), at)
    if opcode == SWITCH:
        literal = 2 if widths.get(words[0], 32) > 32 else 1
        return Instruction(opcode, 0, 0, (words[0], words[1], *words[2 + literal :: literal + 1]), at)
    if opcode == ENTRY_POINT:
        return Instruction(opcode, 0, 0, (words[1], *words[_behind_string(words, 2) :]), at)
    return Instruction(opcode, 0, 0, (), at)


def _behind_string(words: Sequence[int], place: int) -> int:
    """Strings end with a byte that is zero, in a word that is filled with zeros."""
    while place < len(words) and words[place] >> 24:
        place += 1
    return place + 1
