"""The boundary between a program on whole tensors and what each device runs of it, in reverse mode.

A whole result that several devices hold counts once: each of its k holders is given the k-th part of its cotangent. A whole argument that several devices
hold has one cotangent: the sum over its holders. With that the derivative of the map of all devices' blocks is that of the map of whole tensors. (Giving the
cotangent to one holder instead would do as well, and would make holders differ.)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from wengert.dialects.builder import Value
from wengert.dialects.core import Kind
from wengert.dialects.sdy_shardings import Mesh, Spec
from wengert.ir.construction import insert_before
from wengert.ir.tensor_types import element
from wengert.transforms.core.recognisers.communication import all_reduce, device_groups
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.blocks import holders, places, replicas
from wengert.transforms.spmd.uniformity import Known, numbered


def cross_boundary(module: ModuleOp, mesh: Mesh, cotangents: dict[int, Spec], derived: dict[int, Spec]) -> None:
    """Makes the reverse derivative of what each device runs that of the whole program, in place.

    Args:
        module: the derivative, as ``@main``.
        mesh: the devices.
        cotangents: the specs of the arguments that are cotangents, by position.
        derived: the specs of the results that are cotangents, by position.
    """
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    block = main.body.block
    first, end = block.first_op, block.last_op
    assert first is not None
    assert isinstance(end, ReturnOp)
    b = Rewriter("boundary")
    b.move_to(first)
    with b.at(main.location):
        for position, spec in cotangents.items():
            if (count := replicas(spec, mesh)) > 1:
                _share(b, block.args[position], count)
    b = Rewriter("boundary")
    b.move_to(end)
    returned = list(end.operands)
    with b.at(main.location):
        for position, spec in [(position, spec) for position, spec in derived.items() if replicas(spec, mesh) > 1]:
            returned[position] = all_reduce(b, Kind.add, returned[position], device_groups(holders(spec, mesh)))
    insert_before(end, ReturnOp.create(operands=returned, location=end.location))
    block.erase_op(end)


def _share(b: Rewriter, x_bar: Value, count: int) -> None:
    uses = list(x_bar.uses)
    shared = b.divide(x_bar, b.convert(b.full_like(x_bar, count), element(x_bar)))
    for use in uses:
        use.operation.operands[use.index] = shared


def argument_knowledge(specs: Sequence[Spec], mesh: Mesh) -> list[Known]:
    """Facts about the arguments of what each device runs: devices with the same block have the same value."""
    return [Known(numbered(places(spec, mesh)), any(spec)) for spec in specs]
