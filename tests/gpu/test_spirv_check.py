"""SPIR-V is checked before a driver is given it: a module with one fault each, beside the same module without it."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.transforms.codegen.gpu.device.objects import binary
from wengert.transforms.codegen.gpu.device.spirv_check import SPIRVError, checked
from wengert.transforms.codegen.gpu.device.spirv_grammar import LABEL, instructions, words_of
from wengert.transforms.codegen.gpu.device.targets import SPIRV

HEADER = [0x07230203, 0x10400, 0, 40, 0]
VOID, INT, FLOAT, FUNCTION_TYPE, ONE, TWO, HALF, MAIN, A, B, C, SUM, CHOSEN = range(1, 14)

# A function with three blocks: A leads to B or C, B to C, which has a phi. (opcode, words ...)
MODULE: list[tuple[int, ...]] = [
    (17, 6),
    (14, 2, 2),
    (15, 6, MAIN, 0x6E69616D, 0),
    (5, MAIN, 0x6E69616D, 0),
    (19, VOID),
    (21, INT, 32, 0),
    (22, FLOAT, 32),
    (33, FUNCTION_TYPE, VOID),
    (43, INT, ONE, 1),
    (43, INT, TWO, 2),
    (43, FLOAT, HALF, 0x3F000000),
    (54, VOID, MAIN, 0, FUNCTION_TYPE),
    (248, A),
    (128, INT, SUM, ONE, TWO),
    (251, SUM, C, 5, B),
    (248, B),
    (249, C),
    (248, C),
    (245, INT, CHOSEN, ONE, A, SUM, B),
    (253,),
    (56,),
]


def assembled(module: list[tuple[int, ...]]) -> bytes:
    words = list(HEADER)
    for opcode, *rest in module:
        words += [(len(rest) + 1) << 16 | opcode, *rest]
    return np.array(words, np.uint32).tobytes()


def changed(at: tuple[int, ...], *instead: tuple[int, ...]) -> bytes:
    place = MODULE.index(at)
    return assembled([*MODULE[:place], *instead, *MODULE[place + 1 :]])


def test_a_module_that_is_right() -> None:
    checked(assembled(MODULE))


@pytest.mark.parametrize(("module", "message"), [
    (changed((248, B), (248, SUM)), "%12 is the result of two instructions, instruction 128 at word "),
    (changed((248, C), (248, A)), "%9 is the result of two instructions, OpLabel at word .* and OpLabel at word "),
    (changed((248, C), (248, 50)), "%50 is not below the module's bound 40"),
    (changed((128, INT, SUM, ONE, TWO), (128, INT, SUM, ONE, 30)), "%30, which instruction 128 at word .* uses, is not defined"),
    (changed((128, INT, SUM, ONE, TWO), (128, INT, SUM, ONE, CHOSEN)), "%13 is used by instruction 128 at word .*, before it is defined"),
    (changed((128, INT, SUM, ONE, TWO), (128, INT, SUM, ONE, HALF)), "%7, which instruction 128 at word .* uses, has another type than its result"),
    (changed((128, INT, SUM, ONE, TWO), (128, ONE, SUM, ONE, TWO)), "%5, the type of instruction 128 at word .*, is no type"),
    (changed((245, INT, CHOSEN, ONE, A, SUM, B), (245, INT, CHOSEN, ONE, A, HALF, B)), "%7, which OpPhi at word .* uses, has another type"),
    (changed((245, INT, CHOSEN, ONE, A, SUM, B), (245, INT, CHOSEN, ONE, A)), "OpPhi at word .* and the blocks that lead there differ in %10"),
    (changed((245, INT, CHOSEN, ONE, A, SUM, B), (245, INT, CHOSEN, ONE, A, SUM, C)), "OpPhi at word .* and the blocks that lead there differ in %10, %11"),
    (changed((249, C), (249, MAIN)), "OpBranch at word .* leads to %8, which is no block of its function"),
    (changed((249, C)), "OpLabel at word .* stands in a block that has no end"),
    (changed((253,), (253,), (249, C)), "OpBranch at word .* stands in no block"),
    (changed((253,)), "the last block of a function has no end"),
    (changed((56,)), "the last function has no end"),
    (changed((56,), (54, VOID, 20, 0, FUNCTION_TYPE)), "a function begins within another"),
    (assembled(MODULE)[:-2], "this is no SPIR-V module"),
    (b"\0" * 40, "this is no SPIR-V module"),
    (assembled(MODULE) + np.array([9 << 16 | 249], np.uint32).tobytes(), "the instruction at word .* has 9 words"),
    (assembled(MODULE) + np.array([0], np.uint32).tobytes(), "the instruction at word .* has 0 words"),
    (assembled(MODULE) + np.array([1 << 16 | 128], np.uint32).tobytes(), "the instruction at word .* has 1 words"),
])  # fmt: skip
def test_modules_that_are_wrong(module: bytes, message: str) -> None:
    with pytest.raises(SPIRVError, match=message):
        checked(module)


def test_instructions_that_are_not_known() -> None:
    """They may define what nothing else does."""
    checked(changed((128, INT, SUM, ONE, TWO), (5000, INT, 30), (128, INT, SUM, ONE, 30)))
    with pytest.raises(SPIRVError, match="is the result of two instructions"):
        checked(changed((128, INT, SUM, ONE, TWO), (5000, INT, 30), (128, INT, B, ONE, 30)))


TEXT = f"""target triple = "{SPIRV.triple}"
define spir_kernel void @k(ptr addrspace(1) %p, i64 %n) {{
entry:
  switch i64 %n, label %others [ i64 1, label %one  i64 20000000000, label %two ]
one:
  br label %end
two:
  %v = load i64, ptr addrspace(1) %p, align 8
  br label %end
others:
  br label %end
end:
  %x = phi i64 [ %n, %one ], [ %v, %two ], [ 5, %others ]
  store i64 %x, ptr addrspace(1) %p, align 8
  ret void
}}
"""


def test_every_label_of_a_real_module() -> None:
    """Whichever label gets whichever number that is there already, it is seen."""
    made = binary(TEXT, SPIRV, level=0)
    words, module = words_of(made), list(instructions(words_of(made)))
    labels = [one for one in module if one.opcode == LABEL]
    results = {one.result for one in module} - {0}
    assert len(labels) == 5
    assert len(results) > 12
    for label in labels:
        for number in results - {label.result}:
            damaged = np.array(words, np.uint32)
            damaged[label.at + 1] = number
            with pytest.raises(SPIRVError, match=f"%{number} is the result of two instructions"):
                checked(damaged.tobytes())
