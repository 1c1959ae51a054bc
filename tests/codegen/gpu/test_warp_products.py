"""Products that warps multiply as matrices: for all layouts of factors, extents that are no multiples of tiles, and schedules by hand they give what NumPy gives, at
the gpu level and as PTX, where races and reads of what has not arrived are faults."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from reference_programs import share

import wengert as wg
from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.gpu_schedule import GpuScheduleAttr
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import AMDGPU, GPU_LOWER, PTX, SPIRV, gpu_lowering, parse_pipeline

TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
REST = "bufferize{target=sm_80},kernels-to-gpu,gpu-kernel-outlining"
SUBSCRIPTS = ["mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn", "bmk,bkn->bmn", "mbk,bnk->bmn"]


def dot(subscripts: str, extents: dict[str, int], element: str) -> str:
    """A program that computes a product by a ``dot_general``."""
    (left, right), result = subscripts.partition("->")[0].split(","), subscripts.partition("->")[2]
    types = ["x".join([*[str(extents[c]) for c in names], kind]) for names, kind in ((left, element), (right, element), (result, "f32"))]
    batching = f"batching_dims = [{left.index('b')}] x [{right.index('b')}], " if "b" in left else ""
    x, y, z = (f"tensor<{text}>" for text in types)
    return f"""func.func public @main(%x: {x}, %y: {y}) -> {z} {{
      %0 = stablehlo.dot_general %x, %y, {batching}contracting_dims = [{left.index("k")}] x [{right.index("k")}] : ({x}, {y}) -> {z}
      return %0 : {z} }}"""


def shortened(x: np.ndarray) -> np.ndarray:
    """What a tensor core takes of factors: of f32, which is then tf32, the first ten bits of the mantissa."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if x.dtype == np.float32 else x


def check(text: str, subscripts: str, extents: dict[str, int], element: str, lowering: str) -> None:
    """A product agrees with NumPy's, in both interpreters."""
    random = np.random.default_rng(1)
    inputs = [random.standard_normal([extents[c] for c in names]).astype(TYPES[element]) for names in subscripts.partition("->")[0].split(",")]
    wanted = np.einsum(subscripts, *[shortened(x).astype(np.float64) for x in inputs])
    module = parse_pipeline(lowering).run(alone(core_form(parse_module(text)), "main"))
    assert "nvgpu.mma.sync" in print_module(module)
    results = {"gpu level": run(module, inputs)[0]}
    parse_pipeline(PTX).run(module)
    results["PTX"] = wg.parse(print_module(module)).compile("ptx-interpreter")(*inputs)[0]
    for name, result in results.items():
        np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-5 * np.sqrt(extents["k"]), err_msg=name)
    np.testing.assert_array_equal(results["gpu level"], results["PTX"])


EXTENTS = [(64, 128, 64), (40, 72, 24), (33, 41, 77), (70, 36, 20), (17, 130, 33)]
CASES = [(subscripts, *extents, element) for extents in EXTENTS for subscripts in SUBSCRIPTS for element in TYPES]


@pytest.mark.parametrize(("subscripts", "m", "n", "k", "element"), share(CASES, 5))
def test_products(subscripts: str, m: int, n: int, k: int, element: str) -> None:
    """Rows at multiples of 16, 8 and 4 bytes, and others."""
    extents = {"m": m, "n": n, "k": k, "b": 2}
    check(dot(subscripts, extents, element), subscripts, extents, element, gpu_lowering("sm_80", tf32=element == "f32"))


SCHEDULES = [
    "size = [128, 128, 32], warp = [64, 32], stages = 2}, group = 256",
    "size = [64, 128, 16], warp = [32, 64], stages = 3}, group = 128",
    "size = [16, 8, 16], warp = [16, 8]}, group = 32",
    "size = [32, 40, 48], warp = [32, 8], stages = 4}, group = 160",
    "size = [48, 16, 64], warp = [16, 16], stages = 1}, group = 96",
]


def scheduled(text: str, schedule: str) -> str:
    """A program of one product, with a schedule in the place of the one that is chosen."""
    module = parse_pipeline(f"{GPU_LOWER},schedule{{target=sm_80}}").run(alone(core_form(parse_module(text)), "main"))
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    assert isinstance(nest.gpu_schedule, GpuScheduleAttr)
    written = f"tile = {{loops = [0, 1, 2], {schedule}, positions = i32>"
    return re.sub(r"gpu_schedule<.*>", lambda _: f"gpu_schedule<{written}", print_module(module))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("subscripts", SUBSCRIPTS[:4])
