"""A custom function on a tape that is going to be compiled: its rule as IR.

What ``forward`` computes is on the tape already, as steps that no gradient flows through. ``backward`` is run once on a tape of its own, with
ones for cotangents, and becomes a function of what it uses and of the cotangents. Then one more step hands the results on, with a rule
(``ad.custom_vjp``) that calls that function. What ``forward`` made is no value that a derivative keeps: the results that the step hands on
are, so that a second derivative comes to the rule again where ``backward``, or anything else, uses a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import AutogradError
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.program import private_function
from wengert.ir.tensor_types import is_differentiable, type_of
from wengert.transforms.ad.requests.custom import CUSTOM_VJP

if TYPE_CHECKING:
    from wengert.eager.recording.function_record import FunctionRecord
    from wengert.eager.recording.tape import Tape
    from wengert.eager.tensor import Tensor


def add_rule(tape: Tape, record: FunctionRecord, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Puts the step with the rule on the tape, or has it refuse where ``backward`` cannot be said in IR."""
    name = record.function.__name__
    if STATE.keeper is not None or record.context.dirty:
        tape.refuse(f"{name}.apply changes its arguments in place" if record.context.dirty else f"{name}.apply is called in a checkpoint")
        return
    if getattr(record.function.backward, "is_differentiated_once", False):
        tape.refuse(f"{name}.backward is marked once_differentiable")
        return
    rule = _Rule(tape, record, args, results)
    if rule.refused:
        tape.refuse(f"{name}.backward {rule.refused}")
    else:
        rule.add()


class _Rule:
    """``backward``, recorded.

    Attributes:
        refused: why it says less than what happens, if so.
    """

    def __init__(self, tape: Tape, record: FunctionRecord, args: Sequence[Any], results: Sequence[Any]):
        self.tape = tape
        self.record = record
        self.moving = [i for i, needed in enumerate(record.context.needs_input_grad) if needed]
        self.xs: list[Tensor] = [args[i] for i in self.moving]
        self.ys: list[Tensor] = [y for y in results if dispatch.tracked(y)]
        cotangents = [dispatch.new(np.ones(shape, dtype)) for shape, dtype in record.result_types]
        self.inner, arrived = self._run(cotangents)
        self.refused = self._reason()
        if self.refused:
            return
        places = {id(c): k for k, c in enumerate(cotangents)}
        of = [k for k, y in enumerate(results) if any(y is z for z in self.ys)]
        self.wanted = [None if arrived[i] is None else self.inner.number(arrived[i]) for i in self.moving]
        outside = self.inner.externals  # a result may be what came in
        self.used = [t for t in outside.values() if id(t) not in places]
        self.sources = [("cotangent", of.index(places[id(t)])) if id(t) in places else ("used", _position(self.used, t)) for t in outside.values()]

    def _run(self, cotangents: Sequence[Tensor]) -> tuple[Tape, Sequence[Any]]:
        before = STATE.grad, STATE.inference
        STATE.set(True, False)
        inner = type(self.tape)()
        try:
            with inner:
                return inner, self.record.pull(cotangents, False)
        except AutogradError as error:
            inner.refuse(f"cannot be recorded: {error}")
            return inner, ()
        finally:
            STATE.set(*before)

    def _reason(self) -> str:
        inner = self.inner
        if inner.refused or inner.once:
            return inner.refused or inner.once
        if inner.seen:
            return "looks at values"
        return "has effects or draws random numbers" if inner.effects or inner.draws or inner.gradients or inner.gradients_read else ""

    def add(self) -> None:
        """Puts the step on the tape, and gives the results their values."""
        tape = self.tape
        xs, ys = [tape.number(x) for x in self.xs], [tape.number(y) for y in self.ys]
        operation = Operation(self.record.function.__name__, self.record.name(), self._emit)
        operands = [*xs, *ys, *(tape.number(t) for t in self.used)]
        tape.steps.handed_on.update(ys)
        for y, value in zip(self.ys, tape.steps.append(operation, None, operands, len(ys), self.record.place), strict=True):
            tape.rename(y, value)

    def _emit(self, b: OpBuilder, operands: Sequence[Value], _: Any) -> Sequence[Value]:
        first, last = len(self.xs), len(self.xs) + len(self.ys)
        name, types = self.record.function.__name__, [v.type for v in operands]
        function = private_function(b, name, types, lambda _, given: given[first:last])
        forward = private_function(b, f"{name}_forward", types, lambda _, given: given[first:])

        def body(inner: OpBuilder, given: Sequence[Value]) -> list[Value]:
            return self._backward(inner, given, operands)

        backward = private_function(b, f"{name}_backward", [*types[last:], *types[first:last]], body)
        function.attributes[CUSTOM_VJP] = ArrayAttr([SymbolRefAttr(f.sym_name.data) for f in (forward, backward)])
        call = CallOp.create(operands=operands, result_types=types[first:last], properties={"callee": SymbolRefAttr(function.sym_name.data)})
        return list(b.insert(call).results)

    def _backward(self, b: OpBuilder, given: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
        """From what is used and the cotangents of results to cotangents of all operands."""
        count = len(self.used)
        arguments = [given[count + place] if kind == "cotangent" else given[place] for kind, place in self.sources]
        wanted = [i for i in self.wanted if i is not None]
        values = self.inner.steps.write(b, arguments, wanted)
        x_bars = [b.zeros(type_of(x)) if i is None else values[i] for i, x in zip(self.wanted, operands, strict=False)]
        return [*x_bars, *(b.zeros(type_of(v)) for v in operands[len(self.xs) :] if is_differentiable(v.type))]


def _position(tensors: Sequence[Tensor], x: Tensor) -> int:
    return next(i for i, t in enumerate(tensors) if t is x)
