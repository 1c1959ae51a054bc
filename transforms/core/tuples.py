"""Tuples taken apart, tokens dropped, and asynchronous ops run where they start.

What goes through a program then are tensors only: an argument or result that is a tuple becomes one for each tensor in it, in order, and one that
is a token becomes none. What loops carry, branches give, and functions that are not inlined take and give follows.

Before and after::

    func.func public @main(%t: tuple<tensor<f64>, !stablehlo.token>) ...      func.func public @main(%x: tensor<f64>) ...
      %0 = stablehlo.get_tuple_element %t[0] : ...                              %0 = stablehlo.sine %x : tensor<f64>
      %1 = stablehlo.sine %0 : tensor<f64>

A token orders effects on what is outside of the program. There are none such here: ops that reach out (``send``, ``recv``, ``infeed``,
``outfeed``) are refused. An asynchronous op may run at any time from its start on, so that running it at once is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.leaves import NESTED, all_leaves, leaves, paths
from wengert.ir.attributes import int_of
from wengert.ir.construction import erase, erase_arguments, insert_before, replace_uses
from wengert.ir.location.places import error_at
from wengert.ir.traversal import ops_in
from wengert.transforms.core.one_device import OUTSIDE

STRUCTURE = (hlo.TupleOp, hlo.GetTupleElementOp, hlo.CreateTokenOp, hlo.AfterAllOp, hlo.AsyncStartOp, hlo.AsyncDoneOp, *OUTSIDE)
"""Ops that a module without tuples and tokens in its signatures may have, and that are gone afterwards."""

_CARRIERS = (hlo.WhileOp, hlo.CaseOp, hlo.IfOp, hlo.ReturnOp, hlo.OptimizationBarrierOp, hlo.CustomCallOp, CallOp, ReturnOp)
"""Ops that hand values of any type on."""

_LAYOUTS = ("operand_layouts", "result_layouts", "output_operand_aliases")
_NAMES = ("jax.result_info", "jax.arg_info", "wengert.name")


def has_nested_signature(function: FuncOp) -> bool:
    """Whether an argument or a result of the function is not a tensor."""
    return any(isinstance(type, NESTED) for types in (function.function_type.inputs.data, function.function_type.outputs.data) for type in types)


def gives_nested(op: Operation) -> bool:
    """Whether a result of the op is not a tensor."""
    return any(isinstance(result.type, NESTED) for result in op.results)


def flatten_tuples(module: ModuleOp) -> None:
    """Takes all tuples apart and drops all tokens, in place. Raises a DiagnosticError for an op that reaches out of the program."""
    for op in ops_in(module.body.block):
        if isinstance(op, FuncOp) and op.body.blocks:
            _Flattener().function(op)


class _Flattener:
    """One function: what each value that is not a tensor holds."""

    def __init__(self) -> None:
        self.leaves: dict[SSAValue, list[SSAValue]] = {}
        self.gone: list[Operation] = []

    def function(self, function: FuncOp) -> None:
        for block in function.body.blocks:
            self.block(block)
        for op in reversed(self.gone):
            op.detach()
            op.drop_all_references()
        for block in function.body.blocks:
            _drop_nested_arguments(block)
        if has_nested_signature(function):
            self.signature(function)

    def signature(self, function: FuncOp) -> None:
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        function.function_type = FunctionType.from_lists(list(all_leaves(inputs)), list(all_leaves(outputs)))
        function.arg_attrs, function.res_attrs = _spread(inputs, function.arg_attrs), _spread(outputs, function.res_attrs)

    def parts(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The tensors that values hold."""
        return [part for value in values for part in (self.leaves[value] if isinstance(value.type, NESTED) else (value,))]

    def block(self, block: Block) -> None:
        for argument in list(block.args):
            if isinstance(argument.type, NESTED):
                made: list[SSAValue] = []
                for type in leaves(argument.type):
                    made.append(block.insert_arg(type, argument.index))
                    made[-1].name_hint = argument.name_hint
                self.leaves[argument] = made
        for op in ops_in(block):
            self.op(op)

    def op(self, op: Operation) -> None:
        if type(op) in OUTSIDE:
            raise error_at(op, f"{op.name} {OUTSIDE[type(op)]}")
        for region in op.regions:
            for inner in region.blocks:
                self.block(inner)
        if isinstance(op, hlo.TupleOp | hlo.CreateTokenOp | hlo.AfterAllOp | hlo.AsyncDoneOp):
            self.gives(op, self.parts(op.operands))
        elif isinstance(op, hlo.GetTupleElementOp):
            self.gives(op, self.element(op))
        elif isinstance(op, hlo.AsyncStartOp):
            self.gives(op, _inlined(op))
        elif any(isinstance(value.type, NESTED) for value in (*op.operands, *op.results)):
            self.carry(op)

    def gives(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """The op's only result holds these, and the op goes."""
        (result,) = op.results
        if isinstance(result.type, NESTED):
            self.leaves[result] = list(values)
        elif len(values) == 1:
            replace_uses(result, values[0])
        else:
            raise error_at(op, f"{op.name} gives a {result.type}, but holds {len(values)} values")
        self.gone.append(op)

    def element(self, op: hlo.GetTupleElementOp) -> list[SSAValue]:
        type, index = op.operand.type, int_of(op.index)
        assert isinstance(type, TupleType)
        before = len(all_leaves(type.types.data[:index]))
        return self.leaves[op.operand][before : before + len(leaves(type.types.data[index]))]

    def carry(self, op: Operation) -> None:
        """The same op on the tensors only."""
        if not isinstance(op, _CARRIERS):
            nested = next(value.type for value in (*op.operands, *op.results) if isinstance(value.type, NESTED))
            raise error_at(op, f"{op.name} takes or gives a {nested}, which is not supported")
        made = type(op).create(
            operands=self.parts(op.operands),
            result_types=all_leaves(result.type for result in op.results),
            properties={name: value for name, value in op.properties.items() if name not in _LAYOUTS},
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list(op.regions)],
            location=op.location,
        )
        insert_before(op, made)
        given = iter(made.results)
        for result in op.results:
            values: list[SSAValue] = [next(given) for _ in leaves(result.type)]
            for value in values:
                value.name_hint = result.name_hint
            if isinstance(result.type, NESTED):
                self.leaves[result] = values
            else:
                replace_uses(result, values[0])
        self.gone.append(op)


