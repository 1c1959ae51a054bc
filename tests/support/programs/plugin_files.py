"""A plug-in with passes and strategies, right and wrong, and a program for it."""

import numpy as np

PROGRAM = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.exponential %0 : tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
MINE = '''
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

import wengert as wg


@wg.register
class Rename(wg.Pass):
    """Changes sines to other functions."""

    name = "rename"
    to: Literal["cosine", "tan"] = "cosine"

    def run(self, module: ModuleOp) -> None:
        from wengert.dialects import stablehlo as hlo

        for op in [op for op in module.walk() if isinstance(op, hlo.SineOp)]:
            new = {"cosine": hlo.CosineOp, "tan": hlo.TanOp}[self.to].create(operands=op.operands, result_types=[op.result.type], location=op.location)
            op.parent.insert_op_before(new, op)
            op.result.replace_all_uses_with(new.results[0])
            op.parent.erase_op(op)


@wg.register
class Again(wg.Pass):
    """Computes sines again for each use."""

    name = "again"
    apart: bool = False

    def run(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if op.name == "stablehlo.sine"]:
            for use in list(op.results[0].uses)[1:]:
                new = op.clone()
                if self.apart:
                    new.operands = wg.keep_apart(op.operands, before=use.operation)
                op.parent.insert_op_before(new, use.operation)
                use.operation.operands[use.index] = new.results[0]


@wg.register
class Fails(wg.Pass):
    """Has a defect."""

    name = "fails"

    def run(self, module: ModuleOp) -> None:
        helper()


def helper():
    raise KeyError("lost")


@wg.register
class Spoils(wg.Pass):
    """Uses a value before it is defined."""

    name = "spoils"

    def run(self, module: ModuleOp) -> None:
        first, second, *_ = next(iter(module.ops)).body.block.ops
        second.detach()
        first.parent.insert_op_before(second, first)


@wg.register
class Mine(wg.Strategy):
    name = "mine"

    def vjp(self, request, name, residuals):
        from wengert.transforms.ad.direct.vjp import direct_vjp_function

        return direct_vjp_function(request, name)


@wg.register
class Wrong(wg.Strategy):
    name = "wrong"

    def vjp(self, request, name, residuals):
        return self.jvp(request, name)


@wg.register
class Broken(wg.Strategy):
    name = "broken"

    def vjp(self, request, name, residuals):
        helper()


wg.register(wg.PipelineStrategy("steps", vjp="linearize,simplify,cse,dce,transpose,cse,join"))
'''

X = np.array([0.1, 0.5, 0.9])
