"""The gradient of a function, with each value of the function beside its cotangent: what second-order arcs are between.

The function, the coefficients of its derivative, and the transposed linear ops stand in one block. Nothing is shared, and each cotangent is a value of its
own, so that the derivatives of cotangents by values, one op apart, can be read off the linearised graph of this function.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex, size, type_of
from wengert.ir.traversal import operands_of
from wengert.transforms.ad.edge_pushing.names import NAME
from wengert.transforms.ad.elimination.body import swept
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.function import finish_function
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import transpose_ops
from wengert.transforms.ad.replay.expand import expand_replays
from wengert.transforms.ad.requests.request import Request, fresh_name
from wengert.transforms.ad.residuals.plan import Plan, prune
from wengert.transforms.ad.residuals.policies import AUTO, Auto, Binomial, Site
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks


class _WithoutTapes(Auto, frozen=True):
    """The default, but for loops of which nobody knows the number of iterations: these keep some states, in arrays. A tape has no tangent that is a tensor."""

    def slots(self, iterations: int | None) -> int | None:
        return Binomial().slots(None) if iterations is None else None

    def plan(self, site: Site) -> Plan:
        return (Binomial() if site.times is None else AUTO).plan(site)


class _Kept(Cotangents):
    """Cotangents of which some are kept when they are taken, each as the result of an op of its own: what is passed on unchanged is the cotangent of
    several values, and stands for the one of which it is the sum."""

    def __init__(self, b: OpBuilder, wanted: set[SSAValue]):
        super().__init__(b)
        self._wanted = wanted
        self.taken: dict[SSAValue, Value] = {}

    def take(self, value: SSAValue) -> Tangent:
        x_bar = super().take(value)
        if x_bar is not None and value in self._wanted:
            x_bar = self.b.create(hlo.ConvertOp, [x_bar], [x_bar.type])[0]
            self.taken[value] = x_bar
        return x_bar


def gradient_with_pairs(request: Request) -> FuncOp:
    """A function with the arguments of the request's, which is put into its module: it returns active values and their cotangents by turns, those of
    the arguments in ``wrt`` first, for a cotangent 1 of the one result. An argument without a cotangent has zeros."""
    sweep = swept(request, shared=False, pass_name=NAME, policy=_WithoutTapes())
    linear: set[SSAValue] = {x for x in sweep.lb.linear if isinstance(x.type, TensorType) and size(x)}
    result = sweep.tangent(request.results[request.of[0]])
    arguments = list(sweep.lb.block.args)
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, (sweep.b.block.args[i] for i in request.wrt), strict=True))
    for old, x_dot in sweep.tangents.items():
        if x_dot is not None and x_dot in linear:
            values.setdefault(x_dot, sweep.primals[old])
    taken = _transposed(sweep, result, linear, values, arguments)
    b = sweep.b
    pairs = [(values[x], taken.get(x) or b.zeros(type_of(x))) for x in arguments]
    pairs += [(x, taken[x_dot]) for x_dot, x in values.items() if x_dot in taken and x_dot not in arguments]
    function = finish_function(b.block, [value for pair in pairs for value in pair], fresh_name(request.module, "gradient"), request.function)
    function.properties["sym_visibility"] = StringAttr("private")
    request.module.body.block.insert_op_before(function, request.function)
    expand_replays(function)
    tapes_to_stacks(function)
    return function


def _transposed(
    sweep: ForwardSweep, result: Tangent, linear: set[SSAValue], values: dict[SSAValue, SSAValue], arguments: Sequence[SSAValue]
) -> dict[SSAValue, Value]:
    """Appends the transposed linear ops; returns the cotangents of the linear values that stand for values of the program."""
    if result is None or result not in linear:
        return {}
    ops = prune(sweep.lb.block, [result])
    for op in ops:
        for x in (*operands_of(op), *op.results):
            if isinstance(x.type, TensorType) and is_complex(element(x)):
                raise refuse(op, "has a complex tangent: edge pushing is for real numbers")
    cotangents = _Kept(sweep.b, set(values))
    cotangents.add(result, sweep.b.full(1.0, type_of(result)))
    transpose_ops(sweep.b, reversed(ops), linear, cotangents)
    for x in arguments:
        cotangents.take(x)
    for op in ops:
        op.drop_all_references()
    return cotangents.taken
