"""What kernels of large shapes do to memory, read from their text: neighbouring threads read and write neighbours, nothing is moved twice, streams move 16 bytes at
once, and there are threads enough. What is otherwise is named here, with the reason."""

from __future__ import annotations

from functools import cache

import pytest
from core_programs import core_of
from large_programs import PROGRAMS, large_program
from reference_programs import in_all_precisions, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import gpu
from wengert.dialects.gpu.memory import DeviceSpace
from wengert.ir.parsing.parser import parse_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.analysis.gpu.kernel_cost import KernelCost, kernel_cost
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline

MOVED = 1.05
"""The most that is moved, beside what is read and written, each once."""
SMALL = 1 << 16
"""Kernels that touch no more bytes than this have all of it in the cache of one processor, where strides do not matter."""
ROWS_OF_TEN = "a thread has a row of 10 elements for itself: the pieces of memory that a warp touches are all used, by several instructions"
ODD = "a thread has two neighbours of a product by warps, which it writes apart where rows have an odd number of columns"
STRIDED = {
    ("softmax-narrow", "float32"): ROWS_OF_TEN,
    ("softmax-narrow", "bfloat16"): ROWS_OF_TEN,
    ("attention", "bfloat16"): ODD,
    ("transformer-block", "bfloat16"): ODD,
}
"""Programs that have kernels with other strides than 0 and 1, by name and type."""
NARROW = {
    "softmax": "rows of 1003 elements do not begin at multiples of 16 bytes",
    "softmax-narrow": "rows of 10 elements do not begin at multiples of 16 bytes",
    "cross-entropy": "rows of 10003 elements do not begin at multiples of 16 bytes",
    "attention": "rows of 1001 elements do not begin at multiples of 16 bytes",
    "gelu-odd": "half a million elements are too few for threads that take four each",
    "transformer-block": "heads have 386 columns, and rows of likenesses 2003",
}
"""Programs that have streams with narrower accesses."""
CASES = [(name, kind, dtype) for dtype in ("float32", "bfloat16") for kind in ("primal", "vjp") for name in PROGRAMS]
MORE = {
    "transposed": """func.func public @main(%x: tensor<2001x3003xf32>, %y: tensor<3003x2001xf32>) -> tensor<3003x2001xf32> {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2001x3003xf32>) -> tensor<3003x2001xf32>
    %1 = stablehlo.add %0, %y : tensor<3003x2001xf32>
    return %1 : tensor<3003x2001xf32> }""",
    "sums": """func.func public @main(%x: tensor<5001x2050xf32>) -> (tensor<5001xf32>, tensor<2050xf32>, tensor<f32>) {
    %t = stablehlo.tanh %x : tensor<5001x2050xf32>
    %0 = core.reduce add %t across [1] : (tensor<5001x2050xf32>) -> tensor<5001xf32>
    %1 = core.reduce add %t across [0] : (tensor<5001x2050xf32>) -> tensor<2050xf32>
    %2 = core.reduce add %t across [0, 1] : (tensor<5001x2050xf32>) -> tensor<f32>
    return %0, %1, %2 : tensor<5001xf32>, tensor<2050xf32>, tensor<f32> }""",
    "middle dimension": """func.func public @main(%x: tensor<300x70x500xf32>) -> tensor<300x500xf32> {
    %0 = core.reduce max %x across [1] : (tensor<300x70x500xf32>) -> tensor<300x500xf32>
    return %0 : tensor<300x500xf32> }""",
    "reversed": """func.func public @main(%x: tensor<3000x1001xf64>) -> tensor<3000x1001xf64> {
    %0 = stablehlo.reverse %x, dims = [1] : tensor<3000x1001xf64>
    return %0 : tensor<3000x1001xf64> }""",
}
"""Shapes of accesses that layers of networks do not have."""


def costs_of(core: ModuleOp) -> list[KernelCost]:
    """The figures of all launches of a program at core level."""
    module = parse_pipeline(gpu_lowering("sm_90")).run(core)
    kernels = {op.sym_name.data: op for op in module.walk() if isinstance(op, gpu.FuncOp)}
    sizes = {(op.kernel_name, (gpu.grid_size(op) or (0,))[0]) for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)}
    return [kernel_cost(kernels[name], groups) for name, groups in sorted(sizes)]


@cache
def large(name: str, kind: str, dtype: str) -> list[KernelCost]:
    """The figures of the kernels of a large program."""
    return costs_of(alone(core_form(runnable(large_program(name, kind, dtype).optimized_module)), "main"))


def is_product(cost: KernelCost) -> bool:
    """Whether a kernel computes a product in tiles, whose factors are read again for every tile."""
    return len({access.buffer for access in cost.accesses if access.space is DeviceSpace.WORKGROUP}) == 2 and sum(cost.flops.values()) > 20 * cost.needed


def strided(costs: list[KernelCost]) -> list[str]:
    """The kernels with strides that are neither 0 nor 1."""
    return [cost.name for cost in costs if cost.needed > SMALL and cost.crooked]


def expect_straight(costs: list[KernelCost]) -> None:
    """Nothing is moved twice but the factors of products, and no kernel has strides."""
    assert not strided(costs)
    assert not [(cost.name, cost.excess) for cost in costs if cost.excess > MOVED and not is_product(cost)]
    assert not [cost.name for cost in costs if is_product(cost) and sum(cost.flops.values()) < 6 * cost.moved], "tiles are read often enough"


@pytest.mark.parametrize(("name", "kind", "dtype"), share(CASES, 4))
def test_large_shapes(name: str, kind: str, dtype: str) -> None:
    costs = large(name, kind, dtype)
    if (name, dtype) in STRIDED:
        costs = [cost for cost in costs if not cost.crooked]
    expect_straight(costs)
    assert all(cost.groups > 1 for cost in costs if cost.needed > SMALL), "no kernel of one group reads much"


@pytest.mark.parametrize(("name", "dtype"), STRIDED)
def test_exceptions_are_ones(name: str, dtype: str) -> None:
    costs = large(name, "primal", dtype)
    assert strided(costs)
    if STRIDED[name, dtype] is ODD:
        assert all(access.writes and access.stride == 2 for cost in costs for access in cost.crooked)


@pytest.mark.parametrize("name", MORE)
def test_other_shapes(name: str) -> None:
    expect_straight(costs_of(alone(core_form(parse_module(MORE[name])), "main")))


def narrow(costs: list[KernelCost]) -> list[str]:
    """Streams, which are kernels that no threads share memory in, that do not, where they do most, move four of their widest elements at once: 16 bytes of f32, 8 of 16 bits."""
    streams = [cost for cost in costs if not cost.workgroup_bytes and cost.needed > SMALL]
    often = {cost.name: max(access.count for access in cost.accesses) / 2 for cost in streams}
    moved = [(cost.name, [access for access in cost.accesses if access.stride and access.count >= often[cost.name]]) for cost in streams]
    return [name for name, accesses in moved if max(access.width for access in accesses) < min(16, 4 * max(access.element for access in accesses))]


@pytest.mark.parametrize(("name", "kind", "dtype"), share([case for case in CASES if case[0] not in NARROW], 2))
def test_streams_move_several_elements_at_once(name: str, kind: str, dtype: str) -> None:
    assert not narrow(large(name, kind, dtype))


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("kind", ["primal", "vjp"])
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 16))
def test_reference_programs(program: CorpusProgram, precision: str, kind: str) -> None:
    """Kernels of one group are not held to strides: they are merged of many, and wait for memory in whatever order they read it."""
    expect_straight([cost for cost in costs_of(core_of(program, precision, kind)[0]) if cost.groups > 1])
