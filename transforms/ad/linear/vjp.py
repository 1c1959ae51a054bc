"""Reverse mode: the vector-Jacobian product of a function, as a function.

``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``: linearizes the function, transposes the linear part, and joins the two,
so that residuals are values of one block. The passes ``linearize,transpose,join`` are the same in three steps.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from wengert.ir.plugins import is_foreign, owner_of, warn_undone
from wengert.transforms.ad.function import function_of, place_cotangents
from wengert.transforms.ad.linear.join import join_bodies
from wengert.transforms.ad.linear.linearize import linearize
from wengert.transforms.ad.linear.transpose import transpose_body
from wengert.transforms.ad.replay.expand import expand_replays
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.policies import AUTO, Policy

NAME = "vjp"


def vjp_function(request: Request, name: str, policy: Policy = AUTO) -> FuncOp:
    """The VJP of a function under a new name."""
    halves = linearize(request, policy, NAME)
    if halves.recomputed and not policy.marks and is_foreign(policy):
        what = f"policy '{policy.name}' of {owner_of(policy)} computes {halves.recomputed} ops again, which 'join' shares with the forward part"
        warn_undone(f"{what}; they are kept apart if its property marks is true")
    count, residual_count = len(request.results), halves.residuals
    transposed = transpose_body(halves.linear, range(residual_count, residual_count + len(request.wrt)), request.function, NAME, declared=True)
    cotangents = range(residual_count, residual_count + len(request.of))
    place_cotangents(request.function, request.of, transposed.args[residual_count:], NAME)
    body = join_bodies(halves.builder, halves.forward, transposed, range(count, count + residual_count), cotangents, policy.marks)
    function = function_of(body, name, request.function)
    expand_replays(function)
    return function
