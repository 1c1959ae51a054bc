"""Upstream MLIR reads the gpu level's text, and its passes of the same names do the same.

JAX ships MLIR with the gpu dialect and a few of its passes, so reading is tested wherever JAX is. (``test_stock_kernels.py`` compiles kernels by upstream's passes.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_classes import KERNELS, REFERENCES
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.gpu import ModuleOp as DeviceModule
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.gpu.fingerprints import fingerprint
from wengert.transforms.pipelines import parse_pipeline

HERE = Path(__file__).parent
OPS = HERE.parent / "dialects" / "gpu" / "ops.mlir"
MATRICES = OPS.with_name("matrices.mlir")


def test_there_are_ten_classes() -> None:
    assert [path.stem for path in KERNELS] == sorted(REFERENCES)
    assert len(KERNELS) == 10


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_compute_what_they_say(path: Path) -> None:
    inputs, reference, tolerance = REFERENCES[path.stem]
    module = parse_module(path.read_text(), path.name)
    verify(module)
    (result,) = run(module, inputs)
    np.testing.assert_allclose(result.astype("f8"), reference(*inputs).astype("f8"), rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def context() -> Any:
    """A context of upstream's with the dialects of the gpu level and the gpu dialect's passes."""
    pytest.importorskip("jax")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _mlirGPUPasses  # noqa: F401

    context: Any = mlir.make_ir_context()
    with context:  # a pass that depends on a dialect loads it
        for name in ("nvvm-attach-target", "rocdl-attach-target", "spirv-attach-target"):
            passmanager.PassManager.parse(f"builtin.module({name})").run(ir.Module.parse("module {}").operation)
    return context


def upstream(context: Any, text: str, passes: str = "") -> str:
    """What upstream prints of a text, or of what passes leave of it."""
    from jaxlib.mlir import ir, passmanager

    with context:
        module = ir.Module.parse(text)
        module.operation.verify()
        if passes:
            passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return str(module)


@pytest.mark.parametrize("path", [*KERNELS, OPS, MATRICES], ids=lambda path: path.stem)
def test_upstream_reads_what_we_print_and_we_read_what_it_prints(context: Any, path: Path) -> None:
    module = parse_module(path.read_text(), path.name)
    again = parse_module(upstream(context, print_module(module)))
    verify(again)
    assert fingerprint(again.body) == fingerprint(module.body)
    assert again.attributes == module.attributes


LOOPS = HERE.parent / "codegen" / "gpu" / "merge-loops.mlir"


def test_upstream_reads_loops_that_one_group_does(context: Any) -> None:
    module = parse_module(LOOPS.read_text(), LOOPS.name)
    parse_pipeline("to-core,fuse,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu,merge-launches,gpu-kernel-outlining").run(module)
    (kernels,) = [op for op in module.ops if isinstance(op, DeviceModule)]
    text = print_module(ModuleOp([kernels.clone()]))
    printed = upstream(context, text).replace("scf.while :", "scf.while () :")  # xDSL wants the list of what is carried, also where it is empty
    again = parse_module(printed)
    assert {op.name for op in again.walk()} >= {"scf.for", "scf.while", "scf.if", "gpu.barrier", "memref.alloca"}
    assert fingerprint(again.body) == fingerprint(parse_module(text).body)


TARGETS = [
    "nvvm-attach-target",
    "nvvm-attach-target{chip=sm_90 features=+ptx80}",
    "nvvm-attach-target{module=kern O=3 chip=sm_80 features=+ptx71 fast=true ftz=true l=a.bc,b.bc ptxas-cmd-options=-v}",
    "nvvm-attach-target{module=other}",
    "rocdl-attach-target{chip=gfx942}",
    "rocdl-attach-target{chip=gfx1100 wave64=false fast=true daz=true finite-only=true unsafe-math=true correct-sqrt=false abi=500 O=1}",
    "spirv-attach-target",
    "spirv-attach-target{ver=v1.4 caps=Kernel,Addresses exts=SPV_KHR_expect_assume client_api=OpenCL vendor=Intel device_type=CPU device_id=7}",
    "rocdl-attach-target{chip=gfx90a},nvvm-attach-target{chip=sm_90},rocdl-attach-target{chip=gfx90a}",
]


@pytest.mark.parametrize("passes", TARGETS)
def test_targets_are_attached_as_upstream_attaches_them(context: Any, passes: str) -> None:
    text = KERNELS[0].read_text()
    module = parse_module(text)
    parse_pipeline(passes).run(module)
    ours = parse_module(upstream(context, print_module(module))).body.block.first_op
    theirs = parse_module(upstream(context, text, passes)).body.block.first_op
    assert ours is not None
    assert theirs is not None
    assert {str(target) for target in targets_of(ours)} == {str(target) for target in targets_of(theirs)}


def targets_of(op: Any) -> Any:
    return op.targets.data if op.targets is not None else ()


def test_outlining_gives_the_kernel_that_upstream_gives(context: Any) -> None:
    """Where upstream's own pass has copied constants into the body. Names differ, and upstream notes the size of the grid, which a kernel of several launches
    does not have."""
    text = """module {
  func.func @main(%x: memref<64xf32, 1>, %y: memref<64xf32, 1>) {
    %one = arith.constant 1 : index
    %many = arith.constant 64 : index
    %half = arith.constant 5.000000e-01 : f32
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) workgroup(%w : memref<64xf32, 3>) {
      %v = memref.load %x[%tx] : memref<64xf32, 1>
      %r = arith.mulf %v, %half : f32
      memref.store %r, %w[%tx] : memref<64xf32, 3>
      %s = memref.load %w[%tx] : memref<64xf32, 3>
      memref.store %s, %y[%tx] : memref<64xf32, 1>
      gpu.terminator
    }
    return
  }
}
"""
    theirs = parse_module(upstream(context, text, "gpu-launch-sink-index-computations,gpu-kernel-outlining,canonicalize,cse"))
    module = parse_module(text)
    parse_pipeline("gpu-kernel-outlining").run(module, verify_each=True)
    ours = parse_module(upstream(context, print_module(module), "canonicalize,cse"))
    bodies: list[Any] = []
    for made in (ours, theirs):
        (kernel,) = [op for op in made.walk() if op.name == "gpu.func"]
        bodies.append((kernel.properties["function_type"], kernel.properties["known_block_size"], sorted(op.name for op in kernel.regions[0].block.ops)))
    assert bodies[0] == bodies[1]
