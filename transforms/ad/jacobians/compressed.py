"""Compressed Jacobians: all rows of an argument move at once, one column after the other.

Where each row of a result depends on one row of each argument (instances of a batch, rows that a gather picks), the columns that this
gives hold every nonzero of the Jacobian (Curtis, Powell, Reid, "On the estimation of sparse Jacobian matrices", 1974; Griewank, Walther,
"Evaluating Derivatives", 2nd ed., ch. 8). ``(inputs) -> one array for each result in of``, of the shape of the result followed by the number
of columns: those of all arguments in ``wrt``, in order.

Every column of an argument becomes an argument of its own, and the function is simplified in this form before it is differentiated. So
the tangents of the other columns are not numbers that happen to be zero but are absent, and what depends on one column costs only that
column::

    func @main(%x: tensor<9x3xf64>) -> tensor<9x3xf64> {         func @main_columns(%x0: tensor<9x1xf64>, %x1: ..., %x2: ...) -> tensor<9xf64> {
      %x0 = stablehlo.slice %x [0:9, 0:1]                          %x = stablehlo.concatenate %x0, %x1, %x2, dim = 1
      ...                                                          %y = call @main_primal(%x)
      %0:2 = ad.jvp @main_columns(%x0, %x1, %x2, %ones) wrt = [0]  return %y
      %1:2 = ad.jvp @main_columns(%x0, %x1, %x2, %ones) wrt = [1] }
      ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block
from xdsl.passes import ModulePass

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.construction import append
from wengert.ir.tensor_types import element, shape, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.request import Request, function_named, request
from wengert.transforms.core.inline import inline

NAME = "compressed-jacobian"


@dataclass(frozen=True)
class CompressedJacobianPass(ModulePass):
    """Replaces a function by its compressed Jacobian, written as requests, which ``expand-ad`` carries out."""

    name = NAME

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compressed_jacobian(op, self.fn, self.wrt, self.of)


def compressed_jacobian(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by requests for its compressed Jacobian, in place, and adds ``<fn>_columns``, which they ask to be differentiated.

    Rows are counted by the first dimension; an argument of rank 0 or 1 has one column. Complex arguments move along 1.
    """
    prepare(module)
    primal = function_named(module, fn)
    asked = request(primal, wrt, of)
    primal.properties["sym_name"] = StringAttr(f"{fn}_primal")
    columns = _of_columns(asked, f"{fn}_columns")
    made = _requests(asked, fn, columns)
    primal.properties["sym_visibility"] = StringAttr("private")
    for function in (made, columns):
        module.body.block.insert_op_before(function, primal)
    inline(module, keep_custom=True)


def column_count(extents: Sequence[int]) -> int:
    """How many columns an argument of this shape has."""
    return prod(extents[1:])


def _is_split(extents: Sequence[int]) -> bool:
    return len(extents) > 1


def _of_columns(asked: Request, name: str) -> FuncOp:
    """The function of the columns of its arguments."""
    arguments = asked.block.args
    parts = [_column_types(x) if i in asked.wrt else [x.type] for i, x in enumerate(arguments)]
    block = Block(arg_types=[type for part in parts for type in part])
    b = begin_function(block, asked.function, NAME)
    given = iter(block.args)
    columns = [[next(given) for _ in part] for part in parts]
    inputs = [_joined(b, part, x) if i in asked.wrt else part[0] for i, (part, x) in enumerate(zip(columns, arguments, strict=True))]
    call = CallOp(f"{asked.function.sym_name.data}", inputs, list(asked.function.function_type.outputs))
    call.location = asked.function.location
    append(block, call)
    made = finish_function(block, [call.results[j] for j in asked.of], name, asked.function)
    made.properties["sym_visibility"] = StringAttr("private")
    return made


def _column_types(x: Value) -> list[Attribute]:
    extents = shape(x)
    return [tensor([extents[0], 1], element(x))] * column_count(extents) if _is_split(extents) else [x.type]


def _joined(b: OpBuilder, columns: Sequence[Value], x: Value) -> Value:
    """The argument of which these are the columns."""
    extents = shape(x)
    if not _is_split(extents):
        return columns[0]
    return b.reshape(b.concatenate(columns, 1) if columns else b.zeros(tensor([extents[0], 0], element(x))), extents)


def _columns(b: OpBuilder, x: Value) -> list[Value]:
    """The columns of an argument."""
    extents = shape(x)
    if not _is_split(extents):
        return [x]
    count = column_count(extents)
    flat = b.reshape(x, [extents[0], count])
    return [b.slice(flat, [0, n], [extents[0], n + 1]) for n in range(count)]


def _requests(asked: Request, name: str, columns: FuncOp) -> FuncOp:
    """The function that asks for the derivative along each column."""
    block = Block(arg_types=list(asked.function.function_type.inputs))
    for old, new in zip(asked.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, asked.function, NAME)
    parts = [_columns(b, x) if i in asked.wrt else [x] for i, x in enumerate(block.args)]
    inputs = [part for some in parts for part in some]
    places = [sum(map(len, parts[:i])) + n for i in asked.wrt for n in range(len(parts[i]))]
    found = [_along(b, columns, inputs, place) for place in places]
    stacked = [_stacked(b, [tangents[k] for tangents in found], asked.results[j]) for k, j in enumerate(asked.of)]
    made = finish_function(block, stacked, name, asked.function)
    made.arg_attrs = asked.function.arg_attrs
    return made


def _along(b: OpBuilder, columns: FuncOp, inputs: Sequence[Value], place: int) -> Sequence[Value]:
    """The tangents of the results where one column moves by 1 in all rows."""
    outputs = list(columns.function_type.outputs)
    properties = {"callee": SymbolRefAttr(columns.sym_name.data), "wrt": int_array([place]), "of": int_array(range(len(outputs)))}
    return b.create(ad.JvpOp, [*inputs, b.full_like(inputs[place], 1)], [*outputs, *outputs], properties)[len(outputs) :]


def _stacked(b: OpBuilder, tangents: Sequence[Value], y: Value) -> Value:
    """Tangents of a result side by side, in a new last dimension."""
    extents = shape(y)
    if not tangents:
        return b.zeros(tensor([*extents, 0], element(y)))
    return b.concatenate([b.reshape(y_dot, [*extents, 1]) for y_dot in tangents], len(extents))
