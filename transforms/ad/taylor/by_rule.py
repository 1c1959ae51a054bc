"""Taylor coefficients of any op that has a derivative rule: the rule is a differential equation for the result along a path.

Let ``y = f(x)`` and ``dy = L(x, y) dx`` be what the rule emits. Along a path ``x(t)`` this is ``y' = L(x, y) x'``, and the coefficients of both sides
are compared: with ``x' = x_1 + 2 x_2 t + ...``,

    y_j = (the coefficient of order j - 1 of L(x(t), y(t)) x'(t)) / j,

which needs those of x up to x_j and those of y up to y_{j-1}, so the ops of the rule are followed lazily, each by the same means. Where L is made of
y (``exp``: ``L = y``; ``tanh``: ``L = 1 - y^2``) or of an op whose rule leads back (``sin``, ``cos``), these are the known recurrences, with j
products for y_j; likewise where it is made of products and systems of y (QR, eigenvectors). Where every derivative is another function (the polygamma
functions), the rules of the rules are followed down to order 0, in a number of ops that grows with the cube of the order.
Nothing is nested: no coefficient is computed twice, since equal ops on equal series are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append
from wengert.ir.symbols import functions_used, symbols_of
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.requests.custom import CUSTOM_JVP
from wengert.transforms.ad.requests.request import function_named, no_function
from wengert.transforms.ad.rule import RULES, STEPS, Tangent
from wengert.transforms.ad.taylor.series import Compute, Series, times
from wengert.transforms.core.closing import free_values

if TYPE_CHECKING:
    from wengert.transforms.ad.taylor.sweep import TaylorSweep


class _Rule:
    """The ops of an op's derivative rule, in a block of their own: arguments are what the op uses, then the tangents of what changes."""

    def __init__(self, sweep: TaylorSweep, op: Operation, series: dict[SSAValue, Series]):
        self.used = list(dict.fromkeys([*operands_of(op), *(free_values(op.regions) if op.regions else ())]))
        self.moving = [value for value in self.used if not series[value].is_constant]
        self.block = Block(arg_types=[value.type for value in (*self.used, *self.moving)])
        arguments = self.block.args[: len(self.used)]
        self.dots = self.block.args[len(self.used) :]
        b = OpBuilder(self.block, location=sweep.b.location, pass_name=sweep.b.pass_name)
        forward = ForwardSweep(b, LinearBuilder(self.block, b, self.dots), sweep.module)
        by_value = dict(zip(self.moving, self.dots, strict=True))
        forward.bind(self.used, arguments, [by_value.get(value) for value in self.used])
        forward.run([op])
        self.primals: list[SSAValue] = [forward.primal(result) for result in op.results]
        self.tangents: list[Tangent] = [forward.tangent(result) for result in op.results]
        append(self.block, ReturnOp.create(operands=[*self.primals, *(y for y in self.tangents if y is not None)]))
        if any(type(each) not in RULES and type(each) not in STEPS for each in ops_in(self.block)[:-1]):
            self._to_core(sweep.module)
        self.ops = ops_in(self.block)[:-1]

    def _to_core(self, module: ModuleOp) -> None:
        """Brings what the rule emits to core level: a few rules emit ops that have rules there only. Declared derivatives call functions of the module."""
        from wengert.transforms.ad.derive import prepare

        flags = [y is not None for y in self.tangents]
        function = FuncOp("rule", ([a.type for a in self.block.args], [v.type for v in terminator_operands(self.block)]), Region([self.block]))
        prepare(ModuleOp([function, *(used.clone() for used in functions_used(function, module))]))
        self.block = function.body.block
        self.dots = self.block.args[len(self.used) :]
        values = list(terminator_operands(self.block))
        self.primals, rest = values[: len(flags)], iter(values[len(flags) :])
        self.tangents = [next(rest) if flag else None for flag in flags]

    def is_linear(self, series: dict[SSAValue, Series]) -> bool:
        """Whether the map does not change along the path: what is computed with tangents are constants beside."""
        linear: set[SSAValue] = set(self.dots)
        for op in self.ops:
            flags = [operand in linear for operand in operands_of(op)]
            if any(flags):
                if any(not flag and not series[operand].is_constant for flag, operand in zip(flags, operands_of(op), strict=True)):
                    return False
                linear.update(op.results)
        return True


