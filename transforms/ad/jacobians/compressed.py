"""Compressed Jacobians: derivatives along one column of an argument after the other, for all rows at once.

Where each row of a result depends on one row of each argument (elements of a batch, rows that a gather selects), these derivatives
contain every nonzero of the Jacobian (Curtis, Powell, Reid, "On the estimation of sparse Jacobian matrices", 1974; Griewank, Walther,
"Evaluating Derivatives", 2nd ed., ch. 8). ``(inputs) -> one array for each result in of``, of the shape of the result followed by the number
of columns: those of all arguments in ``wrt``, in order.

Every column of an argument becomes an argument of its own, and the function is simplified in this form before it is differentiated. So
the tangents of the other columns are structurally zero, and a derivative costs only the ops that depend on its
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
from wengert.transforms.ad.requests.request import Request, function_named, make_request
from wengert.transforms.core.inline import inline

NAME = "compressed-jacobian"


@dataclass(frozen=True)
class CompressedJacobianPass(ModulePass):
    """Replaces a function by its compressed Jacobian, written as requests, which ``expand-ad`` expands."""

    name = NAME

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        compressed_jacobian(op, self.fn, self.wrt, self.of)


def compressed_jacobian(module: ModuleOp, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by requests for its compressed Jacobian, in place, and adds the function ``<fn>_columns`` that they differentiate.

    The first dimension indexes rows; an argument of rank 0 or 1 has one column. Derivatives in complex arguments are those along 1.
    """
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    primal.properties["sym_name"] = StringAttr(f"{fn}_primal")
    columns = _of_columns(request, f"{fn}_columns")
    requests = _requests(request, fn, columns)
    primal.properties["sym_visibility"] = StringAttr("private")
    for function in (requests, columns):
        module.body.block.insert_op_before(function, primal)
    inline(module, keep_custom=True)


def column_count(extents: Sequence[int]) -> int:
    """The number of columns of an argument of this shape."""
    return prod(extents[1:])


def _is_split(extents: Sequence[int]) -> bool:
    return len(extents) > 1


def _of_columns(request: Request, name: str) -> FuncOp:
    """The function of the columns of the arguments."""
    arguments = request.block.args
    parts = [_column_types(x) if i in request.wrt else [x.type] for i, x in enumerate(arguments)]
    block = Block(arg_types=[type for part in parts for type in part])
    b = begin_function(block, request.function, NAME)
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


def _requests(request: Request, name: str, columns: FuncOp) -> FuncOp:
    """The function that requests the derivative along each column."""
    block = Block(arg_types=list(request.function.function_type.inputs))
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, request.function, NAME)
    parts = [_columns(b, x) if i in request.wrt else [x] for i, x in enumerate(block.args)]
    inputs = [part for group in parts for part in group]
    positions = [sum(map(len, parts[:i])) + n for i in request.wrt for n in range(len(parts[i]))]
    tangents_by_column = [_along(b, columns, inputs, position) for position in positions]
    stacked = [_stacked(b, [tangents[k] for tangents in tangents_by_column], request.results[j]) for k, j in enumerate(request.of)]
    function = finish_function(block, stacked, name, request.function)
    function.arg_attrs = request.function.arg_attrs
    return function


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
