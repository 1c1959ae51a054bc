"""Random bits by native code: equal to the interpreter's to the last bit, whatever the shape and width."""

import numpy as np
import pytest
from native_checks import check, function, tensor

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile


@pytest.mark.parametrize("element", ["ui64", "i32", "ui16", "f32"])
@pytest.mark.parametrize("shape", [(), (7,), (40,), (5, 4), (3, 37), (0, 3)])
@pytest.mark.parametrize(("algorithm", "words"), [("THREE_FRY", 2), ("PHILOX", 3), ("DEFAULT", 3)])
def test_bits(element: str, shape: tuple[int, ...], algorithm: str, words: int) -> None:
    state = np.array([0x0123456789ABCDEF, 2**64 - 3, 2**64 - 1][:words], np.uint64)
    op = f'"stablehlo.rng_bit_generator"($in) <{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}> : $type'
    text = function([tensor((words,), "ui64")], [tensor((words,), "ui64"), tensor(shape, element)], op)
    if element != "f32":
        check(text, [state])
        return
    integers = check(text.replace(tensor(shape, element), tensor(shape, "ui32")), [state])
    floats = compile(parse_module(text))(state)
    np.testing.assert_array_equal(floats[1].view(np.uint32), integers[1])
