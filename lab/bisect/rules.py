"""The derivative rule that is wrong, of an op that a derivative pass gets wrong when it is alone.

Where tangents are wrong it is the op's rule; where tangents are right and cotangents are not, it is the adjoint of the op (strategy ``direct``), or the
transpose of one of the linear ops that the rule is made of, each of which is put to a dot-product test by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.passes import Step
from wengert.lab.bisect.derivatives import as_given
from wengert.lab.bisect.halves import as_one, halves_of
from wengert.lab.bisect.single_ops import WrongOp
from wengert.lab.bisect.stages import Array, Stage, advanced
from wengert.lab.check.comparison import dot_product
from wengert.lab.check.precision import epsilon_of, working_precision
from wengert.lab.inputs import random_like
from wengert.lab.recorded_ops import operands_of, ops_with_values, read_values
from wengert.transforms.ad.passes import LinearizePass, TransposePass
from wengert.transforms.core.tapes_to_stacks import TapesToStacksPass

Kind = Literal["rule", "transpose", "adjoint"]
_PACKAGE = Path(__file__).parents[2]


class WrongRule(Struct, frozen=True):
    """A derivative rule: the rule of an op, the transpose of a linear op, or an adjoint; with the place in our source where it is defined."""

    kind: Kind
    op: str
    defined: str


def rule_of(wrong: WrongOp, step: Step) -> WrongRule | None:
    """The rule by which a derivative pass gets an op wrong; None if its tangents are right, and so are the transposes of all linear ops in them."""
    if _strategy(step) == "direct":
        from wengert.transforms.ad.direct.adjoint import ADJOINTS, STEPS

        return WrongRule("adjoint", wrong.op.name, _defined(wrong.op, ADJOINTS, STEPS))
    from wengert.transforms.ad.rule import RULES, STEPS, TRANSPOSE_STEPS, TRANSPOSES

    if wrong.fault.test not in ("differences", "values"):
        linear = wrong_transpose(wrong.alone, wrong.values)
        if linear is not None:
            return WrongRule("transpose", linear.name, _defined(linear, TRANSPOSES, TRANSPOSE_STEPS))
        if wrong.fault.test == "dot product":
            return None
    return WrongRule("rule", wrong.op.name, _defined(wrong.op, STEPS, RULES))


def _strategy(step: Step) -> str:
    return "direct" if step.name == "vjp-direct" else str(getattr(step, "strategy", "transpose"))


def wrong_transpose(module: ModuleOp, values: Sequence[Array], seed: int = 0) -> Operation | None:
    """The linear op that a module's derivative is made of whose transpose fails a dot-product test; None if all pass."""
    split = advanced(advanced(Stage(module), LinearizePass()), TapesToStacksPass()).module
    parts = halves_of(split)
    if parts is None:
        return None
    whole = as_one(split)
    generator = np.random.default_rng([seed, 5])
    tangents = [random_like(p, generator) for p in as_given(whole).signature.arguments[len(values) :]]
    linear = _depending(whole, len(values))
    for op, alone, taken in ops_with_values(whole, [*values, *tangents]):
        flags = [value in linear for value in read_values(op)]
        if any(flags) and not isinstance(op, CallOp) and not _is_transposed_well(alone, taken, flags, generator):
            return op
    return None


def _depending(module: ModuleOp, first: int) -> set[SSAValue]:
    """The values that depend on arguments of @main from one on, through calls."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    linear: set[SSAValue] = set(functions["main"].body.block.args[first:])
    for call in [op for op in functions["main"].body.block.ops if isinstance(op, CallOp)]:
        callee = functions[call.callee.string_value()]
        linear.update(argument for argument, operand in zip(callee.body.block.args, call.operands, strict=True) if operand in linear)
        for op in callee.body.block.ops:
            if not linear.isdisjoint(operands_of(op)):
                linear.update(op.results)
        end = callee.body.block.last_op
        assert end is not None
        linear.update(result for result, value in zip(call.results, end.operands, strict=True) if value in linear)
    return linear


def _is_transposed_well(alone: ModuleOp, values: Sequence[Array], flags: Sequence[bool], generator: np.random.Generator) -> bool:
    positions = [i for i, flag in enumerate(flags) if flag]
    try:
        transposed = as_given(advanced(Stage(alone), TransposePass("main", tuple(positions))).module)
        program = as_given(alone)
        fixed = [value for value, flag in zip(values, flags, strict=True) if not flag]
        y_bars = [random_like(p, generator) for p in transposed.signature.arguments[len(fixed) :]]
        x_bars = transposed.compile("interpreter")(*fixed, *y_bars)
        slack = min(1e4 * epsilon_of(working_precision(program)), 0.1)
        for i, x_bar in zip(positions, x_bars, strict=True):
            x_dot = random_like(program.signature.arguments[i], generator)
            y_dots = program.compile("interpreter")(*[x_dot if k == i else np.zeros_like(x) if flags[k] else x for k, x in enumerate(values)])
            if dot_product(y_bars, y_dots, [x_bar], [x_dot], slack).verdict == "MISMATCH":
                return False
    except DiagnosticError:  # refused, which is no mistake
        return True
    except Exception:  # a transpose that raises, or gives another type, is as wrong as one that is off
        return False
    return True


def _defined(op: Operation, *tables: Mapping[type[Operation], Callable[..., Any]]) -> str:
    """The file and line of the function that a table of rules holds for an op, or of the op's facts where its derivative follows from these."""
    function = next((table[type(op)] for table in tables if type(op) in table), None)
    return defined_at(type(op) if function is None else function)


def defined_at(thing: Any) -> str:
    """``file:line`` of a function or class in our source, of the function that a decorator was given rather than what it made of it; "" if unknown."""
    while (inner := _wrapped(thing)) is not None:
        thing = inner
    try:
        path, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
    except (TypeError, OSError):
        return ""
    if path is None:
        return ""
    inside = Path(path).resolve()
    return f"{inside.relative_to(_PACKAGE) if inside.is_relative_to(_PACKAGE) else inside}:{line}"


def _wrapped(thing: Any) -> Any:
    """The declaration that a closure of a table of rules calls."""
    code, cells = getattr(thing, "__code__", None), getattr(thing, "__closure__", None)
    if code is None or not cells:
        return None
    named = dict(zip(code.co_freevars, cells, strict=True))
    return next((named[name].cell_contents for name in ("partials", "rule") if name in named), None)