def _drop_nested_arguments(block: Block) -> None:
    """Erases arguments that are no tensors, here and in the regions inside."""
    erase_arguments(block, [argument for argument in block.args if isinstance(argument.type, NESTED)])
    for op in ops_in(block):
        for region in op.regions:
            for inner in region.blocks:
                _drop_nested_arguments(inner)


def _inlined(op: hlo.AsyncStartOp) -> list[SSAValue]:
    """Moves the ops of the region in front of the op; what it gives."""
    block = op.computation.block
    for argument, value in zip(block.args, op.operands, strict=True):
        replace_uses(argument, value)
    *ops, end = ops_in(block)
    returned = list(end.operands)
    for inner in ops:
        inner.detach()
        insert_before(op, inner)
    erase(end)
    return returned


def _spread(types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of arguments or results for each tensor in them: a name goes on with the place in the tuple, the rest is dropped."""
    if attributes is None:
        return None
    return ArrayAttr(
        [_at(entry, path) if path else entry for type, entry in zip(types, attributes.data, strict=True) for path in paths(type)],
    )


def _at(entry: DictionaryAttr, path: str) -> DictionaryAttr:
    """The names of an argument or result, for what lies at this place in it."""
    names = ((key, entry.data.get(key)) for key in _NAMES)
    return DictionaryAttr({key: StringAttr(name.data + path) for key, name in names if isinstance(name, StringAttr)})
