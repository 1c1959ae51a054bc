"""The ad dialect: differentiation and batching requested in the program's text.

``ad.jvp`` and ``ad.vjp`` call the derivative of a function; ``ad.linearize`` evaluates a function and gives its derivative
at that point as a linear map, which ``ad.apply`` and ``ad.apply_transpose`` apply as often as needed. Because they are ops
like any other, derivatives nest and stand where calls may stand. ``expand-ad`` replaces them, innermost first::

    %y, %y_dot = ad.jvp @f(%x, %c) tangents(%x_dot) wrt = [0], of = [0] : (T, U, T) -> (T, T)
    %y, %x_bar = ad.vjp @f(%x, %c) cotangents(%y_bar) wrt = [0], of = [0] : (T, U, T) -> (T, T)
    %y, %x_bar = ad.vjp @f(%x, %c) cotangents(%y_bar) wrt = [0], of = [0], residuals = "recompute-all" : (T, U, T) -> (T, T)
    %y, %d = ad.linearize @f(%x, %c) wrt = [0], of = [0] : (T, U) -> (T, !ad.linear<(T) -> (T)>)
    %y_dot = ad.apply %d(%x_dot) : (!ad.linear<(T) -> (T)>, T) -> T
    %x_bar = ad.apply_transpose %d(%y_bar) : (!ad.linear<(T) -> (T)>, T) -> T

``ad.batch`` calls a function for many batch elements at once; argument i holds them along dimension ``in_axes[i]``, result j along
``out_axes[j]``, and -1 says that there is one value for all::

    %ys = ad.batch @f(%xs, %c) in_axes = [0, -1], out_axes = [0] : (tensor<8x3xf64>, U) -> tensor<8x3xf64>

``ad.stop_gradient`` passes its operand on and has a derivative of zero. ``ad.partials`` passes its first operand on too, as an elementwise function whose
partial derivatives are other operands::

    %y = ad.partials %value, %x1, %x2, %c1, %c2 : T      dy = c1 dx1 + c2 dx2

``ad.guard`` passes its first operand on and says, by a
mask over its leading dimensions, which parts of it matter: batching writes it where batch elements take different branches, and reverse
mode then keeps the others from making a NaN of a derivative. ``ad.checkpoint @f(%x) : (T) -> T`` calls a function
whose inside reverse mode does not keep but computes again; ``ad.pushforward`` and ``ad.pullback`` are what stands for its
derivative until it is expanded; ``ad.replay`` (:mod:`~wengert.dialects.ad_replay`) is the linear part of a loop of which a few states are kept.

A function declares its own derivative by attributes: ``ad.custom_jvp = @f_jvp``, a function ``(inputs, tangents of every
differentiable input) -> (outputs, tangents of every differentiable output)``, in which with ``ad.symbolic_zeros`` a tangent of zero is absent and
not a number; or ``ad.custom_vjp = [@f_fwd, @f_bwd]``, with
``f_fwd: inputs -> (outputs, residuals)`` and ``f_bwd: (residuals, cotangents) -> cotangents of the inputs``, which must be
linear in the cotangents. ``ad.not_differentiable = ["", "reason"]`` has a text for each operand: why a derivative by it is an error, or nothing where it is
none. ``ad.transposed_call`` is what forward mode makes of such an ``f_bwd``: its transpose, applied.

``ad.linear_call`` calls a function that is linear in its last arguments, so many as ``linear`` says, and names the function that is its transpose,
``(other arguments, cotangents of the results) -> cotangents of those``; without one, ``because`` says why there is none::

    %x_dot = ad.linear_call @solve(%a, %b_dot) linear = 1, transpose = @solve_transpose : (U, T) -> T

Values that are given by an equation (``ad.custom_linear_solve``, ``ad.custom_root``, ``ad.custom_fixed_point``) are in
:mod:`wengert.dialects.ad_implicit`.
"""

from __future__ import annotations

from typing import ClassVar, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttr, FunctionType, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, operand_def, opt_prop_def, param_def, prop_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure

from wengert.dialects.ad_implicit import IMPLICIT, Symbol
from wengert.dialects.ad_replay import ReplayOp
from wengert.dialects.facts import NO_FLOPS, STRUCTURE, Batching, Facts, Traffic, Work, elementwise
from wengert.dialects.stablehlo.base import TensorOp, UnaryOp
from wengert.dialects.stablehlo.typing.checks import (
    expect_elements,
    expect_result,
    fail,
    operand,
)
from wengert.ir.attributes import int_of, ints
from wengert.ir.element_classes import ANY, BOOLEAN, COMPLEX, FLOAT
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer
from wengert.ir.symbols import NamedFunction, NamesFunctions
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import is_differentiable
from wengert.ir.verification.typing_rules import typing_rule


@irdl_attr_definition
class LinearType(ParametrizedAttribute, TypeAttribute):
    """A linear map from tangents to tangents, by the types of what it takes and gives."""

    name = "ad.linear"
    signature: FunctionType = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.signature)


