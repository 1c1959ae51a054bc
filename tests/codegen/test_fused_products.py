"""Products that are finished in their blocks: the bits are those of two kernels, for any sizes and layouts, on any number of threads, at every stage."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.kernel import FusedOp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import all_ops
from wengert.ir.verification.verifier import verify
from wengert.runtime.cpu import pool
from wengert.runtime.cpu.pool_code import available
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import lowering, parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
FRONT = f"to-core,{lowering()},schedule"

ENDS = {
    "bias": ("%b: tensor<NxT>", "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<NxT>) -> tensor<MxNxT>\n%r = stablehlo.add %s, %1 : tensor<MxNxT>"),
    "rows": ("%b: tensor<MxT>", "%1 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<MxT>) -> tensor<MxNxT>\n%r = stablehlo.multiply %1, %s : tensor<MxNxT>"),
    "residual": ("%b: tensor<MxNxT>", "%1 = stablehlo.tanh %s : tensor<MxNxT>\n%r = stablehlo.add %1, %b : tensor<MxNxT>"),
    "transposed": ("%b: tensor<NxMxT>", "%1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<NxMxT>) -> tensor<MxNxT>\n%r = stablehlo.subtract %s, %1 : tensor<MxNxT>"),
    "scale": ("%b: tensor<T>", "%1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<T>) -> tensor<MxNxT>\n%r = stablehlo.multiply %s, %1 : tensor<MxNxT>"),
    "square": ("%b: tensor<T>", "%r = stablehlo.multiply %s, %s : tensor<MxNxT>"),
}  # fmt: skip


def program(end: str, layout: str, sizes: tuple[int, int, int], element: str, *, kept: bool) -> str:
    """A product of operands that may be transposed, and what is computed of it; perhaps the product too."""
    m, n, k = sizes
    a, b = (f"{k}x{m}" if layout[0] == "T" else f"{m}x{k}"), (f"{n}x{k}" if layout[1] == "T" else f"{k}x{n}")
    dims = f"contracting_dims = [{0 if layout[0] == 'T' else 1}] x [{1 if layout[1] == 'T' else 0}]"
    argument, text = ENDS[end]
    results = ["tensor<MxNxT>"] * (1 + kept)
    whole = f"""
