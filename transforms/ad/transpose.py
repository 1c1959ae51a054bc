"""Transposition of a linear function: ``f(residuals, x) = A(residuals) x`` becomes ``(residuals, y) -> A(residuals)^T y``.

Which arguments the function is linear in is given; that the body is linear in them is checked op by op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from wengert.ir.tensor_types import is_differentiable
from wengert.transforms.ad.backward import copy_linear, transpose_ops
from wengert.transforms.ad.cotangents import Cotangents
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.function import begin_function, discard, finish_function
from wengert.transforms.ad.linear import LinearBuilder
from wengert.transforms.ad.request import Request
from wengert.transforms.ad.tangents import materialized
from wengert.transforms.ad.zeros import is_zero


def transpose_function(asked: Request, name: str) -> FuncOp:
    """The transpose in the arguments ``asked.wrt``: (other arguments, cotangents of the results) -> cotangents of those."""
    old = asked.block
    others = [i for i in range(len(old.args)) if i not in asked.wrt]
    block = Block(arg_types=[*(old.args[i].type for i in others), *(value.type for value in asked.results)])
    b = begin_function(block, asked.function, "transpose")
    scratch = Block(arg_types=[old.args[i].type for i in asked.wrt])
    lb = LinearBuilder(scratch, b, scratch.args)
    mapped: dict[SSAValue, SSAValue] = dict(zip([old.args[i] for i in others], block.args, strict=False))
    mapped.update(zip([old.args[i] for i in asked.wrt], scratch.args, strict=True))
    copy_linear(asked.ops, mapped, lb)
    y_bars = block.args[len(others) :]
    cotangents = Cotangents(b)
    _seed(asked, [mapped[value] for value in asked.results], y_bars, lb, cotangents)
    transpose_ops(b, reversed(list(scratch.ops)), lb.linear, cotangents)
    x_bars = [materialized(b, cotangents.take(x), x.type) for x in scratch.args]
    discard(scratch)
    return finish_function(block, x_bars, name, asked.function)


def _seed(asked: Request, results: Sequence[SSAValue], y_bars: Sequence[SSAValue], lb: LinearBuilder, cotangents: Cotangents) -> None:
    """A result that does not depend on the linear arguments is linear in them only if it is zero: refuse it."""
    for result, y_bar in zip(results, y_bars, strict=True):
        if result in lb.linear:
            if is_differentiable(result.type):
                cotangents.add(result, y_bar)
        elif not is_zero(result):
            raise refuse(asked.function, f"cannot be transposed: a result of @{asked.function.sym_name.data} does not depend on its linear arguments")
