"""``lower-affine``: affine ops as ``scf``, ``arith`` and ``memref``, as upstream's pass of this name makes them.

Before and after::

    affine.for %i = 0 to %n {                              %c0 = arith.constant 0 : index ...
      %a = affine.load %m[%i + 1] : memref<?xf64>          scf.for %i = %c0 to %n step %c1 {
      ...                                                    %0 = arith.addi %i, %c1 : index
    }                                                        %a = memref.load %m[%0] : memref<?xf64>
                                                             ...
                                                           }

Maps are written out over index arithmetic, with bounds by several expressions as their largest or smallest. Reductions of ``affine.parallel`` become
those of ``scf.parallel``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, ArrayAttr, FloatAttr, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap
from xdsl.passes import ModulePass

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.dialects.upstream.arities import SEGMENTS
from wengert.dialects.upstream.attribute_kinds import numbers_of
from wengert.dialects.upstream.forms import dense
from wengert.ir.attributes import int_of, ints
from wengert.ir.construction import erase
from wengert.ir.tensor_types import DYNAMIC, i1, i32
from wengert.ir.traversal import all_ops
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.writer import Writer, replaced


@dataclass(frozen=True)
class LowerAffinePass(ModulePass):
    """Writes affine ops as ``scf``, ``arith`` and ``memref``."""

    name = "lower-affine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_affine(op)


def lower_affine(module: Operation) -> None:
    """Replaces all affine ops under an op, in place. Raises a DiagnosticError for those that have no meaning here."""
    for op in all_ops(module):
        if op.parent is not None and isinstance(op, UpstreamOp) and op.name.startswith("affine."):
            lower = LOWERINGS.get(op.name)
            if lower is None:
                raise refusal(op, "this op has no meaning here")
            lower(op)


def map_of(op: Operation, name: str) -> AffineMap:
    """A map among an op's attributes."""
    attribute = op.attributes.get(name)
    if not isinstance(attribute, AffineMapAttr):
        raise refusal(op, f"the attribute '{name}' is missing, or no affine map")
    return attribute.data


def _renamed(op: UpstreamOp, name: str, operands: Sequence[SSAValue], regions: Sequence[Region] = (), **attributes: Attribute) -> None:
    """Replaces an op by another one with results of the same types."""
    made = Writer(op).ops(name, operands, [result.type for result in op.results], *regions, **attributes)
    replaced(op, made.results)


# -- maps


def _apply(op: UpstreamOp) -> None:
    replaced(op, Writer(op).values(map_of(op, "map"), op.operands))


def _extreme(name: str) -> Callable[[UpstreamOp], None]:
    def lower(op: UpstreamOp) -> None:
        writer = Writer(op)
        replaced(op, [writer.extreme(name, writer.values(map_of(op, "map"), op.operands))])

    return lower


def _load(op: UpstreamOp) -> None:
    source, *operands = op.operands
    _renamed(op, "memref.load", [source, *Writer(op).values(map_of(op, "map"), operands)])


def _store(op: UpstreamOp) -> None:
    value, target, *operands = op.operands
    _renamed(op, "memref.store", [value, target, *Writer(op).values(map_of(op, "map"), operands)])


def _delinearize(op: UpstreamOp) -> None:
    """The digits of an index in a mixed base; the first extent may be left out."""
    writer = Writer(op)
    rest, *dynamic = op.operands
    basis = _mixed(writer, ints(op.attributes["static_basis"]), dynamic)
    digits: list[SSAValue] = []
    while len(digits) < len(op.results) - 1:
        size = basis[len(basis) - 1 - len(digits)]
        quotient = writer.one("arith.floordivsi", (rest, size))
        digits.append(writer.one("arith.subi", (rest, writer.multiply(quotient, size))))
        rest = quotient
    replaced(op, [rest, *reversed(digits)])


def _linearize(op: UpstreamOp) -> None:
    writer = Writer(op)
    digits, dynamic = op.groups()
    basis = _mixed(writer, ints(op.attributes["static_basis"]), dynamic)
    total = digits[0]
    for digit, size in zip(digits[1:], basis[len(basis) - len(digits) + 1 :], strict=True):
        total = writer.add(writer.multiply(total, size), digit)
    replaced(op, [total])


