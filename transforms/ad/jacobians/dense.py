"""Jacobians: forward or reverse mode of a function, batched over the standard basis of its tangents or cotangents.

``(inputs) -> one array for each result in of and each argument in wrt``, results first, of the shape of the result followed by
that of the argument. ``jacfwd`` costs as many tangents as the argument has elements, ``jacrev`` as many cotangents as the result
has; what does not depend on them is computed once. Both are written as requests, which ``expand-ad`` carries out::

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
from wengert.ir.tensor_types import element, i64, shape, tensor
from wengert.transforms.ad.batching.function import batched_type
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, function_named, request

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

    Arguments and results of complex type are taken to depend on each other holomorphically: the derivative is that along 1.
    Raises DiagnosticError for what cannot be differentiated or batched, by name and place.
    """
    prepare(module)
    primal = function_named(module, fn)
    asked = request(primal, wrt, of)
    arg_attrs = primal.arg_attrs
    block = Block(arg_types=list(primal.function_type.inputs))
    for old, new in zip(asked.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, primal, mode)
    blocks = _forward(b, asked, block.args) if mode == "jacfwd" else _reverse(b, asked, block.args)
    made = finish_function(block, blocks, fn, primal)
    made.arg_attrs = arg_attrs
    _rename(primal, f"{fn}_primal")
    module.body.block.insert_op_before(made, primal)
    expand_ad(module)


def _forward(b: OpBuilder, asked: Request, inputs: Sequence[Value]) -> list[Value]:
    """For each argument, the JVP for a basis of its tangents, which are its last dimensions."""
    columns = [_column(b, asked, inputs, i) for i in asked.wrt]
    return [column[k] for k in range(len(asked.of)) for column in columns]


def _column(b: OpBuilder, asked: Request, inputs: Sequence[Value], i: int) -> list[Value]:
    x = inputs[i]
    outputs = [value.type for value in asked.results]
    tangents = [outputs[j] for j in asked.of]
    name = _derivative(asked, ad.JvpOp, (i,), asked.of, [x.type], [*outputs, *tangents])
    axes = [-1] * len(outputs) + [len(shape(asked.results[j])) for j in asked.of]
    made = _batched(b, asked, name, [*inputs, _basis(b, x)], axes, [*outputs, *tangents])[len(outputs) :]
    return [b.reshape(y_dot, [*shape(asked.results[j]), *shape(x)]) for y_dot, j in zip(made, asked.of, strict=True)]


def _reverse(b: OpBuilder, asked: Request, inputs: Sequence[Value]) -> list[Value]:
    """For each result, the VJP for a basis of its cotangents, which are its first dimensions."""
    return [block for j in asked.of for block in _row(b, asked, inputs, j)]


def _row(b: OpBuilder, asked: Request, inputs: Sequence[Value], j: int) -> list[Value]:
    y = asked.results[j]
    outputs = [value.type for value in asked.results]
    cotangents = [inputs[i].type for i in asked.wrt]
    name = _derivative(asked, ad.VjpOp, asked.wrt, (j,), [y.type], [*outputs, *cotangents])
    axes = [-1] * len(outputs) + [0] * len(asked.wrt)
    made = _batched(b, asked, name, [*inputs, _basis(b, y)], axes, [*outputs, *cotangents])[len(outputs) :]
    return [b.reshape(x_bar, [*shape(y), *shape(inputs[i])]) for x_bar, i in zip(made, asked.wrt, strict=True)]


def _basis(b: OpBuilder, x: SSAValue) -> Value:
    """The standard basis of x's type, ``[n, *shape(x)]``."""
    n = prod(shape(x))
    square = tensor([n, n], i64)
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), b.iota(1, square)), element(x)), [n, *shape(x)])


def _batched(b: OpBuilder, asked: Request, name: str, operands: Sequence[Value], out_axes: Sequence[int], types: Sequence[Attribute]) -> Sequence[Value]:
    """A call of a function for all vectors of a basis, its last operand."""
    n = shape(operands[-1])[0]
    properties = {"callee": SymbolRefAttr(name), "in_axes": int_array([*[-1] * (len(operands) - 1), 0]), "out_axes": int_array(out_axes)}
    results = [type if axis < 0 else batched_type(type, axis, n) for type, axis in zip(types, out_axes, strict=True)]
    return b.create(ad.BatchOp, operands, results, properties)


def _derivative(asked: Request, cls: type[Operation], wrt: Sequence[int], of: Sequence[int], given: Sequence[Attribute], types: Sequence[Attribute]) -> str:
    """The name of a new function that asks for a derivative and takes everything as arguments."""
    block = Block(arg_types=[*asked.function.function_type.inputs, *given])
    properties = {"callee": SymbolRefAttr(f"{asked.function.sym_name.data}_primal"), "wrt": int_array(wrt), "of": int_array(of)}
    b = OpBuilder(block, location=asked.function.location)
    block.add_op(ReturnOp(*b.create(cls, block.args, types, properties)))
    taken = {op.sym_name.data for op in asked.module.ops if isinstance(op, FuncOp)}
    name = next(name for n in range(len(taken) + 1) if (name := f"{asked.function.sym_name.data}_{cls.name.removeprefix('ad.')}_{n}") not in taken)
    function = FuncOp(name, ([a.type for a in block.args], types), Region([block]), "private")
    function.location = asked.function.location
    asked.module.body.block.add_op(function)
    return name


def _rename(function: FuncOp, name: str) -> None:
    function.properties["sym_name"] = StringAttr(name)
    function.properties["sym_visibility"] = StringAttr("private")