def results(sweep: TaylorSweep, op: Operation, new: Operation, series: dict[SSAValue, Series]) -> list[Series]:
    """The series of an op's results; ``new`` is the op on the primals. The rule is looked at when the first coefficient is asked for."""
    made = [Series(result) for result in new.results]
    operands = {value: series[value] for value in (*operands_of(op), *(free_values(op.regions) if op.regions else ()))}
    known: list[list[Compute]] = []

    def rules() -> list[Compute]:
        if not known:
            rule = _Rule(sweep, op, operands)
            inside = _arguments(sweep, rule, operands)
            inside.update(zip(rule.primals, made, strict=True))
            _follow(sweep, rule, inside)
            if rule.is_linear(inside):
                known.append([x.at for x in sweep.linear(new, [operands[value] for value in operands_of(op)])])
            else:
                known.append([_equation(sweep, inside, tangent) for tangent in rule.tangents])
        return known[0]

    def compute(n: int) -> Compute:
        def at(j: int) -> Tangent:
            return rules()[n](j)

        return at

    for n, y in enumerate(made):
        if has_tangent(y.primal.type):
            y.compute = compute(n)
    return made


def step(sweep: TaylorSweep, op: Operation, series: dict[SSAValue, Series]) -> list[Series]:
    """The series of the results of an op that the forward sweep differentiates as a whole: a call whose function declares its derivative, a sort. Values and
    equation are what the sweep makes. A declared derivative that is not there is an error for whoever asks for a coefficient: rules of rules end somewhere."""
    if (missing := _missing_rule(sweep, op)) is not None:

        def refused(j: int) -> Tangent:
            raise no_function(sweep.module, missing)

        return [Series(y, refused if has_tangent(y.type) else None) for y in sweep.primal(op, series).results]
    rule = _Rule(sweep, op, series)
    inside = _arguments(sweep, rule, series)
    plain: dict[SSAValue, Series] = {value: Series(x.primal) for value, x in inside.items()}
    for each in rule.ops:
        plain.update(zip(each.results, sweep.apply(each, plain), strict=True))
    made: list[Series] = []
    for y, tangent in zip(rule.primals, rule.tangents, strict=True):
        if isinstance(y, BlockArgument):
            made.append(inside[y])
        else:
            made.append(Series(plain[y].primal, None if tangent is None else _equation(sweep, inside, tangent)))
            inside[y] = made[-1]
    for each in rule.ops:  # what the op itself gives beside its results: the positions of what is sorted
        if any(value in rule.primals for value in each.results):
            beside = [value for value in each.results if value not in inside]
            if any(has_tangent(value.type) for value in beside):
                raise refuse(op, "has no Taylor series")
            inside.update((value, plain[value]) for value in beside)
    _follow(sweep, rule, inside)
    return made


def _missing_rule(sweep: TaylorSweep, op: Operation) -> str | None:
    """The name of the declared derivative of the function that an op calls, if the module has no such function."""
    if not isinstance(op, CallOp):
        return None
    declared = function_named(sweep.module, op.callee.string_value()).attributes.get(CUSTOM_JVP)
    name = declared.string_value() if isinstance(declared, SymbolRefAttr) else None
    return None if name is None or name in symbols_of(sweep.module.body.block) else name


def _arguments(sweep: TaylorSweep, rule: _Rule, series: dict[SSAValue, Series]) -> dict[SSAValue, Series]:
    """The series of what the rule is given."""
    inside: dict[SSAValue, Series] = {argument: series[value] for argument, value in zip(rule.block.args, rule.used, strict=False)}
    for dot, value in zip(rule.dots, rule.moving, strict=True):
        inside[dot] = _rate(sweep, series[value])
    return inside


def _rate(sweep: TaylorSweep, x: Series) -> Series:
    """``x'``: its coefficient of order i is ``(i + 1) x_{i+1}``."""
    b = sweep.b
    known = x.at(1)
    first: Value = b.zeros(x.primal.type) if known is None else known  # pyright: ignore[reportArgumentType]

    def coefficient(i: int) -> Tangent:
        value = x.at(i + 1)
        return None if value is None else times(b, value, i + 1)

    return Series(first, coefficient)


def _follow(sweep: TaylorSweep, rule: _Rule, inside: dict[SSAValue, Series]) -> None:
    """The series of all that the rule emits, but for the results themselves."""
    sweep.depth += 1
    for each in rule.ops:
        if any(value not in inside for value in each.results):
            inside.update((value, x) for value, x in zip(each.results, sweep.apply(each, inside), strict=True) if value not in inside)
    sweep.depth -= 1


def _equation(sweep: TaylorSweep, inside: dict[SSAValue, Series], tangent: Tangent) -> Compute:
    """The coefficients of a result from those of the right-hand side, one order lower."""

    def at(j: int) -> Tangent:
        value = None if tangent is None else inside[tangent].at(j - 1)
        return None if value is None else times(sweep.b, value, 1 / j)

    return at
