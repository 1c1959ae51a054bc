"""Functions written again with static types, op by op.

Most ops are written as they were, with the result types that their typing rules infer. Those that are different have an entry in
``_REFINEMENTS``: loops, branches, custom calls, and calls of functions, each of which is refined for the types that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr, TensorType, TupleType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.typing.checks import compatible, fail, merged
from wengert.dialects.stablehlo.typing.dynamic import constant_value
from wengert.ir.attributes import int_of
from wengert.ir.construction import retype
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, is_differentiable, shape, tensor
from wengert.ir.traversal import operands_of, ops_in
from wengert.ir.unregistered import written_name
from wengert.ir.verification.typing_rules import TypingError, inferred_types
from wengert.transforms.core.recognisers.shardings import IDENTITIES
from wengert.transforms.shapes.custom_calls import REPLACED, check_assertion, with_given_shapes
from wengert.transforms.shapes.dynamism import ASSERTION, SHAPE_OPERANDS, is_open
from wengert.transforms.shapes.static_forms import DATA, STATIC_FORMS, refuse_open, sliced_type
from wengert.transforms.shapes.values import evaluate

Types = Sequence[Attribute]
Values = Sequence[SSAValue]


class Refinement:
    """Refines functions of a module; one that is called with the same types twice is refined once."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._made: dict[tuple[str, tuple[Attribute, ...]], FuncOp] = {}
        self._names = {f.sym_name.data for f in module.body.block.ops if isinstance(f, FuncOp)}

    def refined(self, function: FuncOp, types: Types) -> FuncOp:
        """The function for arguments of these types, in its place."""
        made = self._written(function, types)
        self.module.body.block.insert_op_before(made, function)
        self.module.body.block.erase_op(function, safe_erase=False)
        return made

    def _written(self, function: FuncOp, types: Types) -> FuncOp:
        if len(function.body.blocks) != 1:
            raise error_at(function, f"function @{function.sym_name.data} has {len(function.body.blocks)} blocks; only functions of one block are refined")
        block = Block(arg_types=types)
        body = function.body.block
        writer = _Writer(self, OpBuilder(block))
        writer.define(body.args, block.args)
        returned = writer.block(body)
        kind = FunctionType.from_lists(list(types), [v.type for v in returned])
        properties = {**function.properties, "function_type": kind}
        return FuncOp.create(properties=properties, attributes=dict(function.attributes), regions=[Region(block)], location=function.location)

    def called(self, name: str, types: Types) -> FuncOp:
        """The function of this name for arguments of these types, under a name of its own, with the derivatives that it declares."""
        key = (name, tuple(types))
        if key not in self._made:
            function = self.find(name)
            made = self._written(function, types)
            made.sym_name = StringAttr(self._fresh(name))
            made.sym_visibility = StringAttr("private")
            self._made[key] = made
            self.module.body.block.insert_op_after(made, function)
            self._refine_derivatives(made)
        return self._made[key]

    def find(self, name: str) -> FuncOp:
        """The function of this name."""
        return next(f for f in self.module.body.block.ops if isinstance(f, FuncOp) and f.sym_name.data == name)

    def _fresh(self, name: str) -> str:
        fresh = next(candidate for i in range(len(self._names) + 1) if (candidate := f"{name}_{i}") not in self._names)
        self._names.add(fresh)
        return fresh

    def _refine_derivatives(self, function: FuncOp) -> None:
        """The functions that declare a function's derivative, for its types."""
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        if isinstance(forward := function.attributes.get("ad.custom_jvp"), SymbolRefAttr):
            made = self.called(forward.string_value(), [*inputs, *filter(is_differentiable, inputs)])
            function.attributes["ad.custom_jvp"] = SymbolRefAttr(made.sym_name.data)
        if isinstance(pair := function.attributes.get("ad.custom_vjp"), ArrayAttr):
            first, second = (cast(SymbolRefAttr, s).string_value() for s in cast("ArrayAttr[Attribute]", pair).data)
            ahead = self.called(first, inputs)
            residuals = ahead.function_type.outputs.data[len(outputs) :]
            back = self.called(second, [*residuals, *filter(is_differentiable, outputs)])
            function.attributes["ad.custom_vjp"] = ArrayAttr([SymbolRefAttr(f.sym_name.data) for f in (ahead, back)])


