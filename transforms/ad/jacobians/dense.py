"""Jacobians: forward or reverse mode of a function, batched over the standard basis of its tangents or cotangents.

``(inputs) -> one array for each result in of and each argument in wrt``, results first, of the shape of the result followed by
that of the argument. ``jacfwd`` costs as many tangents as the argument has elements, ``jacrev`` as many cotangents as the result
has; values that do not depend on them are computed once. Both are written as requests, which ``expand-ad`` expands::

    func @main(%x: tensor<3xf64>) -> tensor<2x3xf64> {
      %basis = (the identity)
      %0:2 = ad.batch @column(%x, %basis) in_axes = [-1, 0], out_axes = [-1, 1] : (..) -> (tensor<2xf64>, tensor<2x3xf64>)
      return %0#1 : tensor<2x3xf64>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import element, i64, shape, tensor
from wengert.transforms.ad.batching.function import batched_type
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, function_named, make_request

Mode = Literal["jacfwd", "jacrev"]


@dataclass(frozen=True)
class JacobianPass(ModulePass):
    """Replaces a function by its Jacobian."""

    MODE: ClassVar[Mode]

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        jacobian(op, self.MODE, self.fn, self.wrt, self.of)


@dataclass(frozen=True)
class JacfwdPass(JacobianPass):
    """Replaces a function by its Jacobian, computed in forward mode."""

    name = "jacfwd"
    MODE = "jacfwd"


@dataclass(frozen=True)
class JacrevPass(JacobianPass):
    """Replaces a function by its Jacobian, computed in reverse mode."""

    name = "jacrev"
    MODE = "jacrev"


def jacobian(module: ModuleOp, mode: Mode, fn: str = "main", wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> None:
    """Replaces ``fn`` by its Jacobian, in place.

    Complex results are taken to be holomorphic in complex arguments: the derivative is the one along 1.
    Raises DiagnosticError for what cannot be differentiated or batched, by name and place.
    """
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    arg_attrs = primal.arg_attrs
    block = Block(arg_types=list(primal.function_type.inputs))
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, primal, mode)
    jacobian_blocks = _forward(b, request, block.args) if mode == "jacfwd" else _reverse(b, request, block.args)
    function = finish_function(block, jacobian_blocks, fn, primal)
    function.arg_attrs = arg_attrs
    _rename_private(primal, f"{fn}_primal")
    module.body.block.insert_op_before(function, primal)
    expand_ad(module)


def _forward(b: OpBuilder, request: Request, inputs: Sequence[Value]) -> list[Value]:
    """For each argument, the JVPs of a basis of its tangents, which becomes the last dimensions."""
    columns = [_column(b, request, inputs, i) for i in request.wrt]
    return [column[k] for k in range(len(request.of)) for column in columns]


def _column(b: OpBuilder, request: Request, inputs: Sequence[Value], i: int) -> list[Value]:
    x = inputs[i]
    outputs = [value.type for value in request.results]
    tangents = [outputs[j] for j in request.of]
    name = _derivative(request, ad.JvpOp, (i,), request.of, [x.type], [*outputs, *tangents])
    axes = [-1] * len(outputs) + [len(shape(request.results[j])) for j in request.of]
    y_dots = _batched(b, request, name, [*inputs, _basis(b, x)], axes, [*outputs, *tangents])[len(outputs) :]
    return [b.reshape(y_dot, [*shape(request.results[j]), *shape(x)]) for y_dot, j in zip(y_dots, request.of, strict=True)]


def _reverse(b: OpBuilder, request: Request, inputs: Sequence[Value]) -> list[Value]:
    """For each result, the VJPs of a basis of its cotangents, which becomes the first dimensions."""
    return [block for j in request.of for block in _row(b, request, inputs, j)]


def _row(b: OpBuilder, request: Request, inputs: Sequence[Value], j: int) -> list[Value]:
    y = request.results[j]
    outputs = [value.type for value in request.results]
    cotangents = [inputs[i].type for i in request.wrt]
    name = _derivative(request, ad.VjpOp, request.wrt, (j,), [y.type], [*outputs, *cotangents])
    axes = [-1] * len(outputs) + [0] * len(request.wrt)
    x_bars = _batched(b, request, name, [*inputs, _basis(b, y)], axes, [*outputs, *cotangents])[len(outputs) :]
    return [b.reshape(x_bar, [*shape(y), *shape(inputs[i])]) for x_bar, i in zip(x_bars, request.wrt, strict=True)]


def _basis(b: OpBuilder, x: SSAValue) -> Value:
    """The standard basis of x's type, ``[n, *shape(x)]``."""
    n = prod(shape(x))
    square = tensor([n, n], i64)
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), b.iota(1, square)), element(x)), [n, *shape(x)])


def _batched(b: OpBuilder, request: Request, name: str, operands: Sequence[Value], out_axes: Sequence[int], types: Sequence[Attribute]) -> Sequence[Value]:
    """Calls a function for all vectors of a basis, which is its last operand."""
    n = shape(operands[-1])[0]
    properties = {"callee": SymbolRefAttr(name), "in_axes": int_array([*[-1] * (len(operands) - 1), 0]), "out_axes": int_array(out_axes)}
    results = [type if axis < 0 else batched_type(type, axis, n) for type, axis in zip(types, out_axes, strict=True)]
    return b.create(ad.BatchOp, operands, results, properties)


def _derivative(request: Request, cls: type[Operation], wrt: Sequence[int], of: Sequence[int], given: Sequence[Attribute], types: Sequence[Attribute]) -> str:
    """Adds a function that requests a derivative at its arguments; returns its name."""
    block = Block(arg_types=[*request.function.function_type.inputs, *given])
    properties = {"callee": SymbolRefAttr(f"{request.function.sym_name.data}_primal"), "wrt": int_array(wrt), "of": int_array(of)}
    b = OpBuilder(block, location=rewritten(request.function.location, request.function.name, "jacobian"))
    block.add_op(ReturnOp(*b.create(cls, block.args, types, properties)))
    taken = {op.sym_name.data for op in request.module.ops if isinstance(op, FuncOp)}
    name = next(name for n in range(len(taken) + 1) if (name := f"{request.function.sym_name.data}_{cls.name.removeprefix('ad.')}_{n}") not in taken)
    function = FuncOp(name, ([a.type for a in block.args], types), Region([block]), "private")
    function.location = request.function.location
    request.module.body.block.add_op(function)
    return name


def _rename_private(function: FuncOp, name: str) -> None:
    function.properties["sym_name"] = StringAttr(name)
    function.properties["sym_visibility"] = StringAttr("private")