def _mixed(writer: Writer, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[SSAValue]:
    rest = iter(dynamic)
    return [next(rest) if n == DYNAMIC else writer.index(n) for n in static]


# -- structure


def _yield_of(name: str) -> Callable[[UpstreamOp], None]:
    def lower(op: UpstreamOp) -> None:
        _renamed(op, name, op.operands)

    return lower


def _for(op: UpstreamOp) -> None:
    writer = Writer(op)
    lower, upper, initial = op.groups()
    bounds = [
        writer.extreme("maxsi", writer.values(map_of(op, "lowerBoundMap"), lower)),
        writer.extreme("minsi", writer.values(map_of(op, "upperBoundMap"), upper)),
        writer.index(int_of(op.attributes["step"])),
    ]
    _renamed(op, "scf.for", [*bounds, *initial], [op.detach_region(op.regions[0])])


def _if(op: UpstreamOp) -> None:
    writer = Writer(op)
    condition = cast(AffineSetAttr, op.attributes["condition"]).data
    dims, symbols = op.operands[: condition.num_dims], op.operands[condition.num_dims :]
    holds: SSAValue | None = None
    for constraint in condition.constraints:
        sides = [writer.value(side, dims, symbols) for side in (constraint.lhs, constraint.rhs)]
        one = writer.compare(_PREDICATES[constraint.kind], sides[0], sides[1])
        holds = one if holds is None else writer.one("arith.andi", (holds, one), i1)
    if holds is None:
        holds = writer.one("arith.constant", (), i1, value=IntegerAttr(-1, i1))
    _renamed(op, "scf.if", [holds], [op.detach_region(region) for region in list(op.regions)])


_PREDICATES = {AffineConstraintKind.ge: "sge", AffineConstraintKind.le: "sle", AffineConstraintKind.eq: "eq"}

_REDUCTIONS: dict[int, tuple[str, Callable[[Attribute], Any]]] = {
    0: ("arith.addf", lambda type: FloatAttr(0.0, cast(Any, type))),
    1: ("arith.addi", lambda type: IntegerAttr(0, cast(Any, type))),
    3: ("arith.maximumf", lambda type: FloatAttr(float("-inf"), cast(Any, type))),
    4: ("arith.maxsi", lambda type: IntegerAttr(-(1 << _width(type) - 1), cast(Any, type))),
    5: ("arith.maxui", lambda type: IntegerAttr(0, cast(Any, type))),
    6: ("arith.minimumf", lambda type: FloatAttr(float("inf"), cast(Any, type))),
    7: ("arith.minsi", lambda type: IntegerAttr((1 << _width(type) - 1) - 1, cast(Any, type))),
    8: ("arith.minui", lambda type: IntegerAttr(-1, cast(Any, type))),
    9: ("arith.mulf", lambda type: FloatAttr(1.0, cast(Any, type))),
    10: ("arith.muli", lambda type: IntegerAttr(1, cast(Any, type))),
    11: ("arith.ori", lambda type: IntegerAttr(0, cast(Any, type))),
    12: ("arith.andi", lambda type: IntegerAttr(-1, cast(Any, type))),
    13: ("arith.maxnumf", lambda type: FloatAttr(float("-inf"), cast(Any, type))),
    14: ("arith.minnumf", lambda type: FloatAttr(float("inf"), cast(Any, type))),
    15: ("arith.xori", lambda type: IntegerAttr(0, cast(Any, type))),
}
"""The op and the neutral element of each kind of ``arith::AtomicRMWKind``."""


def _width(type: Attribute) -> int:
    return 64 if isinstance(type, IndexType) else cast(Any, type).width.data


def reduction_of(op: Operation, kind: int) -> str:
    """The op that a kind of reduction combines by."""
    if kind not in _REDUCTIONS:
        raise refusal(op, f"the reduction of kind {kind} is not supported")
    return _REDUCTIONS[kind][0]


def _parallel(op: UpstreamOp) -> None:
    writer = Writer(op)
    lower, upper = map_of(op, "lowerBoundsMap"), map_of(op, "upperBoundsMap")
    first = lower.num_dims + lower.num_symbols
    starts = _grouped(writer, op, "lower", "maxsi", lower, op.operands[:first])
    ends = _grouped(writer, op, "upper", "minsi", upper, op.operands[first:])
    steps = [writer.index(int_of(step)) for step in cast("ArrayAttr[Attribute]", op.attributes["steps"]).data]
    kinds = [int_of(kind) for kind in cast("ArrayAttr[Attribute]", op.attributes["reductions"]).data]
    types = [result.type for result in op.results]
    initial = [_neutral(writer, op, kind, type) for kind, type in zip(kinds, types, strict=True)]
    _end_with_reduce(op, kinds)
    sizes = dense([len(starts), len(ends), len(steps), len(initial)], i32)
    _renamed(op, "scf.parallel", [*starts, *ends, *steps, *initial], [op.detach_region(op.regions[0])], **{SEGMENTS: sizes})


def _grouped(writer: Writer, op: UpstreamOp, side: str, extreme: str, map: AffineMap, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The bounds of each dimension, of which each may be the extreme of several."""
    values = writer.values(map, operands)
    bounds: list[SSAValue] = []
    for size in numbers_of(op.attributes[f"{side}BoundsGroups"]) or ():
        bounds.append(writer.extreme(extreme, values[:size]))
        values = values[size:]
    return bounds


def _neutral(writer: Writer, op: UpstreamOp, kind: int, type: Attribute) -> SSAValue:
    reduction_of(op, kind)
    value = _REDUCTIONS[kind][1](type)
    return writer.one("arith.constant", (), type, value=value)


def _end_with_reduce(op: UpstreamOp, kinds: Sequence[int]) -> None:
    """Makes the end of the body an ``scf.reduce`` with the region of each reduction."""
    end = op.regions[0].block.last_op
    assert end is not None
    writer = Writer(end)
    regions: list[Region] = []
    for kind, value in zip(kinds, end.operands, strict=True):
        block = Block(arg_types=[value.type] * 2)
        combined = upstream_class(reduction_of(op, kind)).create(operands=block.args, result_types=[value.type], location=op.location)
        block.add_ops([combined, upstream_class("scf.reduce.return").create(operands=combined.results, location=op.location)])
        regions.append(Region(block))
    writer.ops("scf.reduce", end.operands, [], *regions)
    erase(end)


LOWERINGS: dict[str, Callable[[UpstreamOp], None]] = {
    "affine.apply": _apply,
    "affine.delinearize_index": _delinearize,
    "affine.for": _for,
    "affine.if": _if,
    "affine.linearize_index": _linearize,
    "affine.load": _load,
    "affine.max": _extreme("maxsi"),
    "affine.min": _extreme("minsi"),
    "affine.parallel": _parallel,
    "affine.store": _store,
    "affine.yield": _yield_of("scf.yield"),
}
"""What each affine op becomes. Ops around others are replaced first; an ``affine.yield`` that ended a parallel loop is gone by then."""