class _Writer:
    """Writes the ops of a block again. Values in nested blocks stand in one table, as every value is defined once."""

    def __init__(self, refinement: Refinement, builder: OpBuilder, values: dict[SSAValue, SSAValue] | None = None):
        self.refinement = refinement
        self.b = builder
        self.values: dict[SSAValue, SSAValue] = {} if values is None else values

    def define(self, old: Values, new: Values) -> None:
        """Says what stands for values; their names go over."""
        for before, after in zip(old, new, strict=True):
            self.values[before] = after
            if isinstance(before, BlockArgument) and isinstance(after, BlockArgument):
                after.location = before.location
            if after.name_hint is None:
                after.name_hint = before.name_hint

    def block(self, block: Block) -> Values:
        """Writes all ops of a block, terminator included; what that returns."""
        returned: Values = ()
        for op in ops_in(block):
            if op.has_trait(IsTerminator, value_if_unregistered=False):
                returned = [self.values[v] for v in operands_of(op)]
                self.b.place(type(op).create(operands=returned, properties=op.properties, attributes=op.attributes, location=op.location))
            else:
                self.op(op)
        return returned

    def op(self, op: Operation) -> None:
        """Writes one op."""
        with self.b.at(op.location):
            try:
                values = _REFINEMENTS.get(type(op), _plain)(self, op, [self.values[v] for v in operands_of(op)])
                if any(is_open(value.type) for value in values):
                    refuse_open(op)
            except VerifyException as error:
                hint = error.hint if isinstance(error, TypingError) else ""
                raise error_at(op, f"{written_name(op)}: {error}", hint) from None
        self.define(op.results, values)

    def region(self, region: Region, types: Types, known: dict[int, SSAValue] | None = None) -> tuple[Region, Values]:
        """A region again, for arguments of these types, some of which are known values from outside; and what it returns. One that sees nothing outside
        shares no constants with what is there."""
        block, around = region.block, region.parent_op()
        made = Block(arg_types=types)
        isolated = around is not None and around.has_trait(IsolatedFromAbove)
        inner = _Writer(self.refinement, OpBuilder(made, parent=None if isolated else self.b, location=self.b.location), self.values)
        inner.define(block.args, made.args)
        for i, value in (known or {}).items():
            self.values[block.args[i]] = value
        return Region(made), inner.block(block)

    def inlined(self, region: Region) -> Values:
        """The ops of a region without arguments here; what it returns."""
        *ops, end = ops_in(region.block)
        for op in ops:
            self.op(op)
        return [self.values[v] for v in operands_of(end)]

    def finish(self, made: Operation) -> Values:
        """Places an op whose operands are refined, with the result types that its rules infer; its value instead if it is about shapes."""
        types = inferred_types(made)
        for i, result in enumerate(made.results):
            if i in types and isinstance(result.type, TensorType):
                retype(result, merged(cast(Any, types[i]), cast(Any, result.type)))  # pyright: ignore[reportUnknownMemberType]
        self.b.place(made)
        value = None if any(is_open(r.type) for r in made.results) else evaluate(self.b, made)
        return made.results if value is None else [value]


def _copied(op: Operation, operands: Values, types: Types | None = None, regions: Sequence[Region] = ()) -> Operation:
    return type(op).create(
        operands=operands,
        result_types=[r.type for r in op.results] if types is None else types,
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
        location=op.location,
    )


def _plain(w: _Writer, op: Operation, operands: Values) -> Values:
    """An op whose typing rule says everything."""
    callee = op.properties.get("callee")
    if isinstance(callee, SymbolRefAttr) and any(is_open(v.type) for v in (*op.operands, *op.results)):
        fail(f"asks for something of @{callee.string_value()}, whose types are open", "specialize the program, and ask it for derivatives and batches")
    regions: list[Region] = []
    for region in op.regions:
        types = [a.type for a in region.block.args] if region.blocks else []
        if any(map(is_open, types)):
            fail("its region takes values whose extents are open")
        regions.append(w.region(region, types)[0] if region.blocks else Region())
    return w.finish(_copied(op, operands, regions=regions))


def _computed_shape(w: _Writer, op: Operation, operands: Values) -> Values:
    """An op that takes or gives extents as values, in its static form."""
    made = _copied(op, operands)
    types = inferred_types(made)
    result = made.results[0]
    declared = types.get(0, result.type)
    if isinstance(made, stablehlo.RealDynamicSliceOp) and is_open(declared):
        declared = sliced_type(made) or declared
    if not compatible(declared, result.type):
        fail(f"result type {result.type} does not match the inferred {declared}")
    retype(result, merged(cast(Any, declared), cast(Any, result.type)))
    if is_open(result.type):
        refuse_open(made)
    value = STATIC_FORMS[type(op)](w.b, made)
    made.drop_all_references()
    owner = value.owner
    if isinstance(owner, Operation):
        inferred_types(owner)  # its rule has its say
        if (known := evaluate(w.b, owner)) is not None:
            return [known]
    return [value]


def _loop(w: _Writer, op: stablehlo.WhileOp, operands: Values) -> Values:
    """A while: what it carries keeps its type, and what never changes is known inside if it is known outside."""
    types = [v.type for v in operands]
    ends = op.body.block.last_op
    assert ends is not None
    fixed = {i for i, v in enumerate(operands_of(ends)) if v is op.body.block.args[i]}
    constant = {i: v for i, v in enumerate(operands) if i in fixed and isinstance(v.owner, stablehlo.ConstantOp)}
    condition, _ = w.region(op.cond, types, constant)
    body, returned = w.region(op.body, types, constant)
    for i, (value, type) in enumerate(zip(returned, types, strict=True)):
        if value.type != type:
            fail(f"carries value #{i} as {type} into the first iteration and as {value.type} into the second", "what a loop carries must keep its shape")
    made = _copied(op, operands, types, [condition, body])
    w.b.place(made)
    return [constant.get(i, result) for i, result in enumerate(made.results)]


