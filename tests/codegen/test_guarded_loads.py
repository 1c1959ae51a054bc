"""Guarded loads in lanes stay near their array: an address with no memory behind it costs hundreds of cycles, masked or not."""

import ctypes
import mmap

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

CASES = {
    "rows above and below": ((40, 33), (3, 0), (0, 0), True),
    "rows by turns": ((20, 33), (1, 0), (1, 0), True),
    "columns, a few": ((30, 33), (0, 2), (0, 0), False),
    "columns, many": ((2, 400), (0, 500), (0, 0), True),
    "one after the other": ((900,), (900,), (0,), True),
}
"""Extents, padding (of one array before, of the other behind), interior padding, and whether loads would go far from the arrays."""


def padded(case: str, dtype: str) -> str:
    """Two pads of two arrays and their sum, which one nest computes."""
    extents, edge, interior, _ = CASES[case]
    none = [0] * len(extents)
    kind, result = (
        f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
        for shape in (extents, [n + (n - 1) * between + beside for n, between, beside in zip(extents, interior, edge, strict=True)])
    )
    before, behind = (f"low = {list(low)}, high = {list(high)}, interior = {list(interior)}" for low, high in ((edge, none), (none, edge)))
    return f"""func.func @main(%x: {kind}, %y: {kind}) -> {result} {{
  %c = stablehlo.constant dense<0.0> : tensor<{dtype}>
  %0 = stablehlo.pad %x, %c, {before} : ({kind}, tensor<{dtype}>) -> {result}
  %1 = stablehlo.pad %y, %c, {behind} : ({kind}, tensor<{dtype}>) -> {result}
  %2 = stablehlo.add %0, %1 : {result}
  return %2 : {result}
}}"""


def behind_a_hole(values: np.ndarray) -> np.ndarray:
    """A copy that begins with a page; the page before may not be read."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, values.nbytes + 2 * page)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), page, 0) == 0
    placed = np.frombuffer(memory, values.dtype, values.size, page).reshape(values.shape)
    placed[...] = values
    return placed


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("case", CASES)
def test_guarded_loads(case: str, dtype: str) -> None:
    module, rng = parse_module(padded(case, dtype)), np.random.default_rng(0)
    x, y = (behind_a_hole(rng.normal(size=CASES[case][0]).astype({"f64": np.float64, "f32": np.float32}[dtype])) for _ in range(2))
    compiled = compile(module)
    np.testing.assert_array_equal(compiled(x, y)[0], run(module, [x, y])[0])
    assert "llvm.masked.load" in compiled.llvm_text
    chosen = any("= select i1" in line and line.endswith((", ptr %p0", ", ptr %p1")) for line in compiled.llvm_text.splitlines())
    assert chosen == CASES[case][3]
