"""Requests of other tools for derivatives, as the requests of the ``ad`` dialect.

Enzyme's ``enzyme.fwddiff`` and ``enzyme.autodiff`` say for each argument and result what it is (its *activity*). An argument that is ``dup`` is
followed by its shadow: its tangent, or in reverse mode a buffer that holds the cotangent of its final contents before and that of its initial
contents after (what was read only is added to). Seeds for ``active`` results come last. Reverse mode gives the results that are needed and then the
gradients of ``active`` arguments. LAGrad's ``lagrad.tangent`` and ``lagrad.grad`` name arguments by ``of``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.forms import element_of
from wengert.ir.attributes import int_array, int_of, ints
from wengert.ir.construction import insert_before
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.elements import splat
from wengert.ir.tensor_types import is_complex, is_float
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.memrefs.buffers import Buffers, is_buffer
from wengert.transforms.upstream.writer import Writer, replaced

NAMES = ("enzyme.autodiff", "enzyme.fwddiff", "lagrad.grad", "lagrad.tangent")
"""The ops that request a derivative."""
_ACTIVITY = re.compile(r"\b(?:enzyme_)?(activenoneed|dupnoneed|constnoneed|active|dup|const|out)\b")


class Callee(Struct, frozen=True):
    """A function of tensors and scalars: its type, and the arguments whose final contents are its last results."""

    name: str
    arguments: Sequence[Attribute]
    results: Sequence[Attribute]
    written: Sequence[int]

    @property
    def own(self) -> int:
        """The number of results that are not final contents."""
        return len(self.results) - len(self.written)


class Context(Protocol):
    """The values that go through a function with the contents of its buffers."""

    buffers: Buffers

    def callee(self, op: Operation, name: str) -> Callee:
        """The function of this name, whose buffers are tensors by now."""
        ...


def callee_of(function: FuncOp, written: Sequence[int]) -> Callee:
    """A function as it is called."""
    return Callee(function.sym_name.data, function.function_type.inputs.data, function.function_type.outputs.data, written)


class _Arguments:
    """The operands of a request of Enzyme by what they are."""

    def __init__(self, t: Context, op: UpstreamOp):
        self.t, self.op, self.w = t, op, Writer(op)
        symbol = cast(SymbolRefAttr, op.attributes["fn"])
        width = op.attributes.get("width")
        if width is not None and int_of(width) != 1:
            raise refusal(op, f"a width of {int_of(width)} is not supported", "one request for each direction is the same")
        self.callee = t.callee(op, symbol.string_value())
        self.rest = list(op.operands)
        self.values: list[SSAValue] = []
        self.shadows: dict[int, SSAValue] = {}
        self.activity = _words(op, "activity", len(self.callee.arguments))
        for i, word in enumerate(self.activity):
            self.values.append(self.next())
            if word.startswith("dup"):
                self.shadows[i] = self.next()

    def next(self) -> SSAValue:
        """The next operand."""
        if not self.rest:
            raise refusal(self.op, f"there are too few operands for @{self.callee.name} with these activities")
        return self.rest.pop(0)

    def read(self, value: SSAValue) -> SSAValue:
        """A value, or the contents of a buffer."""
        return self.t.buffers.read(self.w, self.t.buffers.view(self.op, value)) if is_buffer(value) else value

    def write(self, target: SSAValue, value: SSAValue) -> None:
        """Other contents of a buffer."""
        self.t.buffers.write(self.w, self.op, self.t.buffers.view(self.op, target), value)

    def finish(self) -> None:
        """Raises an error where operands are left."""
        if self.rest:
            raise refusal(self.op, f"{len(self.rest)} operands too many for @{self.callee.name} with these activities")

    def request(self, cls: type[Operation], wrt: Sequence[int], of: Sequence[int], given: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue]]:
        """A request of the ``ad`` dialect: the results of the function, and its derivatives."""
        inputs = [self.read(value) for value in self.values]
        operands = [*inputs, *(self.read(value) for value in given)]
        return request(self.op, cls, self.callee, operands, wrt, of)

    def keep(self, results: Sequence[SSAValue]) -> list[SSAValue]:
        """Puts the final contents of buffers into them; the other results."""
        for i, contents in zip(self.callee.written, results[self.callee.own :], strict=True):
            self.write(self.values[i], contents)
        return list(results[: self.callee.own])

    def check_results(self, values: Sequence[SSAValue]) -> None:
        """Raises an error where the request has other results than these."""
        if [value.type for value in values] != [result.type for result in self.op.results]:
            listed = ", ".join(str(value.type) for value in values) or "nothing"
            raise refusal(self.op, f"with these activities it gives {listed}")


def request(
    op: Operation, cls: type[Operation], callee: Callee, operands: Sequence[SSAValue], wrt: Sequence[int], of: Sequence[int]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """A request of the ``ad`` dialect in front of an op: the results of the function, and its derivatives."""
    derived = [callee.results[j] for j in of] if cls is ad.JvpOp else [callee.arguments[i] for i in wrt]
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(callee.name), "wrt": int_array(wrt), "of": int_array(of)}
    made = cls.create(operands=operands, result_types=[*callee.results, *derived], properties=properties, location=op.location)
    insert_before(op, made)
    return list(made.results[: len(callee.results)]), list(made.results[len(callee.results) :])


def _words(op: UpstreamOp, key: str, count: int) -> list[str]:
    """The activities of a list, in their short spelling."""
    attribute = op.attributes.get(key)
    entries = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else ()
    words: list[str] = []
    for entry in entries:
        match = _ACTIVITY.search(str(entry))
        if match is None:
            raise refusal(op, f"unknown activity {entry}", did_you_mean(str(entry), ["enzyme_active", "enzyme_dup", "enzyme_const"]))
        words.append("active" if match[1] == "out" else match[1])
    if attribute is None or len(words) != count:
        raise refusal(op, f"the attribute '{key}' must say {count} activities, found {len(words)}")
    return words


def _results(a: _Arguments, noneed: str, needed: str, extra: int) -> list[str]:
    """What is asked of each result; older texts do not say it, and it is seen by the number of results."""
    count = a.callee.own
    if "ret_activity" in a.op.attributes:
        return _words(a.op, "ret_activity", count)
    floats = [is_float(element_of(type)) or is_complex(element_of(type)) for type in a.callee.results[:count]]
    surplus = len(a.op.results) - extra
    word = needed if surplus > sum(floats) * (noneed == "dupnoneed") else noneed
    return [word if is_active else "constnoneed" for is_active in floats]


# -- Enzyme


def _forward(t: Context, op: UpstreamOp) -> None:
    a = _Arguments(t, op)
    a.finish()
    asked = _results(a, "dupnoneed", "dup", 0)
    wrt = list(a.shadows)
    buffers = [k for k, i in enumerate(a.callee.written) if i in a.shadows]
    of = [j for j, word in enumerate(asked) if word.startswith("dup")]
    results, tangents = a.request(ad.JvpOp, wrt, [*of, *(a.callee.own + k for k in buffers)], list(a.shadows.values()))
    primals = a.keep(results)
    for k, tangent in zip(buffers, tangents[len(of) :], strict=True):
        a.write(a.shadows[a.callee.written[k]], tangent)
    values: list[SSAValue] = []
    for j, word in enumerate(asked):
        values += [primals[j]] if word in ("dup", "const") else []
        values += [tangents[of.index(j)]] if j in of else []
    a.check_results(values)
    replaced(op, values)


def _reverse(t: Context, op: UpstreamOp) -> None:
    a = _Arguments(t, op)
    active = [i for i, word in enumerate(a.activity) if word == "active"]
    for i in a.shadows:
        if not is_buffer(a.values[i]):
            raise refusal(
                op, f"argument {i} is {a.activity[i]}, which in reverse mode only a buffer can be", "a value is enzyme_active, and its gradient a result"
            )
    asked = _results(a, "activenoneed", "active", len(active))
    seeds = [a.next() for word in asked if word.startswith("active")]
    a.finish()
    of = [j for j, word in enumerate(asked) if word.startswith("active")]
    buffers = [k for k, i in enumerate(a.callee.written) if i in a.shadows]
    wrt = [i for i, word in enumerate(a.activity) if word == "active" or i in a.shadows]
    given = [*seeds, *(a.shadows[a.callee.written[k]] for k in buffers)]
    results, cotangents = a.request(ad.VjpOp, wrt, [*of, *(a.callee.own + k for k in buffers)], given)
    primals = a.keep(results)
    by_argument = dict(zip(wrt, cotangents, strict=True))
    for i, shadow in a.shadows.items():
        gradient = by_argument[i]
        a.write(shadow, gradient if i in a.callee.written else _sum(a.w, op, a.read(shadow), gradient))
    values = [primals[j] for j, word in enumerate(asked) if word in ("active", "const")] + [by_argument[i] for i in active]
    a.check_results(values)
    replaced(op, values)


def _sum(w: Writer, op: Operation, x: SSAValue, y: SSAValue) -> SSAValue:
    if is_complex(element_of(x.type)):
        raise refusal(op, "shadows of complex buffers are not supported in reverse mode")
    return w.one("arith.addf", (x, y), x.type)


# -- LAGrad


def _positions(op: UpstreamOp, count: int) -> list[int]:
    given = op.attributes.get("of")
    if isinstance(given, ArrayAttr):
        return [int_of(entry) for entry in cast("ArrayAttr[Attribute]", given).data]
    return list(ints(given)) if given is not None else list(range(count))


def _lagrad_callee(t: Context, op: UpstreamOp) -> Callee:
    callee = t.callee(op, cast(SymbolRefAttr, op.attributes["F"]).string_value())
    if callee.written or any(is_buffer(operand) for operand in op.operands):
        raise refusal(op, "functions on buffers are not supported", "enzyme.autodiff says what their shadows are")
    return callee


def _tangent(t: Context, op: UpstreamOp) -> None:
    callee = _lagrad_callee(t, op)
    wrt = _positions(op, len(op.operands) - len(callee.arguments))
    of = range(len(callee.results))
    if len(op.operands) != len(callee.arguments) + len(wrt):
        raise refusal(op, f"expected the arguments of @{callee.name} and a tangent for each of {wrt}")
    _, tangents = request(op, ad.JvpOp, callee, op.operands, wrt, of)
    replaced(op, tangents)


def _gradient(t: Context, op: UpstreamOp) -> None:
    """The gradient of the sum of all elements of the result, or the product with a given signal."""
    callee, w = _lagrad_callee(t, op), Writer(op)
    wrt = _positions(op, len(op.results))
    operands = list(op.operands)
    if "grad_signal" not in op.attributes:
        operands += [_ones(w, op, type) for type in callee.results]
    if len(operands) != len(callee.arguments) + len(callee.results):
        raise refusal(op, f"expected the arguments of @{callee.name}" + (" and a signal for its result" if "grad_signal" in op.attributes else ""))
    _, gradients = request(op, ad.VjpOp, callee, operands, wrt, range(len(callee.results)))
    if [g.type for g in gradients] != [r.type for r in op.results]:
        raise refusal(op, f"it gives {', '.join(str(g.type) for g in gradients)}")
    replaced(op, gradients)


def _ones(w: Writer, op: Operation, type: Attribute) -> SSAValue:
    if not is_float(element_of(type)):
        raise refusal(op, f"a gradient of a result of type {type} has to be given a signal")
    if isinstance(type, TensorType):
        return w.one("arith.constant", (), cast(Attribute, type), value=splat(1.0, cast("TensorType[Any]", type)))
    return w.one("arith.constant", (), type, value=FloatAttr(1.0, cast(Any, type)))


HANDLERS: dict[str, Callable[[Context, UpstreamOp], None]] = {
    "enzyme.autodiff": _reverse,
    "enzyme.fwddiff": _forward,
    "lagrad.grad": _gradient,
    "lagrad.tangent": _tangent,
}
"""What each request becomes."""
