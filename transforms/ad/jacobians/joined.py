"""Jacobians of which all directions are in one batch, by any strategy.

The basis is that of all arguments in ``wrt`` together (forward), or of all results in ``of`` (reverse): one batch, where ``jacfwd`` and ``jacrev`` have one for
each argument or result. That is less work for many small ones, and more for few large ones, since every direction moves all of them. ``(inputs) -> one array
for each result in of and each argument in wrt``, as there::

    func @main(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %x_dots, %y_dots = (the columns of the identity: one unit vector for each batch element)
      %0:2 = ad.batch @main_jvp(%x, %y, %x_dots, %y_dots) in_axes = [-1, -1, 0, 0], out_axes = [-1, 0] : (..) -> (tensor<f64>, tensor<2xf64>)
      %1 = (element 0 of %0#1), %2 = (element 1)
      return %1, %2 : tensor<f64>, tensor<f64>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import Block
from xdsl.passes import ModulePass

from wengert.dialects import ad
from wengert.dialects.ad_parts import forget_parts
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.pass_options import OneOf
from wengert.ir.tensor_types import i64, shape, shape_of_type, tensor
from wengert.transforms.ad.batching.function import batched_type
from wengert.transforms.ad.derive import differentiate, prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import fresh_name, function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks

Mode = Literal["forward", "reverse"]
Type = TensorType[Any]
NAME = "joined-jacobian"


@dataclass(frozen=True)
class JoinedJacobianPass(ModulePass):
    """Replaces a function by its Jacobian, with all directions in one batch."""

    name = NAME

    mode: Annotated[str, OneOf(lambda: ["forward", "reverse"])] = "forward"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joined_jacobian(op, "forward" if self.mode == "forward" else "reverse", self.fn, self.wrt, self.of, self.strategy)


def joined_jacobian(
    module: ModuleOp, mode: Mode, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None, strategy: str = DEFAULT
) -> None:
    """Replaces ``fn`` by its Jacobian, in place. Raises DiagnosticError for what cannot be differentiated or batched, by name and place."""
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    inputs, outputs = _types(request.block.args), _types(request.results)
    arguments, results = [inputs[i] for i in request.wrt], [outputs[j] for j in request.of]
    differentiate(module, "jvp" if mode == "forward" else "vjp", fn, request.wrt, request.of, strategy)
    derivative = function_named(module, fn)
    forget_parts(derivative)
    tapes_to_stacks(derivative)
    name = fresh_name(module, f"{fn}_derivative")
    block = Block(arg_types=inputs)
    for old, new in zip(derivative.body.block.args, block.args, strict=False):
        new.name_hint = old.name_hint
    b = begin_function(block, derivative, NAME)
    moved, seen = (arguments, results) if mode == "forward" else (results, arguments)
    rows = _derivatives(b, name, block.args, outputs, moved, seen)
    parts = [[_block(b, whole, start, x, y, mode) for start, x in zip(_starts(moved), moved, strict=True)] for whole, y in zip(rows, seen, strict=True)]
    ordered = [part for row in parts for part in row] if mode == "forward" else [row[j] for j in range(len(results)) for row in parts]
    function = finish_function(block, ordered, fn, derivative)
    derivative.properties["sym_name"], derivative.properties["sym_visibility"] = StringAttr(name), StringAttr("private")
    module.body.block.insert_op_before(function, derivative)
    expand_ad(module)


def _derivatives(b: OpBuilder, name: str, inputs: Sequence[Value], outputs: Sequence[Type], moved: Sequence[Type], seen: Sequence[Type]) -> Sequence[Value]:
    """The derivatives of each type in ``seen``, with the directions in their first dimension."""
    count = sum(_size(x) for x in moved)
    seeds = [_unit_vectors(b, x, start, count) for start, x in zip(_starts(moved), moved, strict=True)]
    out_axes = [-1] * len(outputs) + [0] * len(seen)
    properties = {"callee": SymbolRefAttr(name), "in_axes": int_array([-1] * len(inputs) + [0] * len(seeds)), "out_axes": int_array(out_axes)}
    types = [*outputs, *(batched_type(y, 0, count) for y in seen)]
    return b.create(ad.BatchOp, [*inputs, *seeds], types, properties)[len(outputs) :]


def _unit_vectors(b: OpBuilder, type: Type, start: int, count: int) -> Value:
    """The part of the identity that belongs to one of several types, ``[count, *shape]``."""
    size = _size(type)
    square = tensor([count, size], i64)
    column = b.iota(1, square)
    place = b.add(column, b.full(start, square)) if start else column
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), place), type.get_element_type()), [count, *shape_of_type(type)])


def _block(b: OpBuilder, whole: Value, start: int, moved: Type, seen: Type, mode: Mode) -> Value:
    """The derivatives of one type along the elements of another: of the shape of the result followed by that of the argument."""
    extents, directions = shape_of_type(seen), shape_of_type(moved)
    rank = len(extents)
    part = b.slice(whole, [start] + [0] * rank, [start + _size(moved), *shape(whole)[1:]])
    if mode == "reverse":
        return b.reshape(part, [*directions, *extents])
    return b.reshape(b.transpose(part, [*range(1, rank + 1), 0]), [*extents, *directions])


def _types(values: Sequence[Value]) -> list[Type]:
    return [cast(Type, value.type) for value in values]


def _size(type: Type) -> int:
    return prod(shape_of_type(type))


def _starts(types: Sequence[Type]) -> list[int]:
    """Where the elements of each type begin among those of all."""
    return [sum(_size(type) for type in types[:k]) for k in range(len(types))]
