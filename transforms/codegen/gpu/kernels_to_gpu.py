"""The pass ``kernels-to-gpu``: launches of nests on buffers become ``gpu.launch``.

Before and after::

    kernel.launch ins(%a = %x: memref<8x128xf32>) outs(%y: memref<8x128xf32>) {
      %r = kernel.nest ... gpu_schedule<threads = [0], group = 256, positions = i32> { ... }
    }

    %0 = kernel.view %x[0] : memref<8x128xf32> to memref<1024xf32, 1>
    %1 = kernel.view %y[0] : memref<8x128xf32> to memref<1024xf32, 1>
    gpu.launch blocks(...) in (4, 1, 1) threads(...) in (256, 1, 1) {
      %2 = memref.load %0[%i] : memref<1024xf32, 1>
      ...
      gpu.terminator
    }

A kernel is given the flat memory of each buffer, once: two of its buffers that are not the same value have no bytes in common that it writes. Whatever is no
nest (ops that run as a whole), or has elements of a type that devices lack, stays a ``kernel.launch``, which the host runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.gpu import DeviceSpace, TerminatorOp, device_memref
from wengert.dialects.gpu import LaunchOp as GpuLaunchOp
from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.buffers import LaunchOp, ViewOp, is_bufferized, location
from wengert.ir.attributes import int_attr
from wengert.ir.construction import append, erase, insert_before
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import is_boolean, is_complex, shape_of_type
from wengert.ir.traversal import ops_in
from wengert.ir.traversal import result_of as result
from wengert.transforms.codegen.gpu.body import Buffer
from wengert.transforms.codegen.gpu.code import INDEX, Code
from wengert.transforms.codegen.gpu.functions import Functions, UnsupportedError, declaration, register_type
from wengert.transforms.codegen.gpu.kernel import Ids, Kernel, Memory
from wengert.transforms.codegen.gpu.nest import kernels_of
from wengert.transforms.codegen.gpu.scratch import padded, scratch_types
from wengert.transforms.schedule.gpu.legality import check_gpu

POSITIONS = "kernel.positions"
"""The attribute of a launch that names the integers in which its positions can be computed."""


@dataclass(frozen=True)
class KernelsToGpuPass(ModulePass):
    """Writes nests on buffers as launches of a GPU, as their schedules ask for."""

    name = "kernels-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        declared: dict[str, FuncOp] = {}
        for function in ops_in(op.body.block):
            if isinstance(function, FuncOp) and function.body.blocks:
                if not is_bufferized(function):
                    raise error_at(function, f"@{function.sym_name.data} takes values", "the pass 'bufferize' gives values their memory")
                _rewrite(function, declared)
        known = {function.sym_name.data for function in op.ops if isinstance(function, FuncOp)}
        for name, function in sorted(declared.items()):
            if name not in known:
                append(op.body.block, function)


def _rewrite(root: Operation, declared: dict[str, FuncOp]) -> None:
    """Rewrites the launches in all blocks inside of an op."""
    for region in root.regions:
        for block in region.blocks:
            for op in ops_in(block):
                if not isinstance(op, LaunchOp):
                    _rewrite(op, declared)
                elif isinstance(op.kernel, NestOp):
                    _Launches(op, op.kernel).replace(declared)


class _Launches:
    """The launches that stand for one of a nest."""

    def __init__(self, launch: LaunchOp, nest: NestOp):
        self.launch, self.nest = launch, nest
        if nest.gpu_schedule is None:
            raise error_at(nest, "this nest has no schedule for a GPU", "the pass 'schedule{target=gpu}' writes one")
        self.schedule = nest.gpu_schedule.data
        check_gpu(nest, self.schedule)
        self.before: list[Operation] = []
        self.views: dict[tuple[SSAValue, int, int], SSAValue] = {}

    def replace(self, declared: dict[str, FuncOp]) -> None:
        """Puts the launches in the place of the one of the nest, which stays if there is a type that devices lack."""
        made: list[Operation] = []
        try:
            for type in {*self.nest.body.block.arg_types, *[out.type for out in self.nest.outputs]}:
                register_type(cast("TensorType[Any]", type).element_type)
            for op in ops_in(self.nest.body.block)[:-1]:
                register_type(result(op).type)
            memory = self._memory()
        except UnsupportedError:
            for op in self.before:
                op.drop_all_references()
            return
        for kernel in kernels_of(self.nest, self.schedule, memory):
            made += self._launched(kernel, declared)
        for op in (*self.before, *made):
            insert_before(self.launch, op)
        erase(self.launch)

    # -- memory

    def _memory(self) -> Memory:
        nest = self.nest
        outputs = [self._buffer(value, out.type) for value, out in zip(self.launch.written, nest.outputs, strict=True)]
        inputs = {argument: self._buffer(value, argument.type) for argument, value in zip(nest.body.block.args, self.launch.read, strict=False)}
        scratch, at = list[Buffer](), 0
        for type in scratch_types(nest):
            assert self.launch.scratch is not None, "bufferize gives what the schedule needs"
            scratch.append(self._part(self.launch.scratch, at, type))
            at += padded(type)
        return Memory(inputs, outputs, scratch)

    def _buffer(self, value: SSAValue, type: Attribute) -> Buffer:
        return self._part(value, 0, type)

    def _part(self, value: SSAValue, at: int, type: Attribute) -> Buffer:
        """A part of a buffer as a kernel sees it; the same memory is one value, whatever its elements are taken for."""
        stored, count = cast("TensorType[Any]", type).element_type, prod(shape_of_type(cast("TensorType[Any]", type)))
        base, offset = location(value)
        key = (base, offset + at, count)
        view = self.views.get(key)
        if view is None:
            wanted = device_memref(count, stored, DeviceSpace.GLOBAL)
            op = ViewOp.create(operands=[value], result_types=[wanted], properties={"offset": int_attr(at)})
            self.before.append(op)
            view = self.views[key] = op.memref
        other = cast("MemRefType[Any]", view.type).element_type
        if other != register_type(stored) and (is_complex(other) or is_complex(stored) or is_boolean(other) or is_boolean(stored)):
            raise UnsupportedError(f"elements of {other} that are read as {stored}")
        return Buffer(view, stored)

    # -- launches

    def _launched(self, kernel: Kernel, declared: dict[str, FuncOp]) -> Iterable[Operation]:
        sizes = {
            number: arith.ConstantOp.create(result_types=[INDEX], properties={"value": IntegerAttr(number, INDEX)})
            for number in (1, kernel.groups, kernel.threads)
        }
        one = result(sizes[1])
        workgroup = [device_memref(count, type, DeviceSpace.WORKGROUP) for count, type in kernel.workgroup]
        op = GpuLaunchOp.of([result(sizes[kernel.groups]), one, one], [result(sizes[kernel.threads]), one, one], workgroup)
        op.location = self.launch.location
        op.attributes[POSITIONS] = StringAttr(self.schedule.positions)
        code = Code(op.body.block)
        functions = Functions(code)
        kernel.write(functions, Ids(op.block_ids[0], op.thread_ids[0], op.workgroup_buffers))
        code.act(TerminatorOp)
        code.finish()
        for name, type in functions.declared.items():
            declared.setdefault(name, declaration(name, type))
        return [*sizes.values(), op]
