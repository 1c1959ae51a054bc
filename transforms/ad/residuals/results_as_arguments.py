"""Values of the primal that are known already: results of a derivative that become arguments of it.

A reverse derivative computes its primal again, though whoever runs it may have all of the primal's values at hand (a tape does).
If the primal returns such values, its VJP returns them as well; :func:`take_given` turns these results into arguments. What was
there to compute them is then dead, and what is left is the reverse sweep alone, with the values that it uses as inputs::

    func @main(%x, %z_bar) -> (%y, %x_bar) {        func @main(%x, %z_bar, %y) -> (%x_bar) {
      %y = exponential %x                             %x_bar = multiply %z_bar, %y
      %x_bar = multiply %z_bar, %y                    return %x_bar
      return %y, %x_bar                             }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument

from wengert.transforms.ad.function import drop_dead_ops


def take_given(function: FuncOp, given: Sequence[int], dropped: Sequence[int] = ()) -> None:
    """Turns the results at these positions into arguments, appended in this order, and drops other results; in place.

    A result that is an argument already, or the same value as another one that is given, gets an argument that nothing uses.
    Ops that are dead then are erased.
    """
    block = function.body.block
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    values = list(returned.operands)
    kept = [v for i, v in enumerate(values) if i not in {*given, *dropped}]
    taken = [block.insert_arg(values[i].type, len(block.args)) for i in given]
    returned.detach()
    returned.erase()
    replaced = dict(zip(reversed([values[i] for i in given]), reversed(taken), strict=True))
    for value, argument in replaced.items():
        if not isinstance(value, BlockArgument) or value.block is not block:
            value.replace_all_uses_with(argument)
    block.add_op(ReturnOp(*[v if isinstance(v, BlockArgument) and v.block is block else replaced.get(v, v) for v in kept]))
    drop_dead_ops(block)
    _retype(function)


def drop_arguments(function: FuncOp, positions: Sequence[int]) -> list[int]:
    """Removes those of these arguments that nothing uses, in place; returns the positions of the others."""
    block = function.body.block
    used = [i for i in positions if block.args[i].first_use is not None]
    for i in sorted(set(positions) - set(used), reverse=True):
        block.erase_arg(block.args[i])
    _retype(function)
    return used


def _retype(function: FuncOp) -> None:
    """Makes the function's type that of its block, whose arguments may have changed."""
    block = function.body.block
    returned = block.last_op
    assert returned is not None
    function.function_type = FunctionType.from_lists([a.type for a in block.args], [v.type for v in returned.operands])
    function.arg_attrs = function.res_attrs = None
