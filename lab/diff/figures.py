"""What the ops of a program weigh: flops, bytes kept for the reverse part, bytes of the peak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.facts import MissingFactsError
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.locations import Role, provenance
from wengert.transforms.analysis.opcost import cost, is_constant, is_executed
from wengert.transforms.analysis.peak import live_at_peak
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.shapes.dynamism import is_dynamic

_REVERSE = frozenset((Role.COTANGENT, Role.ACCUMULATION))


@dataclass(frozen=True)
class Weights:
    """What each op of a program weighs; what is missing weighs nothing.

    Attributes:
        flops: of all executions of an op; a polynomial where only a run tells how often it is executed.
        kept: bytes of an op's results that the reverse part reads, for ops of the forward part.
        peak: bytes of what an op makes (or an argument is) that are live where the program takes the most.
        known: whether the level is one at which these are counted.
    """

    flops: dict[object, Polynomial] = field(default_factory=dict[object, Polynomial])
    kept: dict[object, int] = field(default_factory=dict[object, int])
    peak: dict[object, int] = field(default_factory=dict[object, int])
    known: bool = True

    @property
    def total_flops(self) -> Polynomial:
        """The flops of the program."""
        return sum(self.flops.values(), ZERO)


UNKNOWN = Weights(known=False)


def weights(module: ModuleOp, entry: str, unknowns: Unknowns) -> Weights:
    """The weights of the ops of a static program on tensors; :data:`UNKNOWN` for what is beyond that (buffers, kernels of devices, open extents).

    Args:
        module: the IR.
        entry: the function that is run.
        unknowns: the symbols of the program that it is compared with.
    """
    if is_dynamic(module) or not _on_tensors(module, entry):
        return UNKNOWN
    try:
        runs = executions(module, entry, STATIC, unknowns)
        flops = {op: times * cost(op).flops for block, times in runs.blocks for op in block.ops if is_executed(op)}
        live = live_at_peak(module, entry)
    except (MissingFactsError, DiagnosticError, KeyError, TypeError, AttributeError, ValueError):
        return UNKNOWN
    peak: dict[object, int] = {}
    for value, size in live:
        peak[_maker(value)] = peak.get(_maker(value), 0) + size
    return Weights({op: number for op, number in flops.items() if number != 0}, _kept(module, entry), peak)


def _maker(value: SSAValue) -> object:
    return value.owner if isinstance(value.owner, Operation) else value


def _on_tensors(module: ModuleOp, entry: str) -> bool:
    from wengert.dialects.kernel.buffers import is_bufferized

    function = _entry(module, entry)
    return function is not None and not is_bufferized(function)


def _entry(module: ModuleOp, entry: str) -> FuncOp | None:
    return next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == entry and op.body.blocks), None)


def _kept(module: ModuleOp, entry: str) -> dict[object, int]:
    """The bytes that ops of the forward part make for the reverse part, which begins with the first cotangent."""
    function = _entry(module, entry)
    assert function is not None
    return {op: size for op in function.body.block.ops if (size := sum(map(_bytes, _read_in_reverse(op, function.body.block))))}


def _read_in_reverse(op: Operation, block: Block) -> Iterable[SSAValue]:
    if is_reverse(op) or is_constant(op):
        return ()
    return (result for result in op.results if any(is_reverse(_outermost(use.operation, block)) for use in result.uses))


def is_reverse(op: Operation) -> bool:
    """Whether an op belongs to the reverse part."""
    known = provenance(op.location)
    return known is not None and known.role in _REVERSE


def _outermost(op: Operation, block: Block) -> Operation:
    """The op of a block in whose regions an op stands, or the op itself."""
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _bytes(value: SSAValue) -> int:
    return bytes_of(STATIC, value)
