"""Upstream MLIR reads the gpu level's text, and its passes of the same names do the same.

JAX ships MLIR with the gpu dialect and a few of its passes, so reading is tested wherever JAX is. Where `mlir-opt` of LLVM 22 is on the path, it compiles
kernels of ten classes to PTX, and brings them to the form from which SPIR-V is made.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.gpu import ModuleOp as DeviceModule
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.gpu.fingerprints import fingerprint
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
HERE = Path(__file__).parent
KERNELS = sorted((HERE / "kernels").glob("*.mlir"))
OPS = HERE.parent / "dialects" / "gpu" / "ops.mlir"
MATRICES = OPS.with_name("matrices.mlir")
MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason="neither mlir-opt-22 nor mlir-opt is on the path (Debian: mlir-22-tools)")

draw = np.random.default_rng(0)
X = {n: draw.normal(size=n) for n in (64, 100, 256, 512, 640, 1000, 3000)}
PLACES = draw.integers(-5, 110, 64).astype(np.int32)
REFERENCES: dict[str, tuple[list[Array], Callable[..., Array], float]] = {
    "elementwise": ([X[1000].astype("f4")], lambda x: np.tanh(x) * np.exp(x), 1e-6),
    "gather": ([X[100], PLACES], lambda x, p: x[np.clip(p, 0, 99)], 0.0),
    "scatter_add": ([X[64].astype("f4"), PLACES % 10], lambda x, p: np.bincount(p, x, 10), 1e-6),
    "row_sums": ([X[3000].astype("f4")], lambda x: x.reshape(3, 1000).sum(1, dtype="f8"), 1e-5),
    "column_maxima": ([X[640]], lambda x: x.reshape(20, 32).max(0), 0.0),
    "transpose": ([X[512].astype("f4")], lambda x: x.reshape(32, 16).T.reshape(-1), 0.0),
    "product": ([X[256].astype("f4"), X[512].astype("f4")[:256]], lambda x, z: (x.reshape(16, 16) @ z.reshape(16, 16)).reshape(-1), 1e-5),
    "shuffled_sum": ([X[64].astype("f4")], lambda x: x.reshape(2, 32).sum(1), 1e-6),
    "square_roots": ([np.abs(X[64][:48])], np.sqrt, 1e-12),
    "conversions": (
        [X[64][:32].astype("f2"), np.arange(-16, 16, dtype=np.int8), X[100][:32] > 0],
        lambda x, i, m: np.where(m, x.astype("f4") * i.view(np.uint8), 0).astype(ml_dtypes.bfloat16),
        0.0,
    ),
}
"""For each kernel its inputs, what it computes, and how near it comes."""


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


@needs_mlir_opt
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_mlir_opt_compiles_kernels_to_ptx(path: Path) -> None:
    text = print_module(parse_module(path.read_text()))
    flags = ["--nvvm-attach-target=chip=sm_90 features=+ptx80", "--convert-scf-to-cf", "--convert-gpu-to-nvvm=use-bare-ptr-memref-call-conv=1"]
    printed = mlir_opt(text, *flags, "--reconcile-unrealized-casts", "--gpu-module-to-binary=format=isa")
    assert "gpu.binary @kernels" in printed
    assert ".visible .entry" in printed


@needs_mlir_opt
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_mlir_opt_brings_kernels_to_llvm_for_spirv(path: Path) -> None:
    text = print_module(parse_module(path.read_text()))
    printed = mlir_opt(text, "--convert-scf-to-cf", "--convert-gpu-to-llvm-spv=use-64bit-index=true", "--reconcile-unrealized-casts")
    assert "spir_kernelcc" in printed


def mlir_opt(text: str, *flags: str) -> str:
    assert MLIR_OPT is not None
    done = subprocess.run([MLIR_OPT, "--allow-unregistered-dialect", *flags], input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
