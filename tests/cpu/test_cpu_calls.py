"""Calling compiled programs: arguments of every kind, errors that name them, fresh results, threads, the cache."""

import os
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime import cache
from wengert.runtime.cpu import CompileError, compile
from wengert.runtime.errors import InputError
from wengert.transforms.codegen.cpu.machine_code import emit_object

ADD = """func.func public @main(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %z = stablehlo.add %x, %y : tensor<4x3xf32>
  return %z, %x : tensor<4x3xf32>, tensor<4x3xf32>
}"""


@pytest.fixture(scope="module")
def add():
    return compile(parse_module(ADD))


def grid() -> np.ndarray:
    return np.arange(12, dtype=np.float32).reshape(4, 3)


def read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


class Subclass(np.ndarray):
    pass


def unaligned(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)
    shifted = memory[1:].view(a.dtype).reshape(a.shape)
    shifted[...] = a
    return shifted


@pytest.mark.parametrize(
    "form",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
        lambda a: a[::-1][::-1],
        lambda a: a.astype(">f4"),
        lambda a: a.tolist(),
        read_only,
        lambda a: a.view(Subclass),
        unaligned,
    ],
)
def test_argument_forms(add, form) -> None:
    x = form(grid())
    z, copy = add(x, grid())
    assert type(z) is np.ndarray
    np.testing.assert_array_equal(z, 2 * grid())
    np.testing.assert_array_equal(copy, grid())


