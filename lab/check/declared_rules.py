"""Finding the function whose declared derivative is wrong.

A derivative that a function declares for itself (``ad.custom_jvp``, ``ad.custom_vjp``) is taken at its word by both modes, and may be
wrong where the rules of all ops are right. So every function that the program calls and that declares one is made a program of its own,
a single call, and examined at the values of its calls, those in loops and branches included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.ir.location.places import describe
from wengert.runtime.interpreter.machine import Machine
from wengert.runtime.interpreter.rules import RegionFunction
from wengert.runtime.program import Program
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
Examine = Callable[[Program, list[Array]], str | None]
"""Checks a program at a point: None, or what is wrong."""

MOST_CALLS = 4
"""The most calls of one place that are kept: a loop may make very many."""


@dataclass(frozen=True)
class WrongRule:
    """A declared derivative that fails a check by itself: whose it is, the functions that declare it, where they are and are called."""

    function: str
    rule: tuple[str, ...]
    place: str
    called: str
    finding: str

    def __str__(self) -> str:
        return f"{' and '.join(self.rule)} of {self.function} at {self.place}, called at {self.called}: {self.finding}"


@dataclass(frozen=True)
class _RecordedCall:
    """A call and the values that it is given once."""

    call: CallOp
    values: list[Array]


class _Recorder(Machine):
    """The interpreter, which notes what functions with declared derivatives are called with by the entry function."""

    def __init__(self, module: ModuleOp):
        super().__init__(module)
        self.calls: list[_RecordedCall] = []

    def function(self, name: str, *, counting: bool, caller: Operation | None = None) -> RegionFunction:
        """The function of this name; calls of it are noted."""
        prepared = super().function(name, counting=counting, caller=caller)
        definition = self.definition(name)
        if definition is None or not isinstance(caller, CallOp) or not declared_rule(definition) or _function_of(caller) != "main":
            return prepared
        call, left = caller, iter(range(MOST_CALLS))

        def noted(*values: Any) -> tuple[Any, ...]:
            if next(left, None) is not None:
                self.calls.append(_RecordedCall(call, [np.array(v) for v in values]))
            return prepared(*values)

        return noted


def find_wrong_rule(program: Program, inputs: Sequence[Array], examine: Examine) -> WrongRule | None:
    """The first declared derivative that fails the examination at values that its function is called with, or None."""
    module = program.optimized_module
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if not any(declared_rule(f) for f in functions.values()):
        return None
    recorder = _Recorder(module)
    with np.errstate(all="ignore"):
        recorder.function("main", counting=False)(*[np.asarray(x)[()] for x in inputs])
    for recorded in recorder.calls:
        callee = functions[recorded.call.callee.string_value()]
        alone = single_call_program(module, callee)
        if not any(p.differentiable for p in alone.signature.arguments) or not any(p.differentiable for p in alone.signature.results):
            continue
        finding = examine(alone, recorded.values)
        if finding is not None:
            rule = declared_rule(callee)
            places = " and ".join(describe(functions[name].location) for name in rule)
            return WrongRule(f"@{callee.sym_name.data}", tuple(f"@{name}" for name in rule), places, describe(recorded.call.location), finding)
    return None


def declared_rule(function: FuncOp) -> tuple[str, ...]:
    """The names of the functions by which a function declares its derivative: one for ``custom_jvp``, two for ``custom_vjp``, else none."""
    if (jvp := function.attributes.get(CUSTOM_JVP)) is not None:
        return (cast(SymbolRefAttr, jvp).string_value(),)
    if (vjp := function.attributes.get(CUSTOM_VJP)) is not None:
        return tuple(cast(SymbolRefAttr, symbol).string_value() for symbol in cast("ArrayAttr[Attribute]", vjp))
    return ()


def single_call_program(module: ModuleOp, callee: FuncOp) -> Program:
    """A program that is one call of a function of the module."""
    copy = module.clone()
    main = next(op for op in copy.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
    block = Block(arg_types=inputs)
    name = callee.sym_name.data
    call = CallOp(name, list(block.args), list(outputs))
    block.add_ops([call, ReturnOp(*call.results)])
    copy.body.block.insert_op_before(FuncOp("main", FunctionType.from_lists(inputs, outputs), Region(block), "public"), main)
    copy.body.block.erase_op(main)
    return Program(parse_pipeline("symbol-dce").run(copy), name=f"@{name} at {describe(callee.location)}")


def _function_of(op: Operation) -> str | None:
    """The name of the function that an op stands in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return None if parent is None else parent.sym_name.data
