"""The ops of one stage as columns: what the page needs to link, explain and draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.ir.location.locations import Role, provenance
from wengert.ir.unregistered import written_name
from wengert.lab.report.operation_lines import WrittenModule
from wengert.lab.report.source_texts import Places
from wengert.transforms.analysis.opcost import work
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

ROLES = ("", *(role.value for role in Role))
"""Roles by their number in the columns; 0 is an op that was written, or is not a derived one."""
ARGUMENT = "argument"
"""The name of the entries for arguments of blocks."""


@dataclass
class Strings:
    """Numbers texts that occur often."""

    listed: list[str] = field(default_factory=list[str])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, text: str) -> int:
        """The number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.listed)
            self.listed.append(text)
        return number


@dataclass
class OperationTable:
    """The ops of a module in the order of its text, arguments of blocks among them, one entry in each column.

    Attributes:
        line: where it is written, from 0.
        name: the op's name, as a number of ``strings``.
        results: what it defines, as the text writes it (``%3``; ``%3, %4`` for arguments is not used: each has an entry).
        type: types of the results, as a number of ``strings``.
        role: a number of :data:`ROLES`.
        derivation: how it was derived, the last derivative first, as a number of ``strings``.
        places: numbers of places in sources, the most important first.
        calls: how many of them, the last ones, are those of calls around it.
        inferred: those of them that rewrites looked through on the way to the op.
        operands: entries that define its operands, nested uses by its regions left out.
        parent: the entry of the op that holds it, or -1.
        bytes: bytes of what it defines.
        flops: floating point operations of one execution, or -1 where they are not known.
    """

    line: list[int] = field(default_factory=list[int])
    name: list[int] = field(default_factory=list[int])
    results: list[str] = field(default_factory=list[str])
    type: list[int] = field(default_factory=list[int])
    role: list[int] = field(default_factory=list[int])
    derivation: list[int] = field(default_factory=list[int])
    places: list[list[int]] = field(default_factory=list[list[int]])
    calls: list[int] = field(default_factory=list[int])
    inferred: list[list[int]] = field(default_factory=list[list[int]])
    operands: list[list[int]] = field(default_factory=list[list[int]])
    parent: list[int] = field(default_factory=list[int])
    bytes: list[int] = field(default_factory=list[int])
    flops: list[int] = field(default_factory=list[int])

    def to_json(self) -> dict[str, Any]:
        """The columns."""
        return dict(vars(self))


def operation_table(module: ModuleOp, written: WrittenModule, strings: Strings, places: Places) -> OperationTable:
    """The columns of a module whose text was written before."""
    reader = _Reader(written, strings, places)
    for block in module.body.blocks:
        reader.read_block(block, -1, 0)
    return reader.table


class _Reader:
    """Enters ops in the order of the text, so that an operand's entry is there before its use."""

    def __init__(self, written: WrittenModule, strings: Strings, places: Places):
        self.table = OperationTable()
        self._written, self._strings, self._places = written, strings, places
        self._entry: dict[int, int] = {}
        self._types: dict[int, tuple[Attribute, str, int]] = {}
        """The text and the bytes of types, by ``id``: values share them, and to print one takes long."""
        self._derived: dict[int, tuple[LocationAttr, int]] = {}

    def read_block(self, block: Block, parent: int, line: int) -> None:
        """Enters a block's arguments and ops; those without a line of their own are on that of the op that holds them."""
        for argument in block.args:
            self._entry[id(argument)] = self._enter(line, ARGUMENT, (argument,), argument.location, [], parent, 0)
        for op in block.ops:
            at = self._written.line(op)
            self._read(op, parent, line if at is None else at)

    def _read(self, op: Operation, parent: int, line: int) -> None:
        operands = [entry for operand in op.operands if (entry := self._entry.get(id(operand))) is not None]
        number = self._enter(line, written_name(op), tuple(op.results), op.location, operands, parent, _flops(op))
        for result in op.results:
            self._entry[id(result)] = number
        for region in op.regions:
            for block in region.blocks:
                self.read_block(block, number, line)

    def _enter(self, line: int, name: str, values: tuple[SSAValue, ...], location: LocationAttr, operands: list[int], parent: int, flops: int) -> int:
        table, string = self.table, self._strings.of
        types = [self._type(value) for value in values]
        table.line.append(line)
        table.name.append(string(name))
        table.results.append(self._shown(values))
        table.type.append(string(", ".join(text for text, _ in types[:4]) + (", …" if len(values) > 4 else "")))
        table.role.append(self._role(location))
        origin = self._places.of(location)
        table.derivation.append(string(origin.derivation))
        table.places.append(origin.places)
        table.calls.append(origin.calls)
        table.inferred.append(origin.inferred)
        table.operands.append(operands)
        table.parent.append(parent)
        table.bytes.append(sum(size for _, size in types))
        table.flops.append(flops)
        return len(table.line) - 1

    def _type(self, value: SSAValue) -> tuple[str, int]:
        known = self._types.get(id(value.type))
        if known is None:
            known = self._types[id(value.type)] = (value.type, str(value.type), _bytes(value))
        return known[1], known[2]

    def _role(self, location: LocationAttr) -> int:
        known = self._derived.get(id(location))
        if known is None:
            derived = provenance(location)
            known = self._derived[id(location)] = (location, 0 if derived is None else ROLES.index(derived.role))
        return known[1]

    def _shown(self, values: tuple[SSAValue, ...]) -> str:
        if not values:
            return ""
        first = self._written.name(values[0])
        return first if len(values) == 1 else f"{first.partition('#')[0]}:{len(values)}"


def _bytes(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType):
        return 0
    try:
        return int(bytes_of(STATIC, value))
    except Exception:  # an element type without a size in memory, an extent that is open: nothing is drawn for it
        return 0


def _flops(op: Operation) -> int:
    if any(region.blocks for region in op.regions):
        return -1
    try:
        return int(work(op)[0])
    except Exception:  # no facts: levels below the core have ops that nothing is declared of
        return -1
