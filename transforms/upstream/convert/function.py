"""A function of upstream ops on values as one of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import erase
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import shape_of_type
from wengert.transforms.core.from_core import from_core
from wengert.transforms.optimize.dce import dce
from wengert.transforms.shapes.argument_shapes import Shape, fitted
from wengert.transforms.shapes.dynamism import is_open
from wengert.transforms.upstream.convert.converter import Converter, static_type


def convert_functions(module: ModuleOp, entry: str, shapes: Sequence[Shape | None]) -> None:
    """Writes every function of a module in StableHLO, in place; ``shapes`` are those of the entry's arguments, None for those whose types say them.

    Raises:
        DiagnosticError: an op is refused, a shape is missing, or a size is computed from the elements of arguments.
    """
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        if function.body.blocks:
            convert_function(function, shapes if function.sym_name.data == entry else ())
    for op in [op for op in module.ops if op.name == "memref.global"]:
        erase(op)
    from_core(module)
    dce(module)


def convert_function(function: FuncOp, shapes: Sequence[Shape | None]) -> None:
    """Writes the body of a function in StableHLO, in place."""
    if len(function.body.blocks) != 1:
        hint = "mlir-opt --lift-cf-to-scf makes structured control flow of jumps"
        raise error_at(function, f"function @{function.sym_name.data} has {len(function.body.blocks)} blocks; one is supported", hint)
    block = function.body.block
    types = argument_types(function, shapes)
    made = Block(arg_types=types)
    builder = OpBuilder(made, location=function.location, pass_name="from-upstream")
    converter = Converter(builder)
    for old, new in zip(block.args, made.args, strict=True):
        new.name_hint, new.location = old.name_hint, old.location
    results = converter.block(block, made.args)
    last = block.last_op
    assert last is not None
    made.add_op(ReturnOp.create(operands=results, location=last.location))
    _replace_body(function, made)
    function.properties["function_type"] = FunctionType.from_lists(types, [value.type for value in results])


def _replace_body(function: FuncOp, block: Block) -> None:
    old = function.regions[0]
    for op in old.walk():
        op.drop_all_references()
    function.detach_region(old)
    function.add_region(Region(block))


def argument_types(function: FuncOp, shapes: Sequence[Shape | None]) -> list[Attribute]:
    """The StableHLO types of a function's arguments, for these shapes."""
    declared = list(function.function_type.inputs.data)
    label = f"@{function.sym_name.data}"
    if len(shapes) > len(declared):
        raise error_at(function, f"{label} has {len(declared)} arguments, but {len(shapes)} shapes are given")
    types: list[Attribute] = []
    for i, type in enumerate(declared):
        given = shapes[i] if i < len(shapes) else None
        if is_open(type):
            if given is None:
                hint = 'from-upstream takes the shapes of the arguments, as in from-upstream{shapes="3",keep}'
                raise error_at(function, f"argument {i} of {label} has the type {type}, and its shape is not given", hint)
            type = fitted(type, given, function.location, f"argument {i} of {label}")
        types.append(static_type(function, type, shape_of_type(type) if isinstance(type, TensorType) else None))  # pyright: ignore[reportUnknownArgumentType]
    return types
