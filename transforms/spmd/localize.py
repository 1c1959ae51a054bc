"""From a program on whole tensors, with computations on the blocks of devices, to the program that each device runs.

If ``@main`` is one manual computation, each device gets its blocks of the arguments and gives its blocks of the results. Otherwise each device gets all of
every argument and computes everything around manual computations by itself; it cuts its blocks out of their operands, and gathers their results. Where a
result of one is split as an operand of another, elementwise ops between them included, its block goes there as it is, and is not gathered for it.

Before and after, with a mesh of 4 devices::

    func @main(%x: tensor<8xf64>) -> tensor<f64> {                                 func @main(%b: tensor<2xf64>) -> tensor<f64> {
      %0 = sdy.manual_computation(%x) in [<@m, [{"x"}]>] out [<@m, []>] ...          ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import sdy
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import facts_of
from wengert.dialects.sdy_shardings import Mesh, Sharding, ShardingError, Spec, gather_groups, manual_axes_of, meshes_of, resolved, sharding_of, shardings_of
from wengert.ir.attributes import int_attr
from wengert.ir.construction import copy_module
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, i64, shape, tensor, ui32
from wengert.ir.traversal import all_ops
from wengert.transforms.core.inline import inline
from wengert.transforms.core.recognisers.communication import all_gather, device_groups, number_groups
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.blocks import along, parts, places


class Local(Struct, frozen=True):
    """The program that each device runs.

    Attributes:
        module: the program on blocks, as ``@main``.
        mesh: the devices.
        in_specs, out_specs: how the arguments and the results of the whole program are split.
    """

    module: ModuleOp
    mesh: Mesh
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]


def has_manual_computations(module: ModuleOp) -> bool:
    """Whether a module computes on the blocks of devices."""
    return any(isinstance(op, sdy.ManualComputationOp) for op in all_ops(module))


def localized(module: ModuleOp) -> Local:
    """The program that each device runs, of a module with manual computations whose entry is ``@main``; the module is not changed.

    Raises a DiagnosticError where manual computations are on different meshes.
    """
    copy = copy_module(module)
    inline(copy, keep_custom=True)
    main = next(op for op in copy.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    listed = [op for op in all_ops(main) if isinstance(op, sdy.ManualComputationOp)]
    mesh = _only_mesh(listed, meshes_of(copy))
    if len(main.body.block.ops) == 2 and _is_whole(main, first := cast("sdy.ManualComputationOp", main.body.block.first_op)):
        in_specs, out_specs = _unwrapped(main, first)
    else:
        in_specs = tuple(((),) * len(shape(x)) for x in main.body.block.args)
        out_specs = tuple(((),) * len(shape(y)) for y in cast(Operation, main.body.block.last_op).operands)
    blocks: Blocks = {}
    while True:
        inner = next((op for op in all_ops(main) if isinstance(op, sdy.ManualComputationOp)), None)
        if inner is None:
            break
        _dissolve(inner, mesh, blocks)
    number_groups(copy)
    for op in [op for op in copy.ops if isinstance(op, sdy.MeshOp)]:
        copy.body.block.erase_op(op)
    forget_attributes(main)
    copy.attributes["mhlo.num_partitions"], copy.attributes["mhlo.num_replicas"] = int_attr(mesh.size, 32), int_attr(1, 32)
    return Local(copy, mesh, in_specs, out_specs)


def _only_mesh(ops: Sequence[sdy.ManualComputationOp], meshes: dict[str, Mesh]) -> Mesh:
    mesh = Mesh(())
    for op in ops:
        for sharding in (*shardings_of(op.in_shardings), *shardings_of(op.out_shardings)):
            own = resolved(sharding, meshes)
            if own.axes and mesh.axes and own != mesh:
                raise error_at(op, f"sdy.manual_computation is on the mesh <{own.text()}>, and another one in this program on <{mesh.text()}>")
            mesh = own if own.axes else mesh
    return mesh


def _is_whole(main: FuncOp, op: Operation) -> bool:
    """Whether a function is nothing but this manual computation."""
    block = main.body.block
    end = block.last_op
    return (
        isinstance(op, sdy.ManualComputationOp)
        and isinstance(end, ReturnOp)
        and len(set(op.operands)) == len(op.operands) == len(block.args)
        and set(op.operands) == set(block.args)
        and all(value in op.results for value in end.operands)
    )


def _unwrapped(main: FuncOp, op: sdy.ManualComputationOp) -> tuple[tuple[Spec, ...], tuple[Spec, ...]]:
    """Makes the body of a manual computation that of the function; returns the specs of arguments and results."""
    axes, block = manual_axes_of(op.manual_axes), op.body.block
    inner, end = op.body.block, cast(ReturnOp, main.body.block.last_op)
    ins = {value: along(s.spec, axes) for value, s in zip(op.operands, shardings_of(op.in_shardings), strict=True)}
    outs: dict[SSAValue, Spec] = {value: along(s.spec, axes) for value, s in zip(op.results, shardings_of(op.out_shardings), strict=True)}
    given = dict(zip(op.operands, inner.args, strict=True))
    types = [given[x].type for x in main.body.block.args]
    renamed: dict[SSAValue, SSAValue] = {}
    new = Block(arg_types=types)
    for x, argument in zip(main.body.block.args, new.args, strict=True):
        argument.name_hint = x.name_hint
        renamed[given[x]] = argument
    last = cast(Operation, block.last_op)
    for inside in block.ops:
        if inside is not last:
            new.add_op(inside.clone(value_mapper=renamed))
    results: dict[SSAValue, SSAValue] = dict(zip(op.results, last.operands, strict=True))
    returned = [renamed.get(results[y], results[y]) for y in end.operands]
    new.add_op(ReturnOp.create(operands=returned, location=end.location))
    specs = tuple(ins[x] for x in main.body.block.args), tuple(outs[y] for y in end.operands)
    region = main.body
    region.detach_block(region.block).erase(safe_erase=False)
    region.add_block(new)
    main.update_function_type()
    return specs


Blocks = dict[SSAValue, tuple[SSAValue, Spec]]
"""The blocks that whole values were gathered from, with how these are split."""


def _dissolve(op: sdy.ManualComputationOp, mesh: Mesh, blocks: Blocks) -> None:
    """Puts the body of a manual computation in its place: its operands are cut, its results gathered."""
    axes, b = manual_axes_of(op.manual_axes), Rewriter("localize")
    b.move_to(op)
    renamed: dict[SSAValue, SSAValue] = {}
    for argument, x, sharding in zip(op.body.block.args, op.operands, shardings_of(op.in_shardings), strict=True):
        spec = along(sharding.spec, axes)
        renamed[argument] = _ungathered(b, x, spec, mesh, blocks) or _own_block(b, x, spec, mesh)
    last = cast(Operation, op.body.block.last_op)
    for inside in op.body.block.ops:
        if inside is not last:
            b.insert(inside.clone(value_mapper=renamed))
    results: list[Value] = []
    for y, sharding in zip(last.operands, shardings_of(op.out_shardings), strict=True):
        block, spec = renamed.get(y, y), along(sharding.spec, axes)
        results.append(_gathered(b, block, spec, mesh))
        if any(spec):
            blocks[results[-1]] = block, spec
    b.replace(op, results)


def _ungathered(b: OpBuilder, x: Value, spec: Spec, mesh: Mesh, blocks: Blocks) -> Value | None:
    """The device's block of a value that was gathered from blocks that are split alike, or that is elementwise in one; None for other values.

    What elementwise ops take besides, the device cuts.
    """
    if x in blocks:
        block, own = blocks[x]
        return block if own == spec else None
    op = x.owner
    if not isinstance(op, Operation) or op.regions or len(op.results) != 1 or not facts_of(type(op)).is_pointwise:
        return None
    if any(shape(operand) != shape(x) for operand in op.operands):
        return None
    known = [_ungathered(b, operand, spec, mesh, blocks) for operand in op.operands]
    if all(block is None for block in known):
        return None
    operands = [_own_block(b, operand, spec, mesh) if block is None else block for operand, block in zip(op.operands, known, strict=True)]
    return b.create(type(op), operands, (tensor(shape(operands[0]), element(x)),), op.properties)[0]


def unwrap_main(module: ModuleOp) -> None:
    """Puts the bodies of the manual computations that ``@main`` itself holds in their places, in place. They give every device whole operands, and take the
    results of one."""
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    for op in [op for op in main.body.block.ops if isinstance(op, sdy.ManualComputationOp)]:
        _dissolve(op, Mesh(()), {})


def _own_block(b: OpBuilder, x: Value, spec: Spec, mesh: Mesh) -> Value:
    """The device's block of a whole tensor."""
    if not any(spec):
        return x
    sizes = [n // count for n, count in zip(shape(x), parts(spec, mesh), strict=True)]
    starts = np.array(places(spec, mesh), np.int64) * np.array(sizes, np.int64)
    number = b.convert(b.create(hlo.PartitionIdOp, (), (tensor((), ui32),))[0], i64)
    own = b.reshape(b.dynamic_slice(b.constant(starts), [number, b.scalar(0, i64)], [1, len(sizes)]), [len(sizes)])
    return b.dynamic_slice(x, [b.reshape(b.slice(own, [d], [d + 1]), []) for d in range(len(sizes))], sizes)


def _gathered(b: OpBuilder, y: Value, spec: Spec, mesh: Mesh) -> Value:
    """The whole tensor of blocks."""
    for axis, split in enumerate(spec):
        if split:
            y = all_gather(b, y, axis, mesh.extents(split), device_groups(gather_groups(split, mesh)))
    return y


def forget_attributes(main: FuncOp) -> None:
    """Drops what a function says of the shardings of its arguments and results: they are blocks now."""
    for name in ("arg_attrs", "res_attrs"):
        given = main.properties.get(name)
        if isinstance(given, ArrayAttr):
            kept = [_without_shardings(cast("DictionaryAttr", entry)) for entry in cast("ArrayAttr[Any]", given).data]
            main.properties[name] = ArrayAttr(kept)


def _without_shardings(entry: DictionaryAttr) -> DictionaryAttr:
    return DictionaryAttr({key: value for key, value in entry.data.items() if not key.startswith("sdy.")})


def declared_shardings(main: FuncOp) -> tuple[list[Sharding | None], list[Sharding | None]]:
    """The shardings that a function says its arguments and results have."""
    counts = (len(main.function_type.inputs.data), len(main.function_type.outputs.data))
    return _declared(main, "arg_attrs", counts[0]), _declared(main, "res_attrs", counts[1])


def _declared(main: FuncOp, name: str, count: int) -> list[Sharding | None]:
    given = main.properties.get(name)
    if not isinstance(given, ArrayAttr):
        return [None] * count
    entries = [cast("DictionaryAttr", entry).data.get("sdy.sharding") for entry in cast("ArrayAttr[Any]", given).data]
    try:
        return [None if entry is None else sharding_of(entry) for entry in entries]
    except ShardingError as error:
        raise error_at(main, f"a sharding of @{main.sym_name.data} cannot be read: {error}") from None
