"""The timeline of a program at core level: every value is in memory from the op that makes it to its last use, as if nothing were fused.

The same rules as for peaks that are counted (:mod:`wengert.transforms.analysis.liveness`): arguments live throughout, constants take nothing, and what the
regions of an op take at their fullest is added while it runs.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.ir.location.locations import provenance
from wengert.ir.traversal import operands_of, ops_in
from wengert.lab.draw.graph import short_type
from wengert.lab.inspection.naming import SourceNames, derived_from, plain_name, source_line
from wengert.lab.kept.parts import Parts
from wengert.lab.memory.timeline import Piece, Role, Step, Timeline
from wengert.runtime.functions import entry_function
from wengert.runtime.program import Program
from wengert.transforms.analysis.liveness import inside_peak, last_uses
from wengert.transforms.analysis.opcost import is_constant
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of


def ir_timeline(program: Program, names: SourceNames, parts: Parts | None = None) -> Timeline:
    """The timeline of the optimised core-level form of a program.

    Args:
        program: the program.
        names: the names of the source.
        parts: the parts of the program, if it is a reverse derivative.
    """
    function = entry_function(program.optimized_module, "main") if parts is None else parts.function
    functions = {op.sym_name.data: op for op in program.optimized_module.body.block.ops if isinstance(op, FuncOp)}
    block = function.body.block
    ops = [op for op in ops_in(block)[:-1] if not is_constant(op)]
    number = {op: n for n, op in enumerate(ops)}
    end = max(len(ops) - 1, 0)
    last = block.last_op
    assert last is not None
    returned = set(operands_of(last))
    split = None if parts is None else next((number[op] for op in parts.reverse if op in number), None)
    dies = {value: number.get(op, end) for op, values in last_uses(block).items() for value in values}
    given = [parameter.name or names.argument(parameter.position) for parameter in program.signature.arguments]
    pieces = [
        Piece("input", given[argument.index], "", short_type(argument.type), source_line(argument.location), bytes_of(STATIC, argument), 0, end)
        for argument in block.args
    ]
    for n, op in enumerate(ops):
        for value in op.results:
            until = end if value in returned else max(dies.get(value, n), n)
            pieces.append(_piece(value, op, names, _role(value in returned, n, until, split), n, until))
        inside = inside_peak(op, functions) - sum(bytes_of(STATIC, value) for value in op.results)
        if inside > 0:
            pieces.append(Piece("inside", names.at(op.location), f"inside {plain_name(op)}", "", source_line(op.location), inside, n, n))
    steps = tuple(Step(derived_from(op), source_line(op.location)) for op in ops)
    return Timeline("ir", steps or (Step("return", ("", 0)),), tuple(piece for piece in pieces if piece.bytes), split)


def _role(returned: bool, first: int, last: int, split: int | None) -> Role:
    if returned:
        return "result"
    return "kept" if split is not None and first < split <= last else "temporary"


def _piece(value: SSAValue, op: Operation, names: SourceNames, role: Role, first: int, last: int) -> Piece:
    known = provenance(op.location)
    source = names.at(op.location).partition("#")[0]
    name = source if known is None else ""
    written = plain_name(op) if known is None else f"{plain_name(op)}, {known.role.value} of {source or plain_name(known.op_name)}"
    return Piece(role, name, written, short_type(value.type), source_line(op.location), bytes_of(STATIC, value), first, last)
