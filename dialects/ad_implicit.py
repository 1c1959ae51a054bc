"""Implicit functions of the ad dialect: values that equations say, and that are found by whatever solves these.

A value is given by an equation, and by a function that solves it. Its derivative follows from the equation alone (the implicit function theorem),
so nothing of the solver is differentiated or kept::

    %x = ad.custom_linear_solve @a(%p) rhs(%b), solve = @cg : (P, T) -> T                          // a(p, x) = b, linear in x
    %x = ad.custom_root @f(%p) initial(%x0), solve = @newton, tangent_solve = @s : (P, T) -> T     // f(p, x) = 0
    %x = ad.custom_fixed_point @g(%p) initial(%x0), solve = @iterate, tangent_solve = @s : (P, T) -> T   // g(p, x) = x

The functions take the operands of the first group, the *parameters*, first; what follows has the types of the unknown x, of which there may be several:

======================  ===========================  =========================================================================
function                takes                        gives
======================  ===========================  =========================================================================
the equation            ``(p, x)``                   ``a(p, x)``, ``f(p, x)`` or ``g(p, x)``
``solve``               ``(p, b)`` or ``(p, x0)``    ``x``, then others, of which ``aux`` are results of the op; they have no derivative
``transpose_solve``     ``(p, y)``                   ``z`` with ``a(p, .)^T z = y``, for ``custom_linear_solve``
``tangent_solve``       ``(p, x, b)``                ``v`` with ``J v = b`` and J = df/dx, or 1 - dg/dx for a fixed point
``transpose_solve``     ``(p, x, y)``                ``z`` with ``J^T z = y``, for the other two
======================  ===========================  =========================================================================

Without ``transpose_solve`` a solver is transposed op by op, so it has to be made of linear ops. ``symmetric = true`` says that a(p, .) is its own transpose;
``transposed = true``, which reverse mode writes, that the transposed system is solved.
"""

from __future__ import annotations

from typing import ClassVar, cast

from msgspec import Struct
from xdsl.dialects.builtin import FlatSymbolRefAttr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from wengert.dialects.facts import Facts, Traffic, Work
from wengert.dialects.stablehlo.base import TensorOp
from wengert.dialects.stablehlo.typing.checks import fail
from wengert.ir.attributes import int_of
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer
from wengert.ir.symbols import NamedFunction, NamesFunctions
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import is_differentiable
from wengert.ir.verification.typing_rules import typing_rule

_FACTS = Facts(work=Work.NONE, traffic=Traffic.NONE)
"""It costs what its solver costs, which ``lower-ad`` puts in its place."""


