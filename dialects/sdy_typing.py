"""Typing rules of Shardy's ops: shardings name axes that the mesh has, each once, and blocks are those of the values outside. Importing this registers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import sdy
from wengert.dialects.sdy_shardings import (
    Mesh,
    Sharding,
    ShardingError,
    local_shape,
    manual_axes_of,
    mesh_of,
    meshes_of,
    problem_of,
    problem_of_mesh,
    resolved,
    sharding_of,
    shardings_of,
)
from wengert.dialects.stablehlo.typing.checks import fail
from wengert.ir.verification.typing_rules import typing_rule


def _module(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def _mesh_of(op: Operation, sharding: Sharding) -> Mesh:
    return resolved(sharding, meshes_of(_module(op)))


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, ShapedType) else 0


def _check(op: Operation, what: str, sharding: Sharding, value: SSAValue) -> Mesh:
    mesh = _mesh_of(op, sharding)
    if problem := problem_of(sharding, mesh, _rank(value)):
        fail(f"{what} {problem}")
    return mesh


@typing_rule(sdy.MeshOp)
def check_mesh(op: sdy.MeshOp) -> None:
    """Axes of different names and positive sizes; every device once."""
    try:
        if problem := problem_of_mesh(mesh_of(op.mesh)):
            fail(f"the mesh {problem}")
    except ShardingError as error:
        fail(f"the mesh cannot be read: {error}")


@typing_rule(*sdy.IDENTITIES)
def check_identity(op: Operation) -> None:
    """The operand's type, and a sharding of it."""
    if op.operands[0].type != op.results[0].type:
        fail(f"the result must have the operand's type {op.operands[0].type}, found {op.results[0].type}")
    name = "sharding" if "sharding" in op.properties else "out_sharding"
    try:
        _check(op, name, sharding_of(op.properties[name]), op.operands[0])
    except ShardingError as error:
        fail(f"{name} cannot be read: {error}")


@typing_rule(sdy.ManualComputationOp)
def check_manual_computation(op: sdy.ManualComputationOp) -> None:
    """A sharding for every operand and result; blocks are split along the manual axes."""
    if not op.body.blocks:
        fail("the region must have a block")
    block = op.body.blocks[0]
    if not isinstance(block.last_op, sdy.ReturnOp):
        fail("the region must end in sdy.return")
    try:
        axes = manual_axes_of(op.manual_axes)
        _check_blocks(op, "operand", "in_shardings", op.operands, block.args, shardings_of(op.in_shardings), axes)
        assert block.last_op is not None
        _check_blocks(op, "result", "out_shardings", op.results, block.last_op.operands, shardings_of(op.out_shardings), axes)
    except ShardingError as error:
        fail(str(error))


def _check_blocks(
    op: Operation, noun: str, name: str, whole: Sequence[SSAValue], blocks: Sequence[SSAValue], shardings: Sequence[Sharding], axes: Sequence[str]
) -> None:
    if not len(whole) == len(blocks) == len(shardings):
        fail(f"there must be a sharding in {name} and a block for each {noun}, found {len(whole)} {noun}s, {len(shardings)} shardings, {len(blocks)} blocks")
    for i, (value, part, sharding) in enumerate(zip(whole, blocks, shardings, strict=True)):
        mesh = _check(op, f"{name}[{i}]", sharding, value)
        if any(known not in dict(mesh.axes) for known in axes) and mesh.axes:
            fail(f"manual_axes names an axis that the mesh does not have: {', '.join(axes)}")
        wanted = local_shape(_shape(value.type), sharding, mesh, axes)
        if _shape(part.type) != wanted or cast("Any", part.type).get_element_type() != cast("Any", value.type).get_element_type():
            fail(f"the block of {noun} {i}, {value.type} split as {name}[{i}] says, must have the shape {list(wanted)}, found {part.type}")


def _shape(type: Attribute) -> tuple[int, ...]:
    return tuple(type.get_shape()) if isinstance(type, ShapedType) else ()


@typing_rule(sdy.ReturnOp)
def check_return(op: sdy.ReturnOp) -> None:
    """Ends the region of a manual computation; its values are checked there."""