SAME_SHAPES = "where the arguments' elements choose the branch, all branches give the same shapes"


def _branches(w: _Writer, op: stablehlo.CaseOp | stablehlo.IfOp, operands: Values) -> Values:
    """A case or if: the branch that is taken, where that is known; else all, which must agree on the results' types."""
    chosen = constant_value(operands[0])
    if chosen is not None:
        index = int(not chosen[()]) if isinstance(op, stablehlo.IfOp) else int(chosen[()])
        return w.inlined(op.regions[index if 0 <= index < len(op.regions) else -1])
    made = [w.region(region, []) for region in op.regions]
    types = [v.type for v in made[0][1]]
    for _, returned in made[1:]:
        for i, (value, type) in enumerate(zip(returned, types, strict=True)):
            if value.type != type:
                fail(
                    f"its branches return {type} and {value.type} as result #{i}",
                    "where the branch is chosen by the arguments' elements, all give the same shapes",
                )
    copied = _copied(op, operands, types, [region for region, _ in made])
    w.b.place(copied)
    return copied.results


def _scan(w: _Writer, op: chlo.ScanOp, operands: Values) -> Values:
    """A scan: its body takes slices of the inputs, and carried values that keep their types."""
    dimension, count = int_of(op.dimension), len(op.inputs)
    types: list[Attribute] = []
    for value in operands[:count]:
        extents, element_type = shape(value), element(value)
        types.append(tensor([*extents[:dimension], *extents[dimension + 1 :]], element_type))
    types += [value.type for value in operands[count:]]
    body, returned = w.region(op.body, types)
    for i, (value, type) in enumerate(zip(returned[len(op.outputs) :], types[count:], strict=True)):
        if value.type != type:
            fail(f"carries value #{i} as {type} into the first iteration and as {value.type} into the second", "what a loop carries must keep its shape")
    return w.finish(_copied(op, operands, regions=[body]))


def _passed(w: _Writer, op: Operation, operands: Values) -> Values:
    """An op that returns its operands."""
    made = _copied(op, operands, [v.type for v in operands])
    w.b.place(made)
    return made.results


def _tuple(w: _Writer, op: stablehlo.TupleOp, operands: Values) -> Values:
    """A tuple of the operands."""
    made = _copied(op, operands, [TupleType(tuple(cast("TypeAttribute", v.type) for v in operands))])
    w.b.place(made)
    return made.results


def _custom_call(w: _Writer, op: stablehlo.CustomCallOp, operands: Values) -> Values:
    """An assertion on shapes, a call that takes shapes, one that returns its operands, or any other."""
    made = cast(stablehlo.CustomCallOp, _copied(op, operands))
    target = op.call_target_name.data
    if target == ASSERTION and operands and check_assertion(made):
        made.drop_all_references()
        return []
    if target in REPLACED:
        replaced = REPLACED[target](made, w.refinement.module)
        made.drop_all_references()
        return w.finish(replaced)
    if SHAPE_OPERANDS in made.attributes:
        given = with_given_shapes(made)
        made.drop_all_references()
        made = given
    if target in IDENTITIES and len(operands) == len(op.results):
        made.drop_all_references()
        return _passed(w, op, operands)
    w.b.place(made)
    return made.results


def _call(w: _Writer, op: CallOp, operands: Values) -> Values:
    """A call that was not inlined: of the function for these types."""
    name, types = op.callee.string_value(), [v.type for v in operands]
    function = w.refinement.find(name)
    kind = function.function_type
    if types == list(kind.inputs.data) and not any(map(is_open, (*types, *kind.outputs.data))):
        made: Operation = _copied(op, operands)
    elif function.is_declaration:
        fail(f"@{name} is only declared, so that the extents of its results are not known", DATA)
    else:
        called = w.refinement.called(name, types)
        made = CallOp.create(
            operands=operands,
            result_types=called.function_type.outputs.data,
            properties={**op.properties, "callee": SymbolRefAttr(called.sym_name.data)},
            attributes=op.attributes,
            location=op.location,
        )
    w.b.place(made)
    return made.results


Refine = Callable[[_Writer, Any, Values], Values]
_REFINEMENTS: dict[type[Operation], Refine] = {
    **dict.fromkeys(STATIC_FORMS, cast(Refine, _computed_shape)),
    CallOp: _call,
    stablehlo.CaseOp: _branches,
    stablehlo.CustomCallOp: _custom_call,
    stablehlo.IfOp: _branches,
    stablehlo.OptimizationBarrierOp: _passed,
    chlo.ScanOp: _scan,
    stablehlo.TupleOp: _tuple,
    stablehlo.WhileOp: _loop,
}
"""The writers of ops that are not written by their typing rules alone."""
