"""Products in blocks of different sizes: one function for their blocks and one for runs of them, each with a table of sizes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.transforms.codegen.cpu.matmul.sizes import BlockSizes, LoopSizes, RunSizes


def products(*sizes: tuple[int, int, int]) -> str:
    """Products of matrices of these sizes: rows, terms, columns."""
    kinds = [(f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>") for m, k, n in sizes]
    arguments = ", ".join([f"%a{i}: {a}, %b{i}: {b}" for i, (a, b, _) in enumerate(kinds)])
    body = [f"  %{i} = stablehlo.dot_general %a{i}, %b{i}, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}" for i, (a, b, c) in enumerate(kinds)]
    results = ", ".join([c for _, _, c in kinds])
    names = ", ".join([f"%{i}" for i in range(len(kinds))])
    return f"func.func public @main({arguments}) -> ({results}) {{\n" + "\n".join(body) + f"\n  return {names} : {results}\n}}"


SIZES = ((300, 320, 310), (411, 290, 333), (256, 700, 512))


def test_products_of_any_size_share_a_block_and_a_run() -> None:
    text = compile(parse_module(products((300, 320, 310), (300, 290, 310), (300, 700, 310)))).llvm_text  # of as many rows and columns, so that tiles are equal
    for kind in ("block", "blocks"):
        assert len(re.findall(rf"^define internal void @wg\.{kind}\.f32", text, re.MULTILINE)) == 1
    tables = re.findall(r"^@kernel\d+\.sizes = internal constant \[(\d+) x i64\]", text, re.MULTILINE)
    assert tables == [str(len(BlockSizes.__struct_fields__) + len(RunSizes.__struct_fields__))] * 3


@pytest.mark.parametrize("sizes", [SIZES, ((300, 7, 310),), ((257, 1500, 1030),)], ids=["three", "few terms", "several columns of blocks"])
def test_results_are_right(sizes: tuple[tuple[int, int, int], ...]) -> None:
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(np.float32) for m, k, n in sizes for shape in ((m, k), (k, n))]
    for result, a, b in zip(compile(parse_module(products(*sizes)))(*inputs), inputs[::2], inputs[1::2], strict=True):
        exact = a.astype(np.float64) @ b
        np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-5 * float(np.abs(exact).max()))


def test_loops_around_a_product_stand_behind_its_sizes() -> None:
    kinds = "tensor<3x300x320xf32>", "tensor<3x320x310xf32>", "tensor<3x300x310xf32>"
    text = (
        f"func.func public @main(%a: {kinds[0]}, %b: {kinds[1]}) -> {kinds[2]} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}\n"
        f"  return %0 : {kinds[2]}\n}}"
    )
    compiled = compile(parse_module(text))
    count = sum(len(sizes.__struct_fields__) for sizes in (BlockSizes, RunSizes, LoopSizes))
    assert f".sizes = internal constant [{count} x i64]" in compiled.llvm_text
    a, b = (np.random.default_rng(n).standard_normal(shape).astype(np.float32) for n, shape in enumerate(((3, 300, 320), (3, 320, 310))))
    (result,) = compiled(a, b)
    np.testing.assert_allclose(result, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)
