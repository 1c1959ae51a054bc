"""Turns results of a derivative into arguments, for callers that know these values of the primal already.

A reverse derivative recomputes its primal, though its caller may have all of the primal's values (a tape has).
If the primal returns such values, its VJP returns them as well; :func:`results_to_arguments` turns these results into arguments. The ops
that computed them are then dead, and what remains is the reverse sweep alone, with the values that it uses as inputs::

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

from wengert.ir.construction import erase_arguments
from wengert.transforms.ad.function import drop_dead_ops


def results_to_arguments(function: FuncOp, given: Sequence[int], dropped: Sequence[int] = ()) -> None:
    """Turns the results at these positions into arguments, appended in this order, and drops other results; in place.

    A result that is an argument already, or the same value as another one of these, gets an argument that nothing uses.
    Dead ops are erased.
    """
    block = function.body.block
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    values = list(returned.operands)
    kept = [v for i, v in enumerate(values) if i not in {*given, *dropped}]
    new_arguments = [block.insert_arg(values[i].type, len(block.args)) for i in given]
    returned.detach()
    returned.erase()
    replaced = dict(zip(reversed([values[i] for i in given]), reversed(new_arguments), strict=True))
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
    erase_arguments(block, [block.args[i] for i in set(positions) - set(used)])
    _retype(function)
    return used


def _retype(function: FuncOp) -> None:
    """Updates the function's type to the types of its arguments and results."""
    block = function.body.block
    returned = block.last_op
    assert returned is not None
    function.function_type = FunctionType.from_lists([a.type for a in block.args], [v.type for v in returned.operands])
    function.arg_attrs = function.res_attrs = None