def test_results_are_fresh_and_inputs_unchanged(add) -> None:
    x, y = grid(), grid()
    z, copy = add(x, y)
    assert not np.shares_memory(copy, x)
    assert not np.shares_memory(z, x)
    again, _ = add(x, y)
    again[...] = 7
    np.testing.assert_array_equal(z, 2 * grid())
    np.testing.assert_array_equal(x, grid())
    assert z.flags.writeable
    assert z.flags.owndata


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected 2 inputs, found 0"),
        ((np.zeros((4, 3), np.float32),), "expected 2 inputs, found 1"),
        ((np.zeros((4, 4), np.float32), np.zeros((4, 3), np.float32)), "argument 0"),
        ((np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float64)), r"argument 1 .*float32\[4, 3\], found float64\[4, 3\]"),
        ((np.zeros((4, 3), np.float32), "text"), "argument 1"),
        ((np.zeros((4, 3), np.float32), None), "argument 1"),
    ],
)
def test_wrong_arguments_are_named(add, arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        add(*arguments)


def test_unknown_entry() -> None:
    with pytest.raises(InputError, match="@other"):
        compile(parse_module(ADD), entry="other")


@pytest.mark.parametrize("extents", ["0", "0x5", "5x0x2"])
def test_empty_tensors(extents: str) -> None:
    dims = tuple(int(n) for n in extents.split("x"))
    text = f"""func.func public @main(%x: tensor<{extents}xf64>) -> (tensor<{extents}xf64>, tensor<f64>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %y = stablehlo.tanh %x : tensor<{extents}xf64>
      %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [{", ".join(map(str, range(len(dims))))}] : (tensor<{extents}xf64>, tensor<f64>) -> tensor<f64>
      return %y, %s : tensor<{extents}xf64>, tensor<f64>
    }}"""
    y, s = compile(parse_module(text))(np.zeros(dims))
    assert y.shape == dims
    assert s.shape == ()
    assert s == 0


def test_no_arguments_and_constants_and_repeated_results() -> None:
    text = """func.func public @main() -> (tensor<3xi32>, tensor<3xi32>, tensor<f32>) {
      %c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
      %f = stablehlo.constant dense<1.5> : tensor<f32>
      return %c, %c, %f : tensor<3xi32>, tensor<3xi32>, tensor<f32>
    }"""
    a, b, f = compile(parse_module(text))()
    assert a.tolist() == b.tolist() == [1, 2, 3]
    assert f == np.float32(1.5)
    assert not np.shares_memory(a, b)


def test_huge_rank() -> None:
    extents = "x".join(["2"] + ["1"] * 24 + ["3"])
    text = f"""func.func public @main(%x: tensor<{extents}xf32>) -> tensor<{extents}xf32> {{
      %y = stablehlo.negate %x : tensor<{extents}xf32>
      return %y : tensor<{extents}xf32>
    }}"""
    x = np.arange(6, dtype=np.float32).reshape([2] + [1] * 24 + [3])
    np.testing.assert_array_equal(compile(parse_module(text))(x)[0], -x)


def test_long_chains_of_views_do_not_recurse() -> None:
    lines = [f"%x{i + 1} = stablehlo.{'transpose' if i % 2 else 'reverse'} %x{i}, dims = {'[1, 0]' if i % 2 else '[0]'} : " for i in range(600)]
    body = "\n".join(line + ("(tensor<3x3xf32>) -> tensor<3x3xf32>" if "transpose" in line else "tensor<3x3xf32>") for line in lines)
    module = parse_module(f"func.func public @main(%x0: tensor<3x3xf32>) -> tensor<3x3xf32> {{\n{body}\nreturn %x600 : tensor<3x3xf32>\n}}")
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert sorted(compile(module)(x)[0].ravel()) == sorted(x.ravel())


def test_error_inside_an_interpreted_op_comes_out() -> None:
    text = """func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = "stablehlo.custom_call"(%x) <{call_target_name = "nobody_knows_this"}> : (tensor<3xf32>) -> tensor<3xf32>
      return %y : tensor<3xf32>
    }"""
    with pytest.raises(Exception, match="nobody_knows_this"):
        compile(parse_module(text))(np.zeros(3, np.float32))


def test_threads_do_not_share_an_arena() -> None:
    text = """func.func public @main(%x: tensor<64x64xf64>) -> tensor<64x64xf64> {
      %t = stablehlo.tanh %x : tensor<64x64xf64>
      %d = stablehlo.dot_general %t, %t, contracting_dims = [1] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
      %e = stablehlo.dot_general %d, %t, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
      return %e : tensor<64x64xf64>
    }"""
    f = compile(parse_module(text))
    inputs = [np.random.default_rng(i).standard_normal((64, 64)) for i in range(4)]
    expected = [f(x)[0] for x in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        wrong.extend(i for _ in range(50) if not np.array_equal(f(inputs[i])[0], expected[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_strict_mode_sums_in_order() -> None:
    text = """func.func public @main(%x: tensor<1000xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
      return %s : tensor<f32>
    }"""
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    total = np.float32(0)
    for v in x:
        total += v
    assert compile(parse_module(text), strict=True)(x)[0] == total
    np.testing.assert_allclose(compile(parse_module(text))(x)[0], total, rtol=1e-4)


def test_bad_llvm_text_is_a_python_exception() -> None:
    with pytest.raises(CompileError):
        emit_object("define i32 @f( { nonsense")


def test_cache_hits_survives_damage_and_is_bounded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    module = parse_module(ADD)
    assert not compile(module).stats.cache_hit
    again = compile(module)
    assert again.stats.cache_hit
    np.testing.assert_array_equal(again(grid(), grid())[0], 2 * grid())
    (entry,) = tmp_path.glob("*.o")
    entry.write_bytes(entry.read_bytes()[:-7])
    assert not compile(module).stats.cache_hit
    for i in range(5):
        (tmp_path / f"{i}.o").write_bytes(b"x" * 1000)
        os.utime(tmp_path / f"{i}.o", (i, i))
    cache.sweep(tmp_path, (tmp_path / entry.name).stat().st_size + 1500)
    assert {p.name for p in tmp_path.glob("*.o")} == {entry.name, "4.o"}


def test_cache_off_or_unwritable_is_no_error(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert not compile(parse_module(ADD)).stats.cache_hit
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WENGERT_CACHE", str(blocked / "below"))
    assert not compile(parse_module(ADD)).stats.cache_hit


def test_stats_say_what_was_compiled(add) -> None:
    assert add.stats.kernels == 1
    assert not add.stats.interpreted
    assert set(add.stats.compile_ms) >= {"fuse", "codegen", "llvm"}
    assert "1 kernels" in str(add.stats)


LAYERS = """func.func public @main(%x: tensor<64x512xf64>, %w: tensor<512x512xf64>) -> tensor<64x512xf64> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x512xf64>, tensor<512x512xf64>) -> tensor<64x512xf64>
  %1 = stablehlo.tanh %0 : tensor<64x512xf64>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<64x512xf64>, tensor<512x512xf64>) -> tensor<64x512xf64>
  %3 = stablehlo.tanh %2 : tensor<64x512xf64>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<64x512xf64>, tensor<512x512xf64>) -> tensor<64x512xf64>
  return %4 : tensor<64x512xf64>
}"""


def test_peak_memory_is_what_was_predicted(monkeypatch) -> None:
    monkeypatch.setattr("wengert.runtime.cpu.entry.native_call", lambda *_: None)  # allocates before the call
    layers = compile(parse_module(LAYERS))
    x, w = np.ones((64, 512)), np.full((512, 512), 1e-3)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = layers(x, w)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert layers.stats.arena_bytes >= 2 * x.nbytes
    assert abs(peak - before - layers.stats.peak_bytes) < 4096
    assert result[0].nbytes == layers.stats.result_bytes


def test_tiers_agree_and_others_are_refused() -> None:
    module = parse_module(LAYERS)
    x, w = np.linspace(-1, 1, 64 * 512).reshape(64, 512), np.linspace(-0.1, 0.1, 512 * 512).reshape(512, 512)
    np.testing.assert_allclose(compile(module, opt="fast")(x, w)[0], compile(module)(x, w)[0], rtol=1e-12, atol=1e-12)
    with pytest.raises(InputError, match="'best' or 'fast'"):
        compile(module, opt="O3")


class OnlyDlpack:
    """What some array libraries offer: no conversion to NumPy but through DLPack."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_pass_by_dlpack(add) -> None:
    z, _ = add(OnlyDlpack(grid()), grid())
    taken = np.from_dlpack(z)
    assert np.shares_memory(taken, z)
    del z
    again, _ = add(grid() + 1, grid())  # memory that DLPack's consumer holds is not written again
    np.testing.assert_array_equal(taken, 2 * grid())
    np.testing.assert_array_equal(again, 2 * grid() + 1)
