"""Stock MLIR compiles kernels of ten classes, and programs' kernels, as text of the gpu level; what it makes of them gives the bits that the interpreter gives.

PTX runs on the interpreter of PTX, SPIR-V on an OpenCL device. Functions of ``math`` are calls of the device's library there, which differ in last bits and
which PTX has only where that library is linked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_classes import KERNELS, REFERENCES
from reference_programs import PROGRAMS, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import wengert as wg
from wengert.dialects.gpu import FuncOp as DeviceFuncOp
from wengert.dialects.gpu import LaunchFuncOp
from wengert.dialects.gpu import ModuleOp as DeviceModule
from wengert.ir.construction import copy_module
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.lab.corpus import CorpusProgram
from wengert.lab.stock_mlir.kernels import ptx, spirv, spirv_llvm
from wengert.lab.stock_mlir.pipelines import TO_NVVM, TO_SPIRV
from wengert.lab.stock_mlir.tools import MISSING, Commands, StockMLIR, installed
from wengert.runtime import ptx as interpreter
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import FINISH, LOOPS, PTX, SPIRV, gpu_lowering, parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
NVIDIA, ANY = "nvvm-attach-target{chip=sm_90 features=+ptx80}", "spirv-attach-target{ver=v1.4 caps=Kernel,Addresses}"
BY_LIBRARY = {"elementwise", "square_roots"}
"""Kernels with functions that stock MLIR leaves to a library of the device."""
LOWERED = {"gpu", "llvm", "nvvm", "spirv"}
"""Dialects of what stock MLIR makes of kernels: ``gpu`` is that of the module around them."""
NOT_BY_SPIRV = {"math.acosh", "math.asinh", "math.atanh", "math.cbrt", "math.erf"}
"""Functions that ``convert-gpu-to-llvm-spv`` has no name for, and leaves."""
_OP = re.compile(r"^ *(?:%[^=\n]* = )?\"?(([a-z_]+)\.[a-z_.]+)", re.MULTILINE)
NOT_ON_THE_DEVICE = {
    "conversions": "SPIR-V has bf16 by an extension that LLVM must be told of and the device lacks",
    "shuffled_sum": "Intel's driver for CPUs computes shuffles whose results only one thread uses in that thread alone, in OpenCL C too",
}


@pytest.fixture(scope="module")
def mlir() -> StockMLIR:
    known = installed()
    if known is None:
        pytest.skip(MISSING)
    return known


def attached(path: Path, passes: str) -> ModuleOp:
    module = parse_module(path.read_text(), path.name)
    parse_pipeline(passes).run(module)
    return module


def each(paths: Sequence[Path]) -> Any:
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


@each(KERNELS)
def test_ptx(mlir: StockMLIR, path: Path) -> None:
    if not isinstance(mlir, Commands):
        pytest.skip(f"{mlir.name} has no back end for NVIDIA's devices")
    module = attached(path, NVIDIA)
    text = ptx(mlir, module)
    assert ".visible .entry" in text
    inputs, _, _ = REFERENCES[path.stem]
    memory = interpreter.Memory()
    parsed = interpreter.parse(text, path.name)
    assert ("call.uni (retval0), __nv_" in text) is (path.stem in BY_LIBRARY)
    if path.stem in BY_LIBRARY:
        return
    image = interpreter.Image(parsed, memory)
    (expected,) = run(module, inputs)
    places = [memory.put(array) for array in (*inputs, np.zeros_like(expected))]
    for launch, grid, block, arguments in launches(module):
        image.launch(launch, grid=grid, block=block, arguments=[places[number] for number in arguments])
    assert memory.read(places[-1], expected.shape, expected.dtype).tobytes() == expected.tobytes()


@each(KERNELS)
def test_llvm_for_spirv(mlir: StockMLIR, path: Path) -> None:
    text = spirv_llvm(mlir, attached(path, ANY))
    assert text.count("define spir_kernel void @") == sum(isinstance(op, DeviceFuncOp) for op in attached(path, ANY).walk())
    assert ("sub_group_shuffle_xor" in text) is (path.stem == "shuffled_sum")


@each(KERNELS)
def test_spirv_gives_the_same_bits_on_the_device(mlir: StockMLIR, path: Path) -> None:
    if path.stem in NOT_ON_THE_DEVICE:
        pytest.skip(NOT_ON_THE_DEVICE[path.stem])
    if not isinstance(mlir, Commands):
        pytest.skip(f"{mlir.name} writes text of an LLVM that is newer than the one that makes SPIR-V here, which does not read its floats")
    pytest.importorskip("pyopencl")
    from wengert.runtime.devices.opencl import devices

    if next(devices(), None) is None:
        pytest.skip("no OpenCL device takes SPIR-V")
    module = attached(path, ANY)
    inputs, _, tolerance = REFERENCES[path.stem]
    (expected,) = run(module, inputs)
    result = on_the_device(module, spirv(mlir, module), inputs, expected)
    if path.stem == "elementwise":
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    else:
        assert result.tobytes() == expected.tobytes()


@needs_corpus
@pytest.mark.parametrize(("target", "attach", "passes"), [("sm_90", PTX, TO_NVVM), ("gpu", SPIRV, TO_SPIRV)], ids=["nvvm", "spirv"])
@pytest.mark.parametrize("program", share(PROGRAMS, 20), ids=lambda program: program.name)
def test_kernels_of_programs_and_their_derivatives(mlir: StockMLIR, program: CorpusProgram, target: str, attach: str, passes: str) -> None:
    base = wg.parse(program.path(program.precisions[0]).read_text(), program.name)
    known = program.reference(program.precisions[0])
    for one in (base, base.vjp(wrt=list(known.vjp), of=list(known.cotangents))):
        module = copy_module(one.core_module)
        parse_pipeline(f"{FINISH},{LOOPS},{gpu_lowering(target)},{attach}").run(module)
        kernels = ModuleOp([op.clone() for op in module.ops if isinstance(op, DeviceModule)])
        left = mlir.after(print_module(kernels), passes)
        assert left.count("gpu.kernel,") == sum(isinstance(op, DeviceFuncOp) and op.is_kernel for op in kernels.walk()) > 0
        assert {name for name, dialect in _OP.findall(left) if dialect not in LOWERED} <= (NOT_BY_SPIRV if target == "gpu" else set())


def launches(module: ModuleOp) -> list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]]:
    """Each launch: the kernel, the grid, the group, and the numbers of the function's arguments that it is given."""
    (main,) = [op for op in module.ops if isinstance(op, FuncOp)]
    made: list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]] = []
    for op in main.walk():
        if isinstance(op, LaunchFuncOp):
            sizes: Any = [operand.owner for operand in op.operands[:6]]
            numbers = tuple(int(size.value.value.data) for size in sizes)
            made.append((op.kernel.nested_references.data[0].data, numbers[:3], numbers[3:], [main.body.block.args.index(x) for x in op.operands[6:]]))
    return made


