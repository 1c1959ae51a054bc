"""Control flow, calls, tuples, tokens and barriers."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation

from wengert.dialects import ad, stablehlo
from wengert.ir.attributes import int_of
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.rules import Function, Scope, Unary, Variadic, evaluates, evaluates_in_scope, one_or_tuple
from wengert.transforms.core import one_device


@evaluates_in_scope(stablehlo.WhileOp)
def while_(op: stablehlo.WhileOp, scope: Scope) -> Function:
    """Runs the body on the carried values as long as the condition holds of them."""
    condition, body = scope.region(op.cond), scope.loop_region(op.body)

    def loop(*carried: Any) -> Any:
        while condition(*carried)[0]:
            # the body is to be the only one that refers to what is carried
            given, carried = list(carried), ()
            carried = body(given)
        return one_or_tuple(op, carried)

    return loop


@evaluates_in_scope(stablehlo.IfOp)
def if_(op: stablehlo.IfOp, scope: Scope) -> Unary:
    """Runs one of two branches."""
    on_true, on_false = scope.region(op.true_branch), scope.region(op.false_branch)
    return lambda pred: one_or_tuple(op, on_true() if pred else on_false())


@evaluates_in_scope(stablehlo.CaseOp)
def case(op: stablehlo.CaseOp, scope: Scope) -> Unary:
    """Runs the branch that the index picks; the last one where it is out of range."""
    branches = [scope.region(branch) for branch in op.branches]
    last = len(branches) - 1
    return lambda index: one_or_tuple(op, branches[int(index) if 0 <= index <= last else last]())


@evaluates_in_scope(func.CallOp)
def call(op: func.CallOp, scope: Scope) -> Variadic:
    """Runs a function of the module."""
    function = scope.callee(op, op.callee.string_value())
    return lambda *operands: one_or_tuple(op, function(*operands))


@evaluates_in_scope(stablehlo.CompositeOp)
def composite(op: stablehlo.CompositeOp, scope: Scope) -> Variadic:
    """Runs its decomposition."""
    function = scope.callee(op, op.decomposition.string_value())
    return lambda *operands: one_or_tuple(op, function(*operands))


@evaluates(stablehlo.OptimizationBarrierOp)
def optimization_barrier(op: stablehlo.OptimizationBarrierOp) -> Variadic:
    """The operands as they are."""
    return lambda *operands: one_or_tuple(op, operands)


@evaluates(ad.StopGradientOp, ad.PartialsOp, ad.GuardOp)
def passed_on(op: ad.StopGradientOp | ad.PartialsOp | ad.GuardOp) -> Variadic:
    """The first operand as it is: these ops speak of derivatives only."""
    return lambda *operands: operands[0]


@evaluates(stablehlo.TupleOp)
def tuple_(op: stablehlo.TupleOp) -> Variadic:
    """The operands as one value."""
    return lambda *operands: operands


@evaluates(stablehlo.GetTupleElementOp)
def get_tuple_element(op: stablehlo.GetTupleElementOp) -> Unary:
    """One element of a tuple."""
    index = int_of(op.index)
    return lambda operand: operand[index]


@evaluates(stablehlo.CreateTokenOp, stablehlo.AfterAllOp)
def token(op: Operation) -> Variadic:
    """Tokens only order side effects, of which there are none: they carry nothing."""
    return lambda *operands: ()


@evaluates_in_scope(stablehlo.AsyncStartOp)
def async_start(op: stablehlo.AsyncStartOp, scope: Scope) -> Variadic:
    """Runs the op in the region at once; a future is what it gave."""
    return scope.region(op.computation)


@evaluates(stablehlo.AsyncDoneOp)
def async_done(op: stablehlo.AsyncDoneOp) -> Unary:
    """The value that the future holds."""
    return lambda future: future[0]


@evaluates(*one_device.OUTSIDE)
def outside(op: Operation) -> Function:
    """Refused: there is nothing out there."""
    raise UnsupportedOpError(op, one_device.OUTSIDE[type(op)])
