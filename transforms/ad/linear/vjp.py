"""Reverse mode: the vector-Jacobian product of a function, as a function.

``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``: the function is linearized, the linear part transposed, and the two joined,
so that residuals are values of one block. The passes ``linearize,transpose,join`` do the same one by one.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from wengert.transforms.ad.function import function_of
from wengert.transforms.ad.linear.join import join_bodies
from wengert.transforms.ad.linear.linearize import linearize
from wengert.transforms.ad.linear.transpose import transpose_body
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.policies import AUTO, Policy

NAME = "vjp"


def vjp_function(asked: Request, name: str, policy: Policy = AUTO) -> FuncOp:
    """The VJP of a function under a new name."""
    halves = linearize(asked, policy, NAME)
    count, kept = len(asked.results), halves.residuals
    transposed = transpose_body(halves.linear, range(kept, kept + len(asked.wrt)), asked.function, NAME, declared=True)
    cotangents = range(kept, kept + len(asked.of))
    body = join_bodies(halves.builder, halves.forward, transposed, range(count, count + kept), cotangents, policy.marks)
    return function_of(body, name, asked.function)