def on_the_device(module: ModuleOp, binary: bytes, inputs: Sequence[Array], like: Array) -> Array:
    """The result of launches with upstream's convention: a memref is two pointers, an offset, sizes and strides; memory of the group comes last."""
    from wengert.runtime.devices.opencl import binding, device_named

    cl: Any = binding()
    kernels = device_named().load(binary)
    context = next(iter(kernels.values())).context
    queue = cl.CommandQueue(context)
    memory: list[tuple[Any, int]] = []
    for array in (*inputs, np.zeros_like(like)):
        allocated = cl.csvm_empty(context, (array.nbytes,), np.uint8, alignment=128)
        cl.enqueue_copy(queue, cl.SVM(allocated), np.ascontiguousarray(array).view(np.uint8).reshape(-1), is_blocking=True)
        memory.append((allocated, array.size))
    bodies = {op.sym_name.data: op.body.block for op in module.walk() if isinstance(op, DeviceFuncOp)}
    for name, grid, block, arguments in launches(module):
        given: list[Any] = []
        for number in arguments:
            allocated, size = memory[number]
            given += [cl.SVM(allocated), cl.SVM(allocated), np.int64(0), np.int64(size), np.int64(1)]
        types: list[Any] = [argument.type for argument in bodies[name].args[len(arguments) :]]
        given += [cl.LocalMemory(8 * int(np.prod(type.get_shape()))) for type in types]
        for position, value in enumerate(given):
            kernels[name].set_arg(position, value)
        cl.enqueue_nd_range_kernel(queue, kernels[name], tuple(g * b for g, b in zip(grid, block, strict=True)), block)
    queue.finish()
    data = np.empty(like.nbytes, np.uint8)
    cl.enqueue_copy(queue, data, cl.SVM(memory[-1][0]), is_blocking=True)
    return data.view(like.dtype).reshape(like.shape)
