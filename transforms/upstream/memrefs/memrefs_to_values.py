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
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.construction import erase
from wengert.transforms.upstream.memrefs.threading import Module


@dataclass(frozen=True)
class MemrefsToValuesPass(ModulePass):
    """Makes buffers tensors that are threaded through, and requests of Enzyme and LAGrad those of the ``ad`` dialect."""

    name = "memrefs-to-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        memrefs_to_values(op)


def memrefs_to_values(module: ModuleOp) -> None:
    """Makes the buffers of all functions tensors, in place; calls have to be inlined before.

    Raises a DiagnosticError at an op on a buffer that is not known statically, or that may overlap what the op writes.
    """
    known = Module(module)
    for name in list(known.functions):
        known.thread(name)
    for definition in known.globals.values():
        erase(definition)
