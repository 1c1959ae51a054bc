"""Long sums are added up in parts: which are, and what they mean."""

import numpy as np
import pytest

from wengert.dialects.kernel import NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import lower
from wengert.transforms.schedule import chunks as parallel


def reduction(extents: tuple[int, ...], dims: list[int], element: str = "f32", kind: str = "add") -> str:
    whole = f"tensor<{'x'.join(map(str, extents))}x{element}>"
    kept = "x".join(str(n) for d, n in enumerate(extents) if d not in dims)
    part = f"tensor<{kept + 'x' if kept else ''}{element}>"
    return f"""func.func public @main(%x: {whole}) -> ({part}, {whole}) {{
        %zero = stablehlo.constant dense<0.0> : tensor<{element}>
        %e = stablehlo.exponential %x : {whole}
        %s = stablehlo.reduce(%e init: %zero) applies stablehlo.{kind} across dimensions = {dims} : ({whole}, tensor<{element}>) -> {part}
        return %s, %e : {part}, {whole} }}"""


@pytest.mark.parametrize(
    ("extents", "dims", "element", "nests"),
    [
        ((100000,), [0], "f32", 2),
        ((1000, 100), [0, 1], "f64", 2),
        ((2000, 50), [0], "f32", 2),  # columns
        ((50, 40, 50), [0, 1], "f32", 2),
        ((2000, 50), [1], "f32", 1),  # rows are independent already
        ((100003,), [0], "f32", 3),  # a prime: what no part has is added at the end
        ((2003, 50), [0], "f32", 3),
        ((1009, 1000), [0], "f64", 3),
        ((1000,), [0], "f32", 1),
    ],
)
def test_sums_across_all_iterations_are_split(extents: tuple[int, ...], dims: list[int], element: str, nests: int) -> None:
    text = reduction(extents, dims, element)
    module = lower(core_form(parse_module(text)))
    module.verify()
    assert sum(isinstance(op, NestOp) for op in module.walk()) == nests
    whole = lower(core_form(parse_module(text)), reassociate=False)
    assert sum(isinstance(op, NestOp) for op in whole.walk()) == 1
    x = np.random.default_rng(0).standard_normal(extents).astype({"f32": np.float32, "f64": np.float64}[element])
    for actual, expected in zip(run(module, [x]), run(parse_module(text), [x]), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=3e-5)


def test_every_part_has_a_sum_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST_CHUNKS", 4)
    module = lower(core_form(parse_module(reduction((100000,), [0]))))
    first, second = [op for op in module.walk() if isinstance(op, NestOp)]
    assert first.extents == (100, 1000)
    assert {(str(write.at), write.kind) for write in first.writes} == {("d0", "add"), ("d0 * 1000 + d1", "store")}
    assert second.extents == (100,)


def test_what_is_left_over_continues_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST_CHUNKS", 8)
    module = lower(core_form(parse_module(reduction((50021,), [0], kind="add"))))
    first, second, third = [op for op in module.walk() if isinstance(op, NestOp)]
    parts, length = first.extents
    assert second.extents == (parts,)
    assert third.extents == (50021 - parts * length,)
    assert third.extents[0] < length
    assert {first.outputs[0], first.outputs[1], second.outputs[0]} >= set(third.into)
    assert second.outputs[0] in third.into
    assert {(str(write.at), write.kind) for write in third.writes} == {("0", "add"), (f"d0 + {parts * length}", "store")}


@pytest.mark.parametrize("kind", ["add", "maximum", "minimum", "multiply"])
@pytest.mark.parametrize("seed", range(3))
def test_any_number_of_rows_gives_the_numbers_of_the_program(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and columns of any number, split as finely as can be."""
    monkeypatch.setattr(parallel, "GRAIN_NS", 20.0)
    monkeypatch.setattr(parallel, "LEAST_NS", 40.0)
    draw = np.random.default_rng(seed)
    extents, dims = (int(draw.integers(100, 3000)), int(draw.integers(1, 40))), [[0], [1], [0, 1]][int(draw.integers(3))]
    text = reduction(extents, dims, "f64", kind)
    x = draw.standard_normal(extents) * 1e-3
    for actual, expected in zip(compile(parse_module(text))(x), run(parse_module(text), [x]), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_sums_of_rows_beside_sums_of_columns_of_a_prime_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of what would be left over has its own sum, of which nothing was added up before."""
    monkeypatch.setattr(parallel, "GRAIN_NS", 20.0)
    monkeypatch.setattr(parallel, "LEAST_NS", 40.0)
    text = """func.func public @main(%x: tensor<1009x64xf32>) -> (tensor<1009xf32>, tensor<64xf32>, tensor<1009x64xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %e = stablehlo.exponential %x : tensor<1009x64xf32>
        %rows = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1009x64xf32>, tensor<f32>) -> tensor<1009xf32>
        %columns = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1009x64xf32>, tensor<f32>) -> tensor<64xf32>
        return %rows, %columns, %e : tensor<1009xf32>, tensor<64xf32>, tensor<1009x64xf32> }"""
    x = np.random.default_rng(0).standard_normal((1009, 64)).astype(np.float32)
    module = lower(core_form(parse_module(text)))
    for op in module.walk():
        if isinstance(op, NestOp) and any(target >= 0 for target in op.into):
            assert all("d0" not in str(write.at) or write.kind == "store" for write in op.writes)
    function = compile(parse_module(text))
    for _ in range(2):
        for actual, expected in zip(function(x), run(parse_module(text), [x]), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-4)
