"""Functions that are equal up to integers: merged where they leave their work to others, with the results that they had."""

from __future__ import annotations

import re

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.alike import LEAST_LINES, MOST_NUMBERS, merged

LOOP = """define internal void @{name}(ptr %frame, i64 %chunk) nounwind {{
%1 = mul nsw i64 %chunk, {step}
%2 = getelementptr float, ptr %frame, i64 {step}
br label %loop1
loop1:
%3 = phi i64 [{first}, %0], [%4, %loop1]
call void @wg.tile.f32(ptr %2, i64 {size}, i64 7, i64 %1)
store i32 {size}, ptr %frame, align 4
{padding}%4 = add nuw nsw i64 %3, 2
%5 = icmp ult i64 %4, {step}
br i1 %5, label %loop1, label %after
after:
ret void
}}
"""


def loop(name: str, step: int, size: int, first: int = 0, padding: str = f"{'%x = add i64 1, 1' + chr(10)}" * LEAST_LINES) -> str:
    return LOOP.format(name=name, step=step, size=size, first=first, padding=padding)


def test_numbers_that_differ_come_from_a_table() -> None:
    texts, common = merged({"a": loop("a", 12, 300), "b": loop("b", 64, 500)})
    assert texts["a"].startswith("@a.numbers = internal constant [2 x i64] [i64 12, i64 300], align 8\n")
    assert "call void @alike0(ptr %frame, i64 %chunk, ptr @b.numbers)\nret void\n" in texts["b"]
    assert "[i64 64, i64 500]" in texts["b"]
    assert common.startswith("define internal void @alike0(ptr %frame, i64 %chunk, ptr noalias readonly %numbers) noinline nounwind {\n")
    assert "%1 = mul nsw i64 %chunk, %number0\n" in common
    assert "%5 = icmp ult i64 %4, %number0\n" in common, "a number that differs in the same way is one"
    assert "ptr %2, i64 %number1, i64 7, i64 %1)" in common
    assert "%number1.short = trunc i64 %number1 to i32\n" in common
    assert "store i32 %number1.short, ptr %frame, align 4\n" in common
    assert "phi i64 [0, %0]" in common, "numbers that are equal stay"


def test_equal_numbers_of_two_functions_are_two_if_they_differ_in_a_third() -> None:
    _, common = merged({"a": loop("a", 12, 12), "b": loop("b", 64, 64), "c": loop("c", 64, 12, first=1)})
    assert "phi i64 [%number1, %0]" in common
    assert "i64 %number2, i64 7" in common


@pytest.mark.parametrize(
    "other",
    [
        loop("b", 64, 500).replace("float", "double"),
        loop("b", 64, 500).replace("nounwind", "noinline nounwind"),
        loop("b", 64, 500).replace("%chunk)", "%chunk, ptr %more)"),
        loop("b", 64, 500).replace("wg.tile.f32", "kernel3"),
        loop("b", 64, 500, padding=""),
    ],
    ids=["instructions", "attributes", "parameters", "no shared function", "few lines"],
)
def test_functions_stay_that_differ_otherwise(other: str) -> None:
    kernels = {"a": loop("a", 12, 300), "b": other}
    assert merged(kernels) == (kernels, "")


def test_functions_that_differ_in_many_numbers_stay() -> None:
    kernels = {
        name: loop(name, 12, 300, padding="".join(f"%x{n} = add i64 %1, {n * factor}\n" for n in range(1, MOST_NUMBERS + 2)))
        for name, factor in (("a", 3), ("b", 5))
    }
    assert merged(kernels) == (kernels, "")


def test_functions_of_one_text_are_merged_alone() -> None:
    texts, common = merged({"a": f"@a.table = internal constant i64 1\n{loop('a', 12, 300)}{loop('a.rest', 13, 300)}"})
    assert texts["a"].startswith("@a.table = internal constant i64 1\n@a.numbers = internal constant [1 x i64] [i64 12]")
    assert texts["a"].count("call void @alike0(") == 2
    assert common.count("define ") == 1


def convolutions(*dilations: int) -> str:
    """Convolutions of 16 features, one after the other, whose windows are ever wider apart."""
    image, window = "tensor<1x512x16xf32>", "tensor<2x16x16xf32>"
    lines = [
        f"  %{n + 1} = stablehlo.convolution(%{n}, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride = [1], pad = [[{d}, 0]], rhs_dilate = [{d}]}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {window}) -> {image}"
        for n, d in enumerate(dilations)
    ]
    body = "\n".join(lines).replace("%0,", "%x,")
    return f"func.func public @main(%x: {image}, %w: {window}) -> {image} {{\n{body}\n  return %{len(dilations)} : {image}\n}}"


def test_convolutions_of_one_form_are_compiled_once() -> None:
    module = parse_module(convolutions(1, 2, 4, 8))
    compiled = compile(module)
    text = compiled.llvm_text
    assert len(re.findall(r"^define internal void @alike\d+\(", text, re.MULTILINE)) >= 1
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in ((1, 512, 16), (2, 16, 16))]
    for result, expected in zip(compiled(*inputs), run(module, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4 * float(np.abs(expected).max()))


def test_lines_of_kernels_are_not_mixed() -> None:
    assert "@alike" not in compile(parse_module(convolutions(1, 2, 4)), debug_lines=True).llvm_text
