"""Finds labels of a SPIR-V module that are there twice.

LLVM 22.1 now and then writes two labels of one number into a function, in a few percent of the times that it is given the same text. A driver then
crashes, or branches to the wrong one. So what it writes is looked at, and written again.

(The Khronos Group, "SPIR-V Specification" 1.6, 2.3 and 3.52: an instruction begins with a word that holds its length and its opcode.)
"""

from __future__ import annotations

import numpy as np

HEADER = 5
"""The words before the first instruction."""
LABEL = 248
"""The opcode of OpLabel."""


def repeated_labels(binary: bytes) -> list[int]:
    """The numbers of labels that are not unique."""
    words: list[int] = np.frombuffer(binary, np.uint32).tolist()
    seen: set[int] = set()
    repeated: list[int] = []
    at = HEADER
    while at < len(words):
        if words[at] & 0xFFFF == LABEL:
            (repeated.append if words[at + 1] in seen else seen.add)(words[at + 1])
        at += words[at] >> 16
    return repeated