def test_schedules_by_hand(subscripts: str, schedule: str) -> None:
    extents = {"m": 50, "n": 44, "k": 100}
    text = scheduled(dot(subscripts, extents, "bf16"), schedule)
    random = np.random.default_rng(2)
    inputs = [random.standard_normal([extents[c] for c in names]).astype(ml_dtypes.bfloat16) for names in subscripts.partition("->")[0].split(",")]
    module = parse_pipeline(REST).run(parse_module(text))
    (result,) = run(module, inputs)
    np.testing.assert_allclose(result, np.einsum(subscripts, *[x.astype(np.float64) for x in inputs]), rtol=0, atol=1e-4)


def test_tf32_is_an_option_of_backends() -> None:
    program = wg.parse(dot("mk,kn->mn", {"m": 40, "n": 48, "k": 24}, "f32"))
    x, y = np.random.default_rng(3).standard_normal((2, 40, 48)).astype(np.float32)
    x, y = x[:, :24].copy(), y[:24].copy()
    exact, short = (program.compile("ptx-interpreter", tf32=chosen)(x, y)[0] for chosen in (False, True))
    np.testing.assert_allclose(exact, x @ y, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(short, shortened(x).astype(np.float64) @ shortened(y).astype(np.float64), rtol=1e-5, atol=1e-5)
    assert np.abs(short - exact).max() > 1e-4


REFUSED = [
    ("bf16", "size = [64, 64, 32], thread = [4, 4], tf32}, group = 256", "tf32 is for warps that multiply matrices"),
    ("f32", "size = [128, 128, 32], warp = [64, 32], stages = 2, tf32}, group = 256", "the factors of a tile take 73728 bytes, more than 49152"),
    ("f32", "size = [64, 64, 32], warp = [32, 32], stages = 2}, group = 128", "the factors were not 16 bits wide before they became f32"),
    ("bf16", "size = [128, 128, 64], warp = [64, 32], stages = 3}, group = 256", "the factors of a tile take 110592 bytes, more than 49152"),
    ("bf16", "size = [64, 64, 32], warp = [32, 20], stages = 2}, group = 128", "64 by 64 results are not divided by 32 by 20"),
    ("bf16", "size = [64, 64, 24], warp = [32, 32], stages = 2}, group = 128", "a warp multiplies matrices of 16 by 16 and 16 by 8"),
    ("bf16", "size = [64, 64, 32], thread = [4, 4], stages = 2}, group = 256", "stages = 2 must be from 1 to 4, and 1 for tiles without warps"),
    ("bf16", "size = [64, 64, 32], thread = [4, 4], warp = [32, 32]}, group = 256", "the results are those of a thread or of a warp"),
    ("bf16", "size = [64, 64, 32], warp = [32, 32], stages = 2}, group = 256", "128 threads have the results of a tile, group = 256"),
]


@pytest.mark.parametrize(("element", "schedule", "message"), REFUSED)
def test_schedules_that_are_refused(element: str, schedule: str, message: str) -> None:
    text = scheduled(dot("mk,kn->mn", {"m": 64, "n": 64, "k": 64}, element), schedule)
    with pytest.raises(DiagnosticError) as refused:
        parse_pipeline(REST).run(parse_module(text))
    assert message in refused.value.render()


@pytest.mark.parametrize(("target", "name"), [(AMDGPU, "amdgpu"), (SPIRV, "spirv")])
def test_other_devices_have_no_such_instruction(target: str, name: str) -> None:
    text = dot("mk,kn->mn", {"m": 64, "n": 64, "k": 64}, "bf16")
    module = parse_pipeline(f"{gpu_lowering('sm_80')},{target}").run(alone(core_form(parse_module(text)), "main"))
    with pytest.raises(DiagnosticError) as refused:
        parse_pipeline("gpu-module-to-binary{format=llvm}").run(module)
    assert f"has no code for {name}" in refused.value.render()
    assert "schedule{target=gpu} makes tiles that every device can compute" in refused.value.render()


@pytest.mark.parametrize("target", ["gpu", "gfx942"])
def test_other_devices_have_other_tiles(target: str) -> None:
    text = dot("mk,kn->mn", {"m": 64, "n": 64, "k": 64}, "bf16")
    module = parse_pipeline(gpu_lowering(target)).run(alone(core_form(parse_module(text)), "main"))
    assert "nvgpu" not in print_module(module)


def test_a_read_before_the_copy_has_arrived() -> None:
    """Without the wait, what is multiplied has not been written, as far as anybody knows."""
    text = dot("mk,kn->mn", {"m": 64, "n": 64, "k": 64}, "bf16")
    module = parse_pipeline(gpu_lowering("sm_80")).run(alone(core_form(parse_module(text)), "main"))
    damaged = re.sub(r"nvgpu\.device_async_wait (%\S+) \{numGroups = \d : i32\}", r"nvgpu.device_async_wait \1 {numGroups = 9 : i32}", print_module(module))
    inputs = [np.ones((64, 64), ml_dtypes.bfloat16)] * 2
    with pytest.raises(Exception, match="reads memory that nobody has written"):
        run(parse_module(damaged), inputs)
