"""Random bits as integer arithmetic on tensors: the interpreter's own, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from native_checks import function, tensor

from wengert.dialects import stablehlo
from wengert.dialects.kernel import InterpretOp, NativeOp, NestOp
from wengert.ir.construction import copy_module
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

STATE = np.array([0x0123456789ABCDEF, 2**64 - 3, 2**64 - 1], np.uint64)


def text_of(element: str, shape: tuple[int, ...], algorithm: str, words: int) -> str:
    op = f'"stablehlo.rng_bit_generator"($in) <{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}> : $type'
    return function([tensor((words,), "ui64")], [tensor((words,), "ui64"), tensor(shape, element)], op)


@pytest.mark.parametrize("element", ["ui64", "i32", "ui16", "f32", "f64", "ui8"])
@pytest.mark.parametrize("shape", [(), (7,), (40,), (5, 4), (3, 37), (0, 3)])
@pytest.mark.parametrize(("algorithm", "words"), [("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 3)])
def test_bits(element: str, shape: tuple[int, ...], algorithm: str, words: int) -> None:
    module = parse_module(text_of(element, shape, algorithm, words))
    expected = interpreter.run(module, [STATE[:words]])
    for pipeline in ("expand-random-bits", GPU_LOWER):
        made = parse_pipeline(pipeline).run(copy_module(module))
        verify(made, "")
        assert not ops_of(made, stablehlo.RngBitGeneratorOp, NativeOp, InterpretOp)
        for mine, theirs in zip(interpreter.run(made, [STATE[:words]]), expected, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()


def test_all_blocks_are_one_nest() -> None:
    made = parse_pipeline(GPU_LOWER).run(parse_module(text_of("ui64", (1000,), "THREE_FRY", 2)))
    assert len(ops_of(made, NestOp)) == 2, "one for the numbers, one for the state"


def test_what_is_not_defined_stays() -> None:
    made = parse_pipeline("expand-random-bits").run(parse_module(text_of("i1", (4,), "PHILOX", 2)))
    assert ops_of(made, stablehlo.RngBitGeneratorOp)
