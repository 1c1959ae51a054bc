"""Nests over the same rows run strip by strip: which do, and that the numbers stay the same."""

from math import prod

import numpy as np
import pytest

from wengert.dialects.kernel import NestOp, StripMineOp
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import lower
from wengert.transforms.pipelines import lowering, parse_pipeline


def softmax(extents: tuple[int, ...], more: str = "%y", scale: str = "") -> str:
    """A softmax along the last dimension; ``scale`` is a tensor's shape, broadcast along the leading dimensions."""
    whole, rows = f"tensor<{'x'.join(map(str, extents))}xf32>", f"tensor<{'x'.join(map(str, extents[:-1]))}xf32>"
    dims, last = list(range(len(extents) - 1)), len(extents) - 1
    types = {"%y": whole, "%e": whole, "%s": rows}
    results = more.split(", ")
    given, scaled = "", "%scaled = stablehlo.negate %x : " + whole
    if scale:
        kept = list(range(len(extents) - len(scale.split("x")), len(extents)))
        given = f", %w: tensor<{scale}xf32>"
        scaled = f"%b = stablehlo.broadcast_in_dim %w, dims = {kept} : (tensor<{scale}xf32>) -> {whole}\n%scaled = stablehlo.multiply %x, %b : {whole}"
    return f"""func.func public @main(%x: {whole}{given}) -> ({", ".join(types[r] for r in results)}) {{
        %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        {scaled}
        %m = stablehlo.reduce(%scaled init: %lo) applies stablehlo.maximum across dimensions = [{last}] : ({whole}, tensor<f32>) -> {rows}
        %mb = stablehlo.broadcast_in_dim %m, dims = {dims} : ({rows}) -> {whole}
        %d = stablehlo.subtract %scaled, %mb : {whole}
        %e = stablehlo.exponential %d : {whole}
        %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [{last}] : ({whole}, tensor<f32>) -> {rows}
        %sb = stablehlo.broadcast_in_dim %s, dims = {dims} : ({rows}) -> {whole}
        %y = stablehlo.divide %e, %sb : {whole}
        return {more} : {", ".join(types[r] for r in results)} }}"""


def strips(text: str, *, reassociate: bool = True) -> list[tuple[int, int]]:
    """The iterations and the number of nests of every ``kernel.strip_mine``."""
    module = lower(core_form(parse_module(text)), reassociate=reassociate)
    module.verify()
    return [(op.iterations.value.data, sum(isinstance(inner, NestOp) for inner in op.body.block.ops)) for op in module.walk() if isinstance(op, StripMineOp)]