func.func public @main(%x: tensor<{a}xT>, %w: tensor<{b}xT>, {argument}) -> ({", ".join(results)}) {{
  %s = stablehlo.dot_general %x, %w, {dims} : (tensor<{a}xT>, tensor<{b}xT>) -> tensor<MxNxT>
  {text}
  return %r{", %s" if kept else ""} : {", ".join(results)}
}}"""
    for name, value in (("xT>", f"x{element}>"), ("<T>", f"<{element}>"), ("M", str(m)), ("N", str(n))):
        whole = whole.replace(name, value)
    return whole


def inputs_of(program: wg.Program, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=p.shape).astype(p.dtype) for p in program.signature.arguments]


def fused_ops(module: Any) -> list[FusedOp]:
    return [op for op in all_ops(module) if isinstance(op, FusedOp)]


def compiled_in_two(text: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    """The program compiled without the pass."""
    with monkeypatch.context() as patch:
        patch.setattr("wengert.runtime.cpu.compilation.placing", lambda *, strict=False: f"schedule{{strict={str(strict).lower()}}},bufferize")
        patch.setenv("WENGERT_CACHE", "off")
        return wg.parse(text).compile(**options)


@pytest.mark.parametrize("seed", range(10))
def test_random_sizes_and_layouts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    sizes = (random.randint(250, 420), random.choice([random.randint(250, 400), 256, 320]), random.randint(300, 400))
    end, layout = list(ENDS)[seed % len(ENDS)], random.choice(["NN", "NT", "TN", "TT"])
    text = program(end, layout, sizes, random.choice(["f32", "f64"]), kept=random.random() < 0.5)
    strict = random.random() < 0.3
    parsed = wg.parse(text)
    arguments = inputs_of(parsed, seed)
    module = parse_pipeline(f"to-core,{lowering()},schedule,fuse-epilogues").run(parse_module(text))
    assert len(fused_ops(module)) == 1 or end == "transposed"  # which may run in squares instead
    monkeypatch.setenv("WENGERT_CACHE", "off")
    program_of_one, two = parsed.compile(strict=strict), compiled_in_two(text, monkeypatch, strict=strict)
    expected = two(*arguments)
    threads = pool.threads() if available() else 1
    for count in (1, 2, 8):
        if available():
            pool.set_threads(count)
        try:
            for got, same in zip(program_of_one(*arguments), expected, strict=True):
                np.testing.assert_array_equal(got, same)
        finally:
            if available():
                pool.set_threads(threads)
    for got, exact in zip(expected, run(parse_module(text), arguments), strict=True):
        np.testing.assert_allclose(got, exact, rtol=0, atol=(2e-5 if got.dtype == np.float32 else 1e-13) * abs(exact).max())


@pytest.mark.parametrize("kept", [False, True])
def test_every_stage_is_read_again_and_runs(kept: bool) -> None:
    text = program("residual", "NN", (300, 310, 320), "f32", kept=kept)
    module = parse_module(text)
    arguments = inputs_of(wg.parse(text), 0)
    expected = run(module, arguments)
    for stage in (f"{FRONT},fuse-epilogues", "bufferize"):
        module = parse_pipeline(stage).run(module)
        verify(module)
        module = parse_module(print_module(module))
        verify(module)
        assert len(fused_ops(module)) == 1
        for got, exact in zip(run(module, arguments), expected, strict=True):
            np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


def test_a_network_and_its_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    text = program("residual", "NN", (320, 310, 300), "f64", kept=False)
    derivative = wg.parse(text).vjp()
    arguments = inputs_of(derivative, 3)
    for got, exact in zip(derivative.compile()(*arguments), run(derivative.module, arguments), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-10)


def test_subnormal_sums_are_finished_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    text = program("scale", "NN", (300, 310, 320), "f32", kept=False)
    parsed = wg.parse(text)
    a, b, scale = inputs_of(parsed, 5)
    a[7:30] *= np.float32(2.0**-130)
    (got,) = parsed.compile()(a, b, scale)
    exact = (a.astype(np.float64) @ b.astype(np.float64)) * float(scale)
    np.testing.assert_allclose(got[7:30], exact[7:30], rtol=0, atol=2e-5 * abs(exact[7:30]).max() + 2.0**-140)
    np.testing.assert_allclose(got, exact, rtol=0, atol=2e-5 * abs(exact).max())
    assert (abs(got[7:30]) < np.finfo(np.float32).tiny).any()


TEXT = """
func.func public @main(%x: tensor<8x6xf32>, %w: tensor<6x10xf32>, %b: tensor<10xf32>) -> tensor<8x10xf32> {
  %0 = kernel.fused ins(%a = %x: tensor<8x6xf32>, %c = %w: tensor<6x10xf32>, %d = %b: tensor<10xf32>) {
    %1 = kernel.matmul %a, %c, contracting_dims = [1] x [0] PRODUCT : (tensor<8x6xf32>, tensor<6x10xf32>) -> tensor<8x10xf32>
    %2 = kernel.nest (d0, d1) = (0, 0) to (8, 10) iterators [parallel, parallel]
        ins(%s = %1: tensor<8x10xf32>, %t = %d: tensor<10xf32>) outs(out0: tensor<8x10xf32>) NEST {
      %3 = kernel.load %s[READ] : tensor<8x10xf32>
      %4 = kernel.load %t[d1] : tensor<10xf32>
      %5 = kernel.add %3, %4 : f32
      kernel.yield store %5 to out0[WRITE] : f32
    }
    kernel.yield %2 : tensor<8x10xf32>
  }
  return %0 : tensor<8x10xf32>
}
"""
BLOCKED = "schedule<kernel = blocked, tile = {rows = 3, columns = 1, lanes = 4}, blocks = {rows = 6, columns = 4, depth = 4}>"


def by_hand(product: str = BLOCKED, nest: str = "", read: str = "d0, d1", write: str = "d0, d1") -> str:
    return TEXT.replace("PRODUCT", product).replace("NEST", nest).replace("READ", read).replace("WRITE", write)


@pytest.mark.parametrize("nest", ["", "schedule<lanes = 4>", "schedule<lanes = 8>", "schedule<lanes = 2, interleave = 2>"])
@pytest.mark.parametrize(
    "share", ["", *(f", {more}parallel = {{over = blocks, chunk = 1, nanoseconds = 90000}}" for more in ("", "together = 12, ", "together = 8, "))]
)
def test_small_blocks_by_hand(nest: str, share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    text = by_hand(BLOCKED.replace("}>", "}" + share + ">"), nest)
    a, b, bias = inputs_of(wg.parse(text), 2)
    (got,) = wg.parse(text).compile()(a, b, bias)
    np.testing.assert_allclose(got, a @ b + bias, rtol=1e-5, atol=1e-5)


REFUSED = [
    ({"product": "schedule<kernel = packed, tile = {rows = 2, columns = 1, lanes = 4}>"}, "does not go through blocks of the result itself"),
    ({"product": BLOCKED.replace("rows = 6", "rows = 5")}, "blocks of 5 rows end within a tile of 3"),
    ({"nest": "schedule<order = [1, 0], lanes = 4>"}, "its loops stay as they are, and threads share the product"),
    ({"nest": "schedule<parallel = {chunk = 1, nanoseconds = 9}>"}, "its loops stay as they are, and threads share the product"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_schedules_that_cannot_be_obeyed(changes: dict[str, str], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        parse_pipeline("schedule").run(parse_module(by_hand(**changes)))


INVALID = [
    ({"read": "0, d1"}, "the nest reads other sums than that of its iteration"),
    ({"write": "-d0 + 7, d1"}, "sums that are not kept need a result of their type that is stored where they are read"),
]


@pytest.mark.parametrize(("changes", "message"), INVALID)
def test_nests_that_cannot_finish_a_product(changes: dict[str, str], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        verify(parse_module(by_hand(**changes)))
