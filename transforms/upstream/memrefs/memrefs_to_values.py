"""The pass ``memrefs-to-values``.

Before and after::

    func.func @main(%x: memref<4xf64>) {                        func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
      scf.for %i = %c0 to %c4 step %c1 {                          %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%1 = %x) -> (tensor<4xf64>) {
        %a = memref.load %x[%i] : memref<4xf64>                     %a = tensor.extract %1[%i] : tensor<4xf64>
        %b = arith.mulf %a, %a : f64                                %b = arith.mulf %a, %a : f64
        memref.store %b, %x[%i] : memref<4xf64>                     %2 = tensor.insert %b into %1[%i] : tensor<4xf64>
      }                                                             scf.yield %2 : tensor<4xf64>
      return                                                      }
    }                                                             return %0 : tensor<4xf64>
                                                                }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from wengert.ir.construction import erase
from wengert.ir.traversal import all_ops
from wengert.transforms.upstream.memrefs.threading import globals_of, thread_function


@dataclass(frozen=True)
class MemrefsToValuesPass(ModulePass):
    """Makes buffers tensors that are threaded through."""

    name = "memrefs-to-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        memrefs_to_values(op)


def memrefs_to_values(module: ModuleOp) -> None:
    """Makes the buffers of all functions tensors, in place; calls have to be inlined before.

    Raises a DiagnosticError at an op on a buffer that is not known statically, or that may overlap what the op writes.
    """
    known = globals_of(module)
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and _has_buffers(op):
            thread_function(op, known)
    for definition in known.values():
        erase(definition)


def _has_buffers(function: FuncOp) -> bool:
    values = (value for op in all_ops(function) for value in (*op.operands, *op.results))
    arguments = (argument for block in function.body.blocks for argument in block.args)
    return any(isinstance(value.type, MemRefType) for value in (*values, *arguments))