class CalleeText(Struct, frozen=True):
    """``@f(%x, %c) tangents(%x_dot)``: the function, its inputs, and a second group of operands under a word."""

    word: str = ""
    count: str = ""
    """The property whose length is the size of the second group."""
    properties: tuple[str, ...] = ("callee",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["callee"] = SymbolRefAttr(reader.symbol())
        sx.ParenthesizedOperands().read(reader, state)
        if self.word:
            reader.need_word(self.word)
            sx.ParenthesizedOperands().read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        callee = cast(SymbolRefAttr, op.properties["callee"]).root_reference.data
        second = len(ints(op.properties[self.count])) if self.word else 0
        first = len(op.operands) - second
        writer.write(f" {writer.symbol(callee)}({writer.values(op.operands[:first])})")
        if self.word:
            writer.write(f" {self.word}({writer.values(op.operands[first:])})")


class AppliedText(Struct, frozen=True):
    """``%map(%x, %y)``: the linear map and what it is applied to."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        sx.Operands().read(reader, state)
        sx.ParenthesizedOperands().read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.value(op.operands[0])}({writer.values(op.operands[1:])})")


_WRT, _OF = sx.Key("wrt", "wrt", sx.INTS), sx.Key("of", "of", sx.INTS)
_POSITIONS = sx.Keys(_WRT, _OF, leading=False)


class RequestOp(TensorOp):
    """A request for a derivative of a function, with respect to the arguments ``wrt``, of the results ``of``."""

    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    wrt = prop_def(DenseArrayBase)
    of = prop_def(DenseArrayBase)
    results_ = var_result_def()
    traits = traits_def(Pure())


@op_definition
class JvpOp(RequestOp):
    """Outputs and tangents of the outputs ``of``, from inputs and tangents of the inputs ``wrt``."""

    name = "ad.jvp"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText("tangents", "wrt"), _POSITIONS, sx.FunctionType())


@op_definition
class VjpOp(RequestOp):
    """Outputs and cotangents of the inputs ``wrt``, from inputs and cotangents of the outputs ``of``.

    ``residuals`` names the policy for what is kept between the sweeps; without it that is left open.
    """

    name = "ad.vjp"
    FACTS: ClassVar = STRUCTURE
    residuals = opt_prop_def(StringAttr)
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(
        CalleeText("cotangents", "of"), sx.Keys(_WRT, _OF, sx.Key("residuals", "residuals", sx.STRING, optional=True), leading=False), sx.FunctionType()
    )


@op_definition
class LinearizeOp(RequestOp):
    """Outputs, and the derivative at the inputs as a linear map."""

    name = "ad.linearize"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText(), _POSITIONS, sx.FunctionType())


@op_definition
class ApplyOp(TensorOp):
    """A linear map applied to tangents."""

    name = "ad.apply"
    FACTS: ClassVar = STRUCTURE
    map = operand_def(LinearType)
    tangents = var_operand_def()
    results_ = var_result_def()
    traits = traits_def(Pure())
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(AppliedText(), sx.FunctionType())


@op_definition
class ApplyTransposeOp(TensorOp):
    """The transpose of a linear map applied to cotangents."""

    name = "ad.apply_transpose"
    FACTS: ClassVar = STRUCTURE
    map = operand_def(LinearType)
    cotangents = var_operand_def()
    results_ = var_result_def()
    traits = traits_def(Pure())
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(AppliedText(), sx.FunctionType())


@op_definition
class TransposedCallOp(TensorOp):
    """The transpose of a linear function applied to tangents. ``callee: (residuals, cotangents) -> x`` is linear in its
    last arguments; this op is ``(residuals, x) -> cotangents``. The residuals come first; ``linear`` counts the x."""

    name = "ad.transposed_call"
    FACTS: ClassVar = STRUCTURE
    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    wrt = prop_def(DenseArrayBase)
    results_ = var_result_def()
    traits = traits_def(Pure())
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText(), sx.Keys(sx.Key("wrt", "wrt", sx.INTS), leading=False), sx.FunctionType())


@op_definition
class LinearCallOp(TensorOp):
    """Calls a function that is linear in its last arguments, and names its transpose."""

    name = "ad.linear_call"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.NONE)
    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    linear = prop_def(IntegerAttr)
    transpose = opt_prop_def(FlatSymbolRefAttr)
    because = opt_prop_def(StringAttr)
    results_ = var_result_def()
    traits = traits_def(Pure(), NamesFunctions())
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(
        CalleeText(),
        sx.Keys(
            sx.Key("linear", "linear", sx.INT),
            sx.Key("transpose", "transpose", Symbol(), optional=True),
            sx.Key("because", "because", sx.STRING, optional=True),
            leading=False,
        ),
        sx.FunctionType(),
    )

    @property
    def others(self) -> int:
        """The number of arguments in which the function is not linear."""
        return len(self.arguments) - int_of(self.linear)

    @property
    def named_functions(self) -> list[NamedFunction]:
        """The function and its transpose, with their types."""
        inputs, outputs = [v.type for v in self.arguments], [r.type for r in self.results]
        called = [NamedFunction(self.callee.string_value(), inputs, outputs)]
        if self.transpose is None:
            return called
        return [*called, NamedFunction(self.transpose.string_value(), [*inputs[: self.others], *outputs], inputs[self.others :])]


@typing_rule(LinearCallOp)
def check_linear_call(op: LinearCallOp) -> None:
    """The function is linear in some of its arguments, and has floats there and as results."""
    if not 0 <= op.others < len(op.arguments):
        fail(f"linear must be between 1 and the {len(op.arguments)} arguments, found {int_of(op.linear)}")
    for value in (*op.arguments[op.others :], *op.results):
        if not is_differentiable(value.type):
            fail(f"what is linear must be floats, found {value.type}")


@op_definition
class BatchOp(TensorOp):
    """Calls a function of one batch element for many: arguments hold them along ``in_axes``, results along ``out_axes`` (-1: one for all)."""

    name = "ad.batch"
    FACTS: ClassVar = STRUCTURE
    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    in_axes = prop_def(DenseArrayBase)
    out_axes = prop_def(DenseArrayBase)
    results_ = var_result_def()
    traits = traits_def(Pure())
    SYNTAX: ClassVar = sx.Syntax(
        CalleeText(), sx.Keys(sx.Key("in_axes", "in_axes", sx.INTS), sx.Key("out_axes", "out_axes", sx.INTS), leading=False), sx.FunctionType()
    )


@op_definition
class CheckpointOp(TensorOp):
    """A call whose inside reverse mode does not keep: the backward sweep computes it again from the arguments."""

    name = "ad.checkpoint"
    FACTS: ClassVar = STRUCTURE
    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttr)
    results_ = var_result_def()
    traits = traits_def(Pure())
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText(), sx.FunctionType())


@op_definition
class PushforwardOp(RequestOp):
    """The tangents of a function's outputs ``of`` from its inputs and tangents of the inputs ``wrt``, without the outputs."""

    name = "ad.pushforward"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText("tangents", "wrt"), _POSITIONS, sx.FunctionType())


