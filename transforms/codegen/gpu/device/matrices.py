"""Writes products of matrices by a warp, and asynchronous copies, as LLVM's intrinsics for NVIDIA's devices; no other target has them.

A fragment is some registers of 32 bits: ``i32`` for two elements of 16 bits or one of tf32, ``float`` for an element of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.gpu.matrices import DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, LdMatrixOp, MmaSyncOp
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import splat_value
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import bf16, f16, f32
from wengert.transforms.codegen.gpu.device.targets import NVPTX
from wengert.transforms.codegen.llvm.types import element_of, literal

if TYPE_CHECKING:
    from wengert.transforms.codegen.gpu.device.functions import KernelEmitter

_PRODUCTS: Mapping[Attribute, str] = {bf16: "m16n8k16.row.col.bf16", f16: "m16n8k16.row.col.f32.f32", f32: "m16n8k8.row.col.tf32"}


def registers(type: VectorType[Any]) -> tuple[int, str]:
    """How many registers a fragment has, and of which type."""
    rows, each = type.get_shape()
    if type.element_type == f32:
        return (rows * each, "float") if each == 2 else (rows, "i32")
    return rows, "i32"


def constant(emitter: KernelEmitter, op: arith.ConstantOp) -> tuple[str, ...]:
    """A fragment of equal elements of f32."""
    type = op.result.type
    number = splat_value(cast("DenseIntOrFPElementsAttr[Any]", op.value))
    count, register = registers(cast("VectorType[Any]", type)) if isinstance(type, VectorType) else (0, "")
    if number is None or register != "float":
        raise error_at(op, f"a constant of type {type} has no code for a device")
    return (str(literal(float(number), element_of(f32))),) * count


def _expect_nvidia(emitter: KernelEmitter, op: Operation) -> None:
    if emitter.target is not NVPTX:
        raise error_at(op, f"'{op.name}' has no code for {emitter.target.name}", "schedule{target=gpu} makes tiles that every device can compute")


def extract(emitter: KernelEmitter, op: vector.ExtractOp) -> None:
    """An element of a sum."""
    type = cast("VectorType[Any]", op.vector.type)
    at = ints(op.static_position)
    if registers(type)[1] != "float" or len(at) != 2 or op.dynamic_position:
        raise error_at(op, f"'{op.name}' of {type} has no code for a device")
    emitter.known[op.result] = emitter.value(op.vector)[2 * at[0] + at[1]]


def load_matrices(emitter: KernelEmitter, op: LdMatrixOp) -> None:
    """``ldmatrix``."""
    _expect_nvidia(emitter, op)
    builder, count = emitter.builder, int_of(op.tiles)
    _, address = emitter.address(op.memref, op.indices)
    name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{'.trans' * op.turned}.b16.p3"
    result = "i32" if count == 1 else f"{{{', '.join(['i32'] * count)}}}"
    builder.module.externals[name] = f"declare {result} @{name}(ptr addrspace(3))"
    loaded = builder.op(f"call {result} @{name}({builder.pointer(address)})")
    parts = (loaded,) if count == 1 else tuple([builder.op(f"extractvalue {result} {loaded}, {k}") for k in range(count)])
    emitter.known[op.result] = parts if count > 1 else loaded


def product(emitter: KernelEmitter, op: MmaSyncOp) -> None:
    """``mma.sync``."""
    _expect_nvidia(emitter, op)
    builder = emitter.builder
    name, result = f"llvm.nvvm.mma.{_PRODUCTS[op.element]}", "{float, float, float, float}"
    factor = "<2 x half>" if op.element == f16 else "i32"
    factors = [*emitter.parts([op.left]), *emitter.parts([op.right])]
    if op.element == f16:
        factors = [builder.op(f"bitcast i32 {part} to <2 x half>") for part in factors]
    operands = [f"{factor} {part}" for part in factors] + [f"float {part}" for part in emitter.parts([op.sum])]
    builder.module.externals[name] = f"declare {result} @{name}({', '.join([factor] * 6 + ['float'] * 4)})"
    made = builder.op(f"call {result} @{name}({', '.join(operands)})")
    emitter.known[op.result] = tuple([builder.op(f"extractvalue {result} {made}, {k}") for k in range(4)])


def copy(emitter: KernelEmitter, op: DeviceAsyncCopyOp) -> None:
    """``cp.async``; elements that are not read are zeros."""
    _expect_nvidia(emitter, op)
    builder = emitter.builder
    element, source = emitter.address(op.source, op.source_indices)
    _, target = emitter.address(op.target, op.target_indices)
    name = f"llvm.nvvm.cp.async.{'cg' if op.bypass is not None else 'ca'}.shared.global.{op.bytes}{'.s' * (op.some is not None)}"
    operands = [builder.pointer(target), builder.pointer(source)]
    if op.some is not None:
        size = builder.multiply(emitter.position(op.some), element.size)
        if builder.index_type != "i32" and not isinstance(size, int):
            size = builder.cast("trunc", size, builder.index_type, "i32")
        operands.append(f"i32 {size}")
    builder.module.externals[name] = f"declare void @{name}(ptr addrspace(3), ptr addrspace(1){', i32' * (op.some is not None)})"
    builder.line(f"call void @{name}({', '.join(operands)})")


def create_group(emitter: KernelEmitter, op: DeviceAsyncCreateGroupOp) -> None:
    """``cp.async.commit_group``."""
    _call(emitter, op, "llvm.nvvm.cp.async.commit.group", "")


def wait(emitter: KernelEmitter, op: DeviceAsyncWaitOp) -> None:
    """``cp.async.wait_group``."""
    _call(emitter, op, "llvm.nvvm.cp.async.wait.group", f"i32 {op.left}")


def _call(emitter: KernelEmitter, op: Operation, name: str, operand: str) -> None:
    _expect_nvidia(emitter, op)
    emitter.builder.module.externals[name] = f"declare void @{name}({operand.partition(' ')[0]})"
    emitter.builder.line(f"call void @{name}({operand})")


WRITERS: Mapping[type[Operation], Callable[[Any, Any], None]] = {
    vector.ExtractOp: extract,
    LdMatrixOp: load_matrices,
    MmaSyncOp: product,
    DeviceAsyncCopyOp: copy,
    DeviceAsyncCreateGroupOp: create_group,
    DeviceAsyncWaitOp: wait,
}
"""The writers of ops, for :class:`wengert.transforms.codegen.gpu.device.functions.KernelEmitter`."""
