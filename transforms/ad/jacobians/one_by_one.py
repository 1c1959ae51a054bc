"""Derivatives along the columns of arguments, one after the other, all rows of a column at once.

Every column of an argument becomes an argument of its own, and the function is simplified in this form before it is differentiated. So
the tangents of the other columns are structurally zero, and a derivative costs only the ops that depend on its
column::

    func @main(%x: tensor<9x3xf64>) -> tensor<9x3xf64> {         func @main_columns(%x0: tensor<9x1xf64>, %x1: ..., %x2: ...) -> tensor<9xf64> {
      %x0 = stablehlo.slice %x [0:9, 0:1]                          %x = stablehlo.concatenate %x0, %x1, %x2, dim = 1
      ...                                                          ... (the function of %x)
      %0:2 = ad.jvp @main_columns(%x0, %x1, %x2, %ones) wrt = [0]  return %y
      %1:2 = ad.jvp @main_columns(%x0, %x1, %x2, %ones) wrt = [1] }
      ...
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.construction import append
from wengert.ir.tensor_types import element, shape, tensor
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.jacobians.directional import begun, put_in_place
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, fresh_name
from wengert.transforms.core.inline import inline
from wengert.transforms.optimize.cse import cse
from wengert.transforms.optimize.simplify import simplify


def column_count(extents: Sequence[int]) -> int:
    """The number of columns of an argument of this shape; the first dimension indexes rows."""
    return prod(extents[1:])


def derivatives_by_columns(module: ModuleOp, pass_name: str, request: Request) -> None:
    """Replaces the function of a request by one that returns for each result its tangents along the columns of the arguments, in a new last dimension, in
    place."""
    fn = request.function.sym_name.data
    columns = _of_columns(request, pass_name, fresh_name(module, f"{fn}_columns"))
    module.body.block.insert_op_before(columns, request.function)
    inline(module, keep_custom=True)
    simplify(columns)
    cse(columns)
    block, b = begun(request, pass_name)
    parts = [_columns(b, x) if i in request.wrt else [x] for i, x in enumerate(block.args)]
    inputs = [part for group in parts for part in group]
    positions = [sum(map(len, parts[:i])) + n for i in request.wrt for n in range(len(parts[i]))]
    tangents = [_along(b, columns, inputs, position) for position in positions]
    stacked = [_stacked(b, [along[k] for along in tangents], request.results[j]) for k, j in enumerate(request.of)]
    put_in_place(module, request, finish_function(block, stacked, fn, request.function))
    expand_ad(module)


def _is_split(extents: Sequence[int]) -> bool:
    return len(extents) > 1


def _of_columns(request: Request, pass_name: str, name: str) -> FuncOp:
    """The function of the columns of the arguments."""
    arguments = request.block.args
    parts = [_column_types(x) if i in request.wrt else [x.type] for i, x in enumerate(arguments)]
    block = Block(arg_types=[type for part in parts for type in part])
    b = begin_function(block, request.function, pass_name)
    remaining = iter(block.args)
    columns = [[next(remaining) for _ in part] for part in parts]
    inputs = [_joined(b, part, x) if i in request.wrt else part[0] for i, (part, x) in enumerate(zip(columns, arguments, strict=True))]
    call = CallOp(f"{request.function.sym_name.data}", inputs, list(request.function.function_type.outputs))
    call.location = request.function.location
    append(block, call)
    function = finish_function(block, [call.results[j] for j in request.of], name, request.function)
    function.properties["sym_visibility"] = StringAttr("private")
    return function


def _column_types(x: Value) -> list[Attribute]:
    extents = shape(x)
    return [tensor([extents[0], 1], element(x))] * column_count(extents) if _is_split(extents) else [x.type]


def _joined(b: OpBuilder, columns: Sequence[Value], x: Value) -> Value:
    """Concatenates the columns of an argument."""
    extents = shape(x)
    if not _is_split(extents):
        return columns[0]
    return b.reshape(b.concatenate(columns, 1) if columns else b.zeros(tensor([extents[0], 0], element(x))), extents)


def _columns(b: OpBuilder, x: Value) -> list[Value]:
    """Slices an argument into its columns."""
    extents = shape(x)
    if not _is_split(extents):
        return [x]
    count = column_count(extents)
    flat = b.reshape(x, [extents[0], count])
    return [b.slice(flat, [0, n], [extents[0], n + 1]) for n in range(count)]


def _along(b: OpBuilder, columns: FuncOp, inputs: Sequence[Value], position: int) -> Sequence[Value]:
    """The tangents of the results along one column, with a tangent of 1 in all rows."""
    outputs = list(columns.function_type.outputs)
    properties = {"callee": SymbolRefAttr(columns.sym_name.data), "wrt": int_array([position]), "of": int_array(range(len(outputs)))}
    return b.create(ad.JvpOp, [*inputs, b.full_like(inputs[position], 1)], [*outputs, *outputs], properties)[len(outputs) :]


def _stacked(b: OpBuilder, tangents: Sequence[Value], y: Value) -> Value:
    """Stacks tangents of a result in a new last dimension."""
    extents = shape(y)
    if not tangents:
        return b.zeros(tensor([*extents, 0], element(y)))
    return b.concatenate([b.reshape(y_dot, [*extents, 1]) for y_dot in tangents], len(extents))
