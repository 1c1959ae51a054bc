"""The pass ``to-linalg``.

Before and after::

    func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {            func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
      %0 = stablehlo.sine %x : tensor<4xf64>                           %0 = math.sin %x : tensor<4xf64>
      return %0 : tensor<4xf64>                                        return %0 : tensor<4xf64>
    }                                                                }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.forms import dense
from wengert.ir.tensor_types import is_boolean
from wengert.ir.traversal import all_ops
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.elementwise import elementwise, inner
from wengert.transforms.upstream.out.positions import POSITIONS
from wengert.transforms.upstream.out.reductions import REDUCTIONS
from wengert.transforms.upstream.out.sorts import SORTS
from wengert.transforms.upstream.out.structure import STRUCTURE
from wengert.transforms.upstream.out.tapes import TAPES, Item, flat, grouped, refuse_nested, types_of
from wengert.transforms.upstream.out.writer import Out, Value

HANDLERS: dict[str, Callable[[Out, Operation, Sequence[Any]], Sequence[Item]]] = {**STRUCTURE, **REDUCTIONS, **POSITIONS, **SORTS, **TAPES}
"""How each op is written that is not elementwise."""


@dataclass(frozen=True)
class ToLinalgPass(ModulePass):
    """Writes plain StableHLO as upstream MLIR: ``linalg`` on tensors, ``scf``, ``arith``, ``math``."""

    name = "to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        to_linalg(op)


def to_linalg(module: ModuleOp) -> None:
    """Writes all functions of a module of plain StableHLO in upstream dialects, in place.

    Raises a DiagnosticError at an op that has no form there: custom calls, sorts, random bits, collectives, reductions by
    unusual regions.
    """
    inline(module)
    symbol_dce(module)
    for op in all_ops(module):
        refuse_nested(op)
    for function in [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]:
        _write_function(function)
    for key in [key for key in module.attributes if "." in key]:
        del module.attributes[key]
    for op in all_ops(module):
        if isinstance(op, UpstreamOp):  # MLIR's own attributes are properties in its generic form
            op.properties, op.attributes = dict(op.attributes), {}


def _write_function(function: FuncOp) -> None:
    block = function.body.block
    types = [type for argument in block.args for type in types_of(argument.type)]
    made = Block(arg_types=types)
    writing = Writing(Out(made, function.location))
    if len(types) == len(block.args):
        for old, new in zip(block.args, made.args, strict=True):
            new.name_hint, new.location = old.name_hint, old.location
    results = writing.block(block, made.args)
    made.add_op(ReturnOp.create(operands=results, location=function.location))
    region = function.regions[0]
    for op in region.walk():
        op.drop_all_references()
    function.detach_region(region)
    function.add_region(Region(made))
    properties = {key: value for key, value in function.properties.items() if key in ("sym_name", "sym_visibility")}
    if properties.get("sym_visibility") == StringAttr("public"):
        del properties["sym_visibility"]
    function.properties = {**properties, "function_type": FunctionType.from_lists(types, [value.type for value in results])}
    function.attributes.clear()


class Writing:
    """Goes through StableHLO's ops with the upstream value of each of their values."""

    def __init__(self, out: Out):
        self.out = out
        self.values: dict[SSAValue, Item] = {}

    def block(self, block: Block, arguments: Sequence[Value] = ()) -> list[Value]:
        """Writes the ops of a block; the values that it returns."""
        self.values.update(zip(block.args, grouped([argument.type for argument in block.args], arguments), strict=True))
        last = block.last_op
        for op in block.ops:
            if op is not last:
                self.op(op)
        return flat([self.values[operand] for operand in last.operands]) if last is not None else []

    def op(self, op: Operation) -> None:
        """Writes an op."""
        before, self.out.location = self.out.location, op.location
        operands = [self.values[operand] for operand in op.operands]
        for old, new in zip(op.results, self._results(op, operands), strict=True):
            self.values[old] = new
        self.out.location = before

    def _results(self, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
        types = [result.type for result in op.results]
        if isinstance(op, hlo.WhileOp):
            return grouped(types, self._while(op, flat(operands)))
        if isinstance(op, hlo.IfOp | hlo.CaseOp):
            return grouped(types, self._branches(op, operands[0]))
        handler = HANDLERS.get(op.name)
        if handler is not None:
            return handler(self.out, op, operands)
        value = elementwise(self.out, op, operands)
        if value is None:
            hint = "from-core writes core ops as StableHLO" if op.name.startswith("core.") else "this op has no counterpart in linalg, arith and math"
            raise refusal(op, "this op is not written in upstream dialects", hint)
        return [value]

    def _while(self, op: hlo.WhileOp, operands: Sequence[Value]) -> Sequence[Value]:
        out, types = self.out, [operand.type for operand in operands]

        def condition(carried: Sequence[Value]) -> Sequence[Value]:
            (flag,) = self.block(op.regions[0].block, carried)
            return [out.element(flag), *carried]

        before = out.region(types, "scf.condition", condition)
        after = out.region(types, "scf.yield", lambda carried: self.block(op.regions[1].block, carried))
        return out.ops("scf.while", operands, types, before, after)

    def _branches(self, op: Operation, choice: Value) -> Sequence[Value]:
        out = self.out
        types = [type for result in op.results for type in types_of(result.type)]
        regions = [out.region([], "scf.yield", lambda _, block=region.block: self.block(block)) for region in op.regions]
        chosen = out.element(choice)
        if isinstance(op, hlo.IfOp) or is_boolean(inner(op.operands[0])):
            return out.ops("scf.if", [chosen], types, *regions)
        *cases, default = regions
        attributes: dict[str, Attribute] = {"cases": dense(list(range(len(cases))))}
        return out.ops("scf.index_switch", [out.as_index(chosen)], types, default, *cases, **attributes)
