"""The halves of a derivative that stand apart, by attributes of the functions that they are.

``linearize`` makes two functions of one. What belongs to what is part of the text, so that a pass can be put between the halves::

    func.func @main(%x: T) -> (T, R) attributes {ad.linear_part = @main_linear, ad.residuals = array<i64: 1>}
    func.func @main_linear(%r: R, %x_dot: T) -> T attributes {ad.linear = array<i64: 1>}

``ad.linear`` lists the arguments in which a function is linear (jointly). ``ad.linear_part`` names the function that goes on where this one
ends, and ``ad.residuals`` the results that are there for it only: the arguments in which the linear part is not linear take them, in order.
A unit ``ad.recompute`` on the linear part says that what it computes from residuals is computed there even if the function before it has
computed the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, SymbolRefAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.dialects.stablehlo.typing.checks import fail
from wengert.ir.attributes import int_array, ints
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.verification.typing_rules import TypingError, attribute_rule

LINEAR, LINEAR_PART, RESIDUALS, RECOMPUTE = PARTS = ("ad.linear", "ad.linear_part", "ad.residuals", "ad.recompute")


class Parts(Struct, frozen=True):
    """A function and the linear function that takes its residuals."""

    forward: FuncOp
    linear: FuncOp
    residuals: tuple[int, ...]
    """The results of ``forward`` that the other arguments of ``linear`` take."""


def linear_arguments(function: FuncOp) -> tuple[int, ...] | None:
    """The positions of the arguments in which a function says that it is linear, or None if it says nothing."""
    marked = function.attributes.get(LINEAR)
    return None if marked is None else ints(marked)


def mark_linear(function: FuncOp, positions: Sequence[int], *, recompute: bool = False) -> None:
    """Says in which arguments a function is linear, and whether it was asked to compute again what was computed before it."""
    function.attributes[LINEAR] = int_array(positions)
    if recompute:
        function.attributes[RECOMPUTE] = UnitAttr()


def connect(forward: FuncOp, linear: FuncOp, residuals: Sequence[int]) -> None:
    """Says that these results of a function are what the linear function takes besides its linear arguments."""
    forward.attributes[LINEAR_PART] = SymbolRefAttr(linear.sym_name.data)
    forward.attributes[RESIDUALS] = int_array(residuals)


def parts_of(module: ModuleOp) -> list[Parts]:
    """The functions of a module that have a linear part, with these."""
    functions = _functions(module)
    return [
        Parts(function, functions[part.string_value()], ints(function.attributes[RESIDUALS]))
        for function in functions.values()
        if isinstance(part := function.attributes.get(LINEAR_PART), SymbolRefAttr)
    ]


def forget_parts(function: FuncOp) -> None:
    """Makes an ordinary function of one that is half of a derivative."""
    for name in PARTS:
        function.attributes.pop(name, None)


def _functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def _positions(name: str, attribute: Attribute, count: int, noun: str) -> tuple[int, ...]:
    """The numbers in an attribute, which are positions of different arguments or results."""
    if not isinstance(attribute, DenseArrayBase) or cast("DenseArrayBase[Any]", attribute).elt_type != i64:
        fail(f"{name} must be an array<i64: ...>, found {attribute}")
    positions = ints(cast(Attribute, attribute))
    for position in positions:
        if not 0 <= position < count:
            fail(f"{name} names {noun} {position}, but there are {count} {noun}s")
    if len(set(positions)) != len(positions):
        fail(f"{name} names one {noun} twice: {', '.join(map(str, positions))}")
    return positions


@attribute_rule(LINEAR)
def check_linear(function: FuncOp, attribute: Attribute) -> None:
    """It lists arguments, each once."""
    _positions(LINEAR, attribute, len(function.function_type.inputs), "argument")


@attribute_rule(RECOMPUTE)
def check_recompute(function: FuncOp, attribute: Attribute) -> None:
    """It stands on a linear part."""
    if LINEAR not in function.attributes:
        fail(f"{RECOMPUTE} belongs on a function that says in which arguments it is linear ({LINEAR})")


@attribute_rule(RESIDUALS)
def check_residuals(function: FuncOp, attribute: Attribute) -> None:
    """It stands beside the name of the function that takes them."""
    _positions(RESIDUALS, attribute, len(function.function_type.outputs), "result")
    if LINEAR_PART not in function.attributes:
        fail(f"{RESIDUALS} needs {LINEAR_PART}, the function that takes the residuals")


@attribute_rule(LINEAR_PART)
def check_linear_part(function: FuncOp, attribute: Attribute) -> None:
    """It names a linear function of the module, whose other arguments have the types of the residuals."""
    if not isinstance(attribute, SymbolRefAttr):
        fail(f"{LINEAR_PART} must name a function, found {attribute}")
    if RESIDUALS not in function.attributes:
        fail(f"{LINEAR_PART} needs {RESIDUALS}, the results that the linear part takes")
    module = function.parent_op()
    functions = _functions(module) if isinstance(module, ModuleOp) else {}
    name = attribute.string_value()
    if name not in functions:
        raise TypingError(f"there is no function @{name} in this module", did_you_mean(f"@{name}", [f"@{known}" for known in functions], ""))
    linear = functions[name]
    marked = linear.attributes.get(LINEAR)
    if marked is None:
        fail(f"@{name} is to be a linear part, but does not say in which arguments it is linear ({LINEAR})")
    arguments, active = linear.function_type.inputs.data, set(_positions(LINEAR, marked, len(linear.function_type.inputs), "argument"))
    taken = [type for i, type in enumerate(arguments) if i not in active]
    residuals = _positions(RESIDUALS, function.attributes[RESIDUALS], len(function.function_type.outputs), "result")
    given = [function.function_type.outputs.data[k] for k in residuals]
    if given != taken:
        shown = ["(" + ", ".join(map(str, types)) + ")" for types in (taken, given)]
        fail(f"@{name} takes residuals of the types {shown[0]}, but those of @{function.sym_name.data} have the types {shown[1]}")