def check(text: str, *extents: tuple[int, ...]) -> None:
    inputs = [np.random.default_rng(n).standard_normal(shape).astype(np.float32) for n, shape in enumerate(extents)]
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    for actual, means, expected in zip(compiled(*inputs), run(lower(core_form(module)), inputs), run(module, inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=1e-7)
        np.testing.assert_allclose(means, expected, rtol=2e-6, atol=1e-7)


def test_softmax_is_one_strip_mined_loop_with_a_small_arena() -> None:
    text = softmax((100, 1024))
    ((iterations, nests),) = strips(text)
    assert iterations > 10
    assert nests == 3
    assert compile(parse_module(text)).stats.arena_bytes < 100_000
    check(text, (100, 1024))


@pytest.mark.parametrize("more", ["%e, %y", "%y, %s", "%s, %e, %y"])
def test_values_that_are_needed_outside(more: str) -> None:
    text = softmax((60, 500), more)
    assert len(strips(text)) == 1
    check(text, (60, 500))


def test_several_leading_dimensions_are_rows_together() -> None:
    text = softmax((5, 3, 40, 70))
    ((iterations, _),) = strips(text)
    assert iterations > 5
    check(text, (5, 3, 40, 70))


@pytest.mark.parametrize(("scale", "extents"), [("70", (70,)), ("40x70", (40, 70)), ("3x40x70", (3, 40, 70))])
def test_what_is_read_whole_in_every_strip(scale: str, extents: tuple[int, ...]) -> None:
    text = softmax((15, 3, 40, 70), scale=scale)
    assert len(strips(text)) == 1
    check(text, (15, 3, 40, 70), extents)


@pytest.mark.parametrize("extents", [(8, 128), (99991, 3), (1, 100000)])
def test_where_strips_do_not_pay(extents: tuple[int, int]) -> None:
    """What is small, or has no good divisor, or a single row."""
    assert not strips(softmax(extents))


def test_a_column_sum_ends_a_strip() -> None:
    """The second use of the exponentials needs all rows of them."""
    text = """func.func @main(%x: tensor<200x300xf32>) -> tensor<200x300xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %e = stablehlo.exponential %x : tensor<200x300xf32>
        %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<200x300xf32>, tensor<f32>) -> tensor<300xf32>
        %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<300xf32>) -> tensor<200x300xf32>
        %y = stablehlo.divide %e, %sb : tensor<200x300xf32>
        return %y : tensor<200x300xf32> }"""
    assert not strips(text)
    check(text, (200, 300))


def normalised(extents: tuple[int, int]) -> str:
    """Quotients by a row's sum of squares; between them a loss, twice it, and the sums and largest elements of columns; and what follows from the loss."""
    n, m = extents
    whole, rows, columns = f"tensor<{n}x{m}xf32>", f"tensor<{n}xf32>", f"tensor<{m}xf32>"
    return f"""func.func @main(%x: {whole}) -> (tensor<f32>, {whole}, {columns}, {columns}) {{
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %q = stablehlo.multiply %x, %x : {whole}
        %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {rows}
        %sb = stablehlo.broadcast_in_dim %s, dims = [0] : ({rows}) -> {whole}
        %y = stablehlo.divide %x, %sb : {whole}
        %e = stablehlo.exponential %y : {whole}
        %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({whole}, tensor<f32>) -> tensor<f32>
        %twice = stablehlo.add %l, %l : tensor<f32>
        %c = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : ({whole}, tensor<f32>) -> {columns}
        %g = stablehlo.reduce(%e init: %least) applies stablehlo.maximum across dimensions = [0] : ({whole}, tensor<f32>) -> {columns}
        %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {rows}
        %tb = stablehlo.broadcast_in_dim %t, dims = [0] : ({rows}) -> {whole}
        %z = stablehlo.divide %e, %tb : {whole}
        return %twice, %z, %c, %g : tensor<f32>, {whole}, {columns}, {columns} }}"""


@pytest.mark.parametrize("extents", [(128, 700), (1000, 96)])
def test_what_is_combined_across_rows_is_combined_strip_by_strip(extents: tuple[int, int]) -> None:
    text = normalised(extents)
    ((iterations, nests),) = strips(text)
    assert iterations > 3
    assert nests == 3
    check(text, extents)


def test_strips_that_read_what_other_strips_wrote() -> None:
    """A column sum that is used ends strips; what comes then reads, row by row, what they wrote."""
    whole, rows, columns = "tensor<200x300xf32>", "tensor<200xf32>", "tensor<300xf32>"
    lines, x = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"], "%x"
    for n in range(3):
        lines += [
            f"%e{n} = stablehlo.exponential {x} : {whole}",
            f"%s{n} = stablehlo.reduce(%e{n} init: %zero) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {rows}",
            f"%sb{n} = stablehlo.broadcast_in_dim %s{n}, dims = [0] : ({rows}) -> {whole}",
            f"%y{n} = stablehlo.divide %e{n}, %sb{n} : {whole}",
            f"%c{n} = stablehlo.reduce(%y{n} init: %zero) applies stablehlo.add across dimensions = [0] : ({whole}, tensor<f32>) -> {columns}",
            f"%cb{n} = stablehlo.broadcast_in_dim %c{n}, dims = [1] : ({columns}) -> {whole}",
            f"%d{n} = stablehlo.multiply %y{n}, %cb{n} : {whole}",
        ]
        x = f"%d{n}"
    text = "\n".join([f"func.func @main(%x: {whole}) -> {whole} {{", *lines, f"return {x} : {whole} }}"])
    assert len(strips(text)) == 3
    check(text, (200, 300))


def test_strict_programs_combine_across_rows_in_one_go() -> None:
    assert all(nests < 3 for _, nests in strips(normalised((128, 700)), reassociate=False))


def layer_norm(extents: tuple[int, int]) -> str:
    """Rows without their mean, divided by their deviation: three nests that read the same rows, and pass on no more than sums."""
    n, m = extents
    whole, rows = f"tensor<{n}x{m}xf32>", f"tensor<{n}xf32>"
    return f"""func.func @main(%x: {whole}) -> {whole} {{
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %share = stablehlo.constant dense<{1 / m}> : {rows}
        %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {rows}
        %mean = stablehlo.multiply %s, %share : {rows}
        %mb = stablehlo.broadcast_in_dim %mean, dims = [0] : ({rows}) -> {whole}
        %c = stablehlo.subtract %x, %mb : {whole}
        %q = stablehlo.multiply %c, %c : {whole}
        %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {rows}
        %variance = stablehlo.multiply %v, %share : {rows}
        %r = stablehlo.rsqrt %variance : {rows}
        %rb = stablehlo.broadcast_in_dim %r, dims = [0] : ({rows}) -> {whole}
        %y = stablehlo.multiply %c, %rb : {whole}
        return %y : {whole} }}"""


@pytest.mark.parametrize("reassociate", [True, False])
def test_nests_that_read_the_same_rows_go_through_them_together(reassociate: bool) -> None:
    text = layer_norm((640, 256))
    ((iterations, nests),) = strips(text, reassociate=reassociate)
    assert iterations > 30
    assert nests == 3
    assert compile(parse_module(text)).stats.arena_bytes < 10_000
    check(text, (640, 256))


def test_rereading_what_stays_in_the_second_cache_is_no_reason() -> None:
    assert not strips(layer_norm((120, 256)))


def test_strict_programs_give_the_bits_of_nests_that_run_one_after_another() -> None:
    x = (np.random.default_rng(3).standard_normal((640, 256)) * np.logspace(-20, 15, 256)).astype(np.float32)
    text = lowering(reassociate=False)
    together, apart = (parse_pipeline(passes).run(core_form(parse_module(layer_norm((640, 256))))) for passes in (text, text.replace("strip-mine,", "")))
    assert [any(isinstance(op, StripMineOp) for op in module.walk()) for module in (together, apart)] == [True, False]
    assert compile(together, strict=True)(x)[0].tobytes() == compile(apart, strict=True)(x)[0].tobytes()


@pytest.mark.parametrize("flush", [False, True])
def test_rows_of_subnormal_numbers(flush: bool) -> None:
    """Sums of squares that vanish make rows of infinities or NaNs; with the mode, subnormal rows count as zeros."""
    x = np.full((640, 256), np.float32(1e-40))
    x[::2] = np.random.default_rng(4).standard_normal((320, 256)).astype(np.float32)
    module = parse_module(layer_norm((640, 256)))
    (actual,) = compile(module, flush_subnormals=flush)(x)
    with np.errstate(all="ignore"):
        (expected,) = run(module, [np.where(np.abs(x) < 1e-38, 0 if flush else x, x).astype(np.float32)])
    np.testing.assert_allclose(actual[::2], expected[::2], rtol=2e-5, atol=1e-5)
    assert np.array_equal(np.isfinite(actual[1::2]), np.isfinite(expected[1::2]))


@pytest.mark.parametrize("extents", [(4, 8), (8, 1024), (16, 1024), (64, 256), (100, 1024), (16, 128, 64)], ids=str)
def test_runs_whose_rows_are_not_looked_at_have_no_strips(extents: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided by bytes alone, before rows are looked at, is what rows would decide."""
    texts = [softmax(extents, more) for more in ("%y", "%y, %e", "%y, %s")]
    quick = [strips(text) for text in texts]
    monkeypatch.setattr("wengert.transforms.kernel.strip_mining._may_pay", bool)
    assert [strips(text) for text in texts] == quick
    assert any(quick) == (prod(extents) >= 1 << 14)
