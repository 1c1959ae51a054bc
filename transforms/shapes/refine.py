"""``refine-shapes``: from a program that leaves extents open to its static form for given shapes of the arguments.

Calls are inlined, so that what is known of an extent is known wherever it is used. Then the function is written again from its
first op to its last: arguments have the given types, every op the result types that its typing rule infers from its operands'
(the rule that verifies it), arithmetic on extents is evaluated, and ops that take an extent as a value become their static forms.

Before and after ``refine-shapes{shapes="3x4"}``::

    func.func public @main(%x: tensor<?x4xf64>) -> tensor<?xf64> {           func.func public @main(%x: tensor<3x4xf64>) -> tensor<12xf64> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : ...                      %0 = stablehlo.reshape %x : (tensor<3x4xf64>) -> tensor<12xf64>
      %c = stablehlo.constant dense<4> : tensor<i32>                           return %0 : tensor<12xf64>
      %m = stablehlo.multiply %n, %c : tensor<i32>                           }
      %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
      %0 = stablehlo.dynamic_reshape %x, %s : ... -> tensor<?xf64>
      return %0 : tensor<?xf64>
    }

A loop whose carried values change their shapes, and a result whose shape depends on the elements of an argument, have no static
form: they are refused by name and place. This is what StableHLO's refine-arguments, refine-shapes and canonicalize-dynamism do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.ir.construction import erase
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import DYNAMIC, is_integer, shape_of_type
from wengert.ir.traversal import all_ops
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce
from wengert.transforms.optimize.effects import is_pure
from wengert.transforms.shapes.argument_shapes import Shape, fitted, read_shape, shape_text
from wengert.transforms.shapes.dynamism import is_dynamic, is_open
from wengert.transforms.shapes.functions import Refinement


@dataclass(frozen=True)
class RefineShapesPass(ModulePass):
    """Turns a function that leaves extents open into its static form for given shapes of its arguments."""

    name = "refine-shapes"

    fn: str = "main"
    shapes: tuple[str, ...] = ()
    """The shape of each argument: ``"2x3"`` (rank 0 is ``""``), or ``keep`` for one whose type says it. Arguments that come last may be left out."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refine_shapes(op, self.fn, [read_shape(text) for text in self.shapes])


def refine_shapes(module: ModuleOp, name: str = "main", shapes: Sequence[Shape | None] = ()) -> None:
    """Refines a function of the module, in place, with what it calls.

    Args:
        module: what the function is in. Functions that it does not call stay as they are.
        name: the function.
        shapes: the shapes of its arguments; None, or nothing, for those whose types leave nothing open.

    Raises:
        DiagnosticError: shapes are missing or do not fit, an op rejects its operands for these shapes, or has no static form.
    """
    function = function_named(module, name)
    types = _argument_types(function, shapes)
    if not is_dynamic(module):
        return
    inline(module, keep_custom=True)
    refined = Refinement(module).refined(function_named(module, name), types)
    _drop_arithmetic(refined)
    symbol_dce(module)
    module.attributes.pop("jax.uses_shape_polymorphism", None)


def _drop_arithmetic(function: FuncOp) -> None:
    """Removes what only said how large something is: constants, and ops on integers, that nothing uses any more."""
    for op in reversed(all_ops(function)):
        dead = is_pure(type(op)) and all(result.first_use is None for result in op.results)
        if dead and (isinstance(op, stablehlo.ConstantOp) or all(_is_integer(result.type) for result in op.results)):
            erase(op)


def _is_integer(type: Attribute) -> bool:
    return isinstance(type, TensorType) and is_integer(cast("TensorType[Any]", type).element_type)


def _argument_types(function: FuncOp, shapes: Sequence[Shape | None]) -> list[Attribute]:
    """The types of the arguments with these shapes."""
    declared = list(function.function_type.inputs.data)
    label = f"@{function.sym_name.data}"
    if len(shapes) > len(declared):
        raise error_at(function, f"{label} has {len(declared)} arguments, but {len(shapes)} shapes are given")
    types: list[Attribute] = []
    for i, type in enumerate(declared):
        shape = shapes[i] if i < len(shapes) else None
        if shape is not None:
            types.append(fitted(type, shape, function.location, f"argument {i} of {label}"))
        elif is_open(type):
            hint = f"refine-shapes takes the shapes of the arguments, such as {_example(type)} for this one"
            raise error_at(function, f"argument {i} of {label} has the type {type}, and its shape is not given", hint)
        else:
            types.append(type)
    return types


def _example(type: Attribute) -> str:
    return shape_text(3 if n == DYNAMIC else n for n in shape_of_type(cast("TensorType[Any]", type)))
