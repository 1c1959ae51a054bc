"""Communication on one device, which is replica 0 and partition 0 of a program of one replica and one partition.

``replica_id`` and ``partition_id`` are 0. A collective over a group that holds device 0 alone gives its operand, in the element type of its
computation; so does one whose groups name no device, which means the group of all. ``collective_permute`` and ``collective_broadcast`` give zeros
to a device that nobody sends to, as the specification has it. Whatever needs another device is refused, and so is what reaches the host.

Derivatives are taken of the collectives themselves (``transforms/ad/rules/communication.py``); this pass runs where a program is compiled for one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.process_groups import NUMBERS, is_collective
from wengert.ir.elements import to_numpy
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import shape, type_of, ui32
from wengert.ir.traversal import all_ops
from wengert.transforms.rewriter import Rewriter

OUTSIDE: dict[type[Operation], str] = {
    hlo.SendOp: "sends to the host or to another device, and a program here has no channels",
    hlo.RecvOp: "receives from the host or from another device, and a program here has no channels",
    hlo.InfeedOp: "reads what the host feeds in while the program runs, and nothing here does",
    hlo.OutfeedOp: "writes for the host to read while the program runs, and nothing here does",
}
"""Ops that reach out of the program, and why they are refused."""

_ONE = "the program is run on one device, which is device 0"
_HINT = "p.distribute(devices=n) and wengert run --devices n run it on n devices"


class NeedsOthersError(Exception):
    """A collective that one device cannot do; the message says why, for ``<op> <message>``."""


def passes_on(op: Operation) -> bool:
    """Whether a collective gives device 0 its operands (else zeros). Raises NeedsOthersError where other devices take part."""
    if isinstance(op, hlo.CollectivePermuteOp):
        return _permutes(op)
    group = _group(op)
    for x, y in zip(op.operands, op.results, strict=True):
        if shape(x) != shape(y):
            raise NeedsOthersError(f"makes {y.type} of {x.type}, which takes several devices; {_ONE}")
    return group


def _rows(op: Operation, name: str) -> list[list[int]]:
    table = op.properties[name]
    if not isinstance(table, DenseIntOrFPElementsAttr):
        raise NeedsOthersError(f"is over groups of a mesh of devices; {_ONE}")
    return [[int(device) for device in row if device >= 0] for row in to_numpy(cast("DenseIntOrFPElementsAttr[Any]", table))]


def _group(op: Operation) -> bool:
    """Whether device 0 is in a group, which must hold it alone."""
    groups = [row for row in _rows(op, "replica_groups") if row]
    if not groups:
        return not isinstance(op, hlo.CollectiveBroadcastOp)
    for group in groups:
        if 0 in group:
            if len(group) > 1:
                raise NeedsOthersError(f"needs the devices {', '.join(map(str, group))} of one of its replica_groups; {_ONE}")
            return True
    return False


def _permutes(op: hlo.CollectivePermuteOp) -> bool:
    """Whether device 0 sends to itself."""
    for source, target in _rows(op, "source_target_pairs"):
        if (source == 0) != (target == 0):
            raise NeedsOthersError(f"sends from device {source} to device {target}; {_ONE}")
        if source == 0:
            return True
    return False


def run_alone(b: OpBuilder, op: Operation) -> Sequence[SSAValue]:
    """A collective as what it means on one device. Raises a DiagnosticError where other devices take part."""
    try:
        passed = passes_on(op)
    except NeedsOthersError as error:
        raise error_at(op, f"{op.name.replace('core.', 'stablehlo.')} {error}", _HINT) from None
    if not passed:
        return [b.zeros(type_of(y)) for y in op.results]
    return [b.convert(x, type_of(y).element_type) for x, y in zip(op.operands, op.results, strict=True)]


def own_number(b: OpBuilder, op: Operation) -> Sequence[SSAValue]:
    """The number of the only device."""
    return [b.scalar(0, ui32)]


@dataclass(frozen=True)
class OneDevicePass(ModulePass):
    """Replaces communication by what it means on the only device."""

    name = "on-one-device"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewriter = Rewriter(self.name)
        for inner in [inner for inner in all_ops(op) if is_communication(inner)]:
            rewriter.move_to(inner)
            rewriter.replace(inner, own_number(rewriter, inner) if isinstance(inner, NUMBERS) else run_alone(rewriter, inner))


def is_communication(op: Operation) -> bool:
    """Whether an op depends on which device runs it, or on others."""
    return is_collective(op) or isinstance(op, NUMBERS)