class EquationText(Struct, frozen=True):
    """``@f(%p) initial(%x0)``: the equation's function, its parameters, and the values of the unknown's types under a word."""

    word: str
    properties: tuple[str, ...] = ("callee",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["callee"] = SymbolRefAttr(reader.symbol())
        sx.ParenthesizedOperands().read(reader, state)
        reader.need_word(self.word)
        sx.ParenthesizedOperands().read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        equation = cast(ImplicitOp, op)
        callee = equation.callee.root_reference.data
        writer.write(f" {writer.symbol(callee)}({writer.values(equation.parameters)}) {self.word}({writer.values(equation.given)})")


class Symbol(Struct, frozen=True):
    """``@f`` for a reference to a function."""

    def read(self, reader: Reader) -> Attribute:
        return SymbolRefAttr(reader.symbol())

    def text(self, value: Attribute, writer: Writer) -> str:
        return writer.symbol(cast(SymbolRefAttr, value).root_reference.data)


def _function(name: str, *, optional: bool = False) -> sx.Key:
    return sx.Key(name, name, Symbol(), optional=optional)


def _named(symbol: Attribute, inputs: list[Attribute], outputs: list[Attribute], *, more: bool = False) -> NamedFunction:
    return NamedFunction(cast(SymbolRefAttr, symbol).string_value(), inputs, outputs, more)


_SOLVE, _TANGENT_SOLVE, _TRANSPOSE_SOLVE = _function("solve"), _function("tangent_solve"), _function("transpose_solve", optional=True)
_AUX = sx.Key("aux", "aux", sx.INT, optional=True)


class ImplicitOp(TensorOp):
    """A value that is given by an equation."""

    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    solve = prop_def(FlatSymbolRefAttr)
    transpose_solve = opt_prop_def(FlatSymbolRefAttr)
    aux = opt_prop_def(IntegerAttr)
    results_ = var_result_def()
    traits = traits_def(Pure(), NamesFunctions())

    @property
    def named_functions(self) -> list[NamedFunction]:
        """The equation and its solvers, with their types."""
        p, x = [v.type for v in self.parameters], [r.type for r in self.results[: self.count]]
        solved = [*x, *(r.type for r in self.results[self.count :])]
        return [_named(self.callee, [*p, *x], x), _named(self.solve, [*p, *x], solved, more=True), *self._other_functions(p, x)]

    def _other_functions(self, p: list[Attribute], x: list[Attribute]) -> list[NamedFunction]:
        """The solvers of the linear system that derivatives need."""
        tangent, transposed = self.properties.get("tangent_solve"), self.transpose_solve
        return [_named(symbol, [*p, *x, *x], x) for symbol in (tangent, transposed) if symbol is not None]

    @property
    def count(self) -> int:
        """The number of unknowns."""
        return len(self.results) - self.others

    @property
    def others(self) -> int:
        """The number of results besides the unknowns."""
        return 0 if self.aux is None else int_of(self.aux)

    @property
    def parameters(self) -> list[SSAValue]:
        """The operands that the equation depends on."""
        return list(self.arguments[: len(self.arguments) - self.count])

    @property
    def given(self) -> list[SSAValue]:
        """The right-hand side of a linear system, or where the solver begins."""
        return list(self.arguments[len(self.arguments) - self.count :])


@op_definition
class CustomLinearSolveOp(ImplicitOp):
    """The solution x of a(p, x) = b, where a is linear in x."""

    name = "ad.custom_linear_solve"
    FACTS: ClassVar = _FACTS
    symmetric = opt_prop_def(IntegerAttr)
    transposed = opt_prop_def(IntegerAttr)
    SYNTAX: ClassVar = sx.Syntax(
        EquationText("rhs"),
        sx.Keys(
            _SOLVE,
            _TRANSPOSE_SOLVE,
            _AUX,
            sx.Key("symmetric", "symmetric", sx.BOOL, optional=True),
            sx.Key("transposed", "transposed", sx.BOOL, optional=True),
        ),
        sx.FunctionType(),
    )

    @property
    def is_transposed(self) -> bool:
        """Whether the transposed system is solved."""
        return self.transposed is not None and bool(int_of(self.transposed))

    def _other_functions(self, p: list[Attribute], x: list[Attribute]) -> list[NamedFunction]:
        return [] if self.transpose_solve is None else [_named(self.transpose_solve, [*p, *x], x)]


@op_definition
class CustomRootOp(ImplicitOp):
    """The solution x of f(p, x) = 0 that ``solve`` finds from an initial guess, which has no influence on the derivative."""

    name = "ad.custom_root"
    FACTS: ClassVar = _FACTS
    tangent_solve = prop_def(FlatSymbolRefAttr)
    SYNTAX: ClassVar = sx.Syntax(EquationText("initial"), sx.Keys(_SOLVE, _TANGENT_SOLVE, _TRANSPOSE_SOLVE, _AUX), sx.FunctionType())


@op_definition
class CustomFixedPointOp(ImplicitOp):
    """The solution x of g(p, x) = x that ``solve`` finds from an initial guess, which has no influence on the derivative."""

    name = "ad.custom_fixed_point"
    FACTS: ClassVar = _FACTS
    tangent_solve = prop_def(FlatSymbolRefAttr)
    SYNTAX: ClassVar = sx.Syntax(EquationText("initial"), sx.Keys(_SOLVE, _TANGENT_SOLVE, _TRANSPOSE_SOLVE, _AUX), sx.FunctionType())


IMPLICIT = (CustomLinearSolveOp, CustomRootOp, CustomFixedPointOp)
"""The ops whose derivative follows from an equation."""


@typing_rule(*IMPLICIT)
def check_implicit(op: ImplicitOp) -> None:
    """The unknowns are floats, and have the types of the operands of the second group."""
    if not 0 <= op.others < len(op.results):
        fail(f"aux says that {op.others} of {len(op.results)} results are no unknowns, but there must be an unknown")
    if len(op.arguments) < op.count:
        fail(f"there are {op.count} unknowns, but only {len(op.arguments)} operands")
    what = "the right-hand side" if isinstance(op, CustomLinearSolveOp) else "the initial guess"
    for operand, result in zip(op.given, op.results, strict=False):
        if operand.type != result.type:
            fail(f"{what} must have the types of the unknowns, found {operand.type} for {result.type}")
        if not is_differentiable(result.type):
            fail(f"an unknown must be of real or complex floating point, found {result.type}")