@op_definition
class PullbackOp(RequestOp):
    """The cotangents of a function's inputs ``wrt`` from its inputs and cotangents of the outputs ``of``, without the outputs."""

    name = "ad.pullback"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(CalleeText("cotangents", "of"), _POSITIONS, sx.FunctionType())


@op_definition
class StopGradientOp(UnaryOp):
    """The operand, with a derivative of zero."""

    name = "ad.stop_gradient"
    FACTS: ClassVar = elementwise(ANY, recompute=True, one_type=False, flops=NO_FLOPS)
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.Operands(), sx.SameType())


@op_definition
class PartialsOp(TensorOp):
    """The first operand, with the derivative that the others say: n variables, then as many partial derivatives by them, element by element.

    How the value itself was computed does not count for the derivative; how the partial derivatives were computed does for the second one.
    It is how a front end keeps another system's conventions at kinks, where an op's own rule keeps ours.
    """

    name = "ad.partials"
    FACTS: ClassVar = elementwise(FLOAT | COMPLEX, recompute=False, flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.SameType())
    arguments = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @property
    def value(self) -> SSAValue:
        """The value that is passed on."""
        return self.operands[0]


@typing_rule(PartialsOp)
def check_partials(op: PartialsOp) -> None:
    """A value, n variables and n partial derivatives, all of one type."""
    if len(op.operands) % 2 == 0 or not op.operands:
        fail(f"expected a value, variables and as many partial derivatives, found {len(op.operands)} operands")
    for i in range(len(op.operands)):
        x = operand(op, i, "operand")
        expect_result(op, x.get_shape(), x.element_type)


@op_definition
class GuardOp(TensorOp):
    """The operand as it is, with the promise that nothing depends on its parts for which the mask does not hold.

    The mask is a ``tensor<..xi1>`` whose dimensions are the first ones of the operand.
    """

    name = "ad.guard"
    FACTS: ClassVar = Facts(work=Work.NONE, linear=(0,), batching=Batching.SAME_OP)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.FunctionType())
    operand = operand_def()
    mask = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@typing_rule(GuardOp)
def check_guard(op: GuardOp) -> None:
    """The result is of the operand's type; the mask holds booleans, along the first dimensions of the operand."""
    x, mask = operand(op, 0, "operand"), operand(op, 1, "mask")
    expect_elements("mask", mask, BOOLEAN)
    if mask.get_shape() != x.get_shape()[: len(mask.get_shape())]:
        fail(f"the mask must have the first dimensions of the operand, found {mask} for {x}")
    expect_result(op, x.get_shape(), x.element_type)


_OPS = (
    JvpOp, VjpOp, LinearizeOp, ApplyOp, ApplyTransposeOp, TransposedCallOp, LinearCallOp, BatchOp, StopGradientOp, PartialsOp,
    GuardOp, CheckpointOp, PushforwardOp, PullbackOp, ReplayOp,
)  # fmt: skip
AD = Dialect("ad", [*_OPS, *IMPLICIT], [LinearType])
