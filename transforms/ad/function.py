"""Construction of the functions of derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, LocationAttr, StringAttr, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append, empty, erase
from wengert.ir.location.locations import Role, derived_at, rewritten
from wengert.ir.pipeline import changes
from wengert.ir.traits import is_pure


def begin_function(block: Block, origin: FuncOp, pass_name: str) -> OpBuilder:
    """A builder for the derivative's block; the locations of its ops name ``pass_name``."""
    return OpBuilder(block, location=rewritten(origin.location, origin.name, pass_name), pass_name=pass_name)


def argument_location(function: FuncOp, position: int) -> LocationAttr:
    """The location of an argument, or of its function where it has none of its own."""
    own = function.body.block.args[position].location
    return function.location if isinstance(own, UnknownLoc) else own


def place_primals(function: FuncOp, arguments: Sequence[BlockArgument]) -> None:
    """Locates arguments of a derivative where the function has them."""
    for old, new in zip(function.body.block.args, arguments, strict=True):
        new.location = old.location


def place_tangents(function: FuncOp, wrt: Sequence[int], arguments: Sequence[BlockArgument], pass_name: str) -> None:
    """Locates arguments of a derivative that are tangents of arguments of the function."""
    for i, argument in zip(wrt, arguments, strict=True):
        argument.location = _tangent_place(function, i, pass_name)


def tangent_places(function: FuncOp, wrt: Sequence[int], arguments: Sequence[Value], pass_name: str) -> dict[SSAValue, LocationAttr]:
    """The locations of the tangents of the arguments ``wrt`` of a function, by the derivative's arguments that stand for the function's."""
    return {arguments[i]: _tangent_place(function, i, pass_name) for i in wrt}


def _tangent_place(function: FuncOp, position: int, pass_name: str) -> LocationAttr:
    return derived_at(argument_location(function, position), f"argument#{position}", Role.TANGENT, pass_name)


def place_cotangents(function: FuncOp, of: Sequence[int], arguments: Sequence[BlockArgument], pass_name: str) -> None:
    """Locates arguments of a derivative that are cotangents of results of the function."""
    for j, argument in zip(of, arguments, strict=True):
        argument.location = derived_at(function.location, f"result#{j}", Role.COTANGENT, pass_name)


def terminator_operands(block: Block) -> Sequence[SSAValue]:
    """The operands of a block's terminator."""
    last = block.last_op
    assert last is not None, "a finished body ends in a terminator"
    return last.operands


def detach_body(function: FuncOp) -> Block:
    """Detaches the body of a function, to become the body of another one."""
    block = function.body.block
    function.body.detach_block(block)
    return block


def pop_return(block: Block) -> list[SSAValue]:
    """Erases the return of a body; returns its operands."""
    returned = block.last_op
    assert returned is not None, "a finished body ends in a return"
    values = list(returned.operands)
    erase(returned)
    return values


def finish_function(block: Block, results: Sequence[SSAValue], name: str, origin: FuncOp) -> FuncOp:
    """Appends a return of the results to a block, drops dead ops, and makes a function of it."""
    return function_of(finish_body(block, results), name, origin)


def finish_body(block: Block, results: Sequence[SSAValue]) -> Block:
    """Appends a return of the results to a block, and drops dead ops."""
    append(block, ReturnOp.create(operands=results))
    drop_dead_ops(block)
    return block


def function_of(body: Block, name: str, origin: FuncOp) -> FuncOp:
    """A function with a finished body, and the visibility and location of ``origin``."""
    end = body.last_op
    assert end is not None, "a finished body ends in a return"
    types = FunctionType.from_lists([arg.type for arg in body.args], [value.type for value in end.operands])
    properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "function_type": types}
    if origin.sym_visibility is not None:
        properties["sym_visibility"] = origin.sym_visibility
    return FuncOp.create(properties=properties, regions=[Region([body])], location=origin.location)


def drop_dead_ops(block: Block) -> None:
    """Erases pure ops whose results are unused, from the last to the first."""
    op: Operation | None = block.last_op
    while op is not None:
        before = op.prev_op
        results = op.results
        if results and results[0].first_use is None and (len(results) == 1 or all(result.first_use is None for result in results)) and is_pure(type(op)):
            if changes.RECORDER is not None:
                changes.RECORDER.removed(op)
            erase(op)
        op = before


def discard(block: Block) -> None:
    """Drops a scratch block: its ops drop their operands, so that these lose a use."""
    empty(block)
