"""Tapes of loops that nobody counts, as tensors of open extent: the rows that there is room for, and how many of them are written.

A push into a full tensor moves its rows to one twice as long::

    %t = core.tape_push %s, %x : ...             %full = arith.cmpi sge, %room, %needed
                                                 %rows = scf.if %full -> (tensor<?x3xf64>) { %s } else { a longer one that begins with %s }
                                                 %t = tensor.insert_slice %x into %rows[%size, 0] [1, 3] [1, 1]

Rows that are not written are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region

from wengert.dialects.core import Kind
from wengert.dialects.core.control import TapeType
from wengert.ir.tensor_types import DYNAMIC, element, i64, is_complex, shape_of_type, tensor
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.elementwise import combine
from wengert.transforms.upstream.out.writer import INDEX, Out, Value, signless


class Tape(Struct, frozen=True, eq=False):
    """The rows that there is room for, ``tensor<?x...>``, and the number of those that count, an index."""

    rows: Value
    size: Value

    @property
    def entry(self) -> TensorType[Any]:
        """The type of an entry."""
        return tensor(shape_of_type(cast(Any, self.rows.type))[1:], element(self.rows))


Item = Value | Tape
"""What a value becomes."""


def types_of(type: Attribute) -> tuple[Attribute, ...]:
    """The types of what a value of a type becomes: one, or the two of a tape."""
    if not isinstance(type, TapeType):
        return (signless(type),)
    entry = cast("TensorType[Any]", signless(type.entry_type))
    return tensor((DYNAMIC, *entry.get_shape()), entry.element_type), INDEX


def flat(items: Sequence[Item]) -> list[Value]:
    """The values of items, two for a tape."""
    return [value for item in items for value in ((item.rows, item.size) if isinstance(item, Tape) else (item,))]


def grouped(types: Sequence[Attribute], values: Sequence[Value]) -> list[Item]:
    """The items of StableHLO's types whose values these are."""
    rest = iter(values)
    return [Tape(next(rest), next(rest)) if isinstance(type, TapeType) else next(rest) for type in types]


def _plus(out: Out, x: Value, y: Value) -> Value:
    return out.arith("addi", x, y)


def _room(out: Out, rows: Value, needed: Value) -> Value:
    """The rows with room for so many."""
    there = out.one("tensor.dim", (rows, out.index(0)), INDEX)

    def longer(_: Sequence[Value]) -> Sequence[Value]:
        length = out.arith("maxsi", _plus(out, there, there), needed)
        zeros = out.one("tensor.splat", (out.zero(element(rows)), length), rows.type)
        return [out.put(rows, zeros, out.index(0), there)]

    regions: list[Region] = [out.region([], "scf.yield", lambda _: [rows]), out.region([], "scf.yield", longer)]
    return out.ops("scf.if", [out.compare("sge", there, needed)], [rows.type], *regions)[0]


def _number(out: Out, x: Value) -> Value:
    """A ``tensor<i64>`` as an index."""
    return out.as_index(out.element(x))


def _create(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    rows, _ = types_of(op.results[0].type)
    return [Tape(out.one("tensor.empty", (out.index(0),), rows), out.index(0))]


def _push(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, value = operands
    size = _plus(out, tape.size, out.index(1))
    return [Tape(out.put(value, _room(out, tape.rows, size), tape.size), size)]


def _extend(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, other = operands
    return [_written(out, tape, tape.size, other)]


def _written(out: Out, tape: Tape, at: Value, other: Tape) -> Tape:
    """A tape with the entries of another from a place on."""
    end = _plus(out, at, other.size)
    part = out.taken(other.rows, out.index(0), other.size)
    return Tape(out.put(part, _room(out, tape.rows, end), at, other.size), out.arith("maxsi", tape.size, end))


def _size(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    return [out.one("tensor.from_elements", (out.one("arith.index_cast", (operands[0].size,), i64),), tensor((), i64))]


def _read(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position = operands
    return [out.taken(tape.rows, _number(out, position))]


def _from(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position = operands[0], _number(out, operands[1])
    size = out.arith("subi", tape.size, position)
    return [Tape(out.taken(tape.rows, position, size), size)]


def _get(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position = operands[0], _number(out, operands[1])
    regions: list[Region] = [
        out.region([], "scf.yield", lambda _: [out.taken(tape.rows, position)]),
        out.region([], "scf.yield", lambda _: [out.full(0, tape.entry)]),
    ]
    return out.ops("scf.if", [out.compare("slt", position, tape.size)], [tape.entry], *regions)


def _set(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position, value = operands[0], _number(out, operands[1]), operands[2]
    end = _plus(out, position, out.index(1))
    return [Tape(out.put(value, _room(out, tape.rows, end), position), out.arith("maxsi", tape.size, end))]


def _sum(out: Out, x: Value, y: Value) -> Value:
    """The sum of two entries."""
    kind = element(x)
    if is_complex(kind):
        return out.mapped([x, y], x.type, lambda given: combine(out, Kind.add, kind, *given))
    return combine(out, Kind.add, kind, x, y)


def _add(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position, value = operands[0], _number(out, operands[1]), operands[2]
    end = _plus(out, position, out.index(1))
    rows = _room(out, tape.rows, end)
    return [Tape(out.put(_sum(out, out.taken(rows, position), value), rows, position), out.arith("maxsi", tape.size, end))]


def _set_from(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, position, other = operands
    return [_written(out, tape, _number(out, position), other)]


def _add_from(out: Out, op: Operation, operands: Sequence[Any]) -> Sequence[Item]:
    tape, start, other = operands[0], _number(out, operands[1]), operands[2]
    end = _plus(out, start, other.size)
    rows = _room(out, tape.rows, end)

    def body(given: Sequence[Value]) -> Sequence[Value]:
        number, carried = given
        at = _plus(out, start, number)
        return [out.put(_sum(out, out.taken(carried, at), out.taken(other.rows, number)), carried, at)]

    region = out.region([INDEX, rows.type], "scf.yield", body)
    (summed,) = out.ops("scf.for", [out.index(0), other.size, out.index(1), rows], [rows.type], region)
    return [Tape(summed, out.arith("maxsi", tape.size, end))]


TAPES: dict[str, Callable[[Out, Operation, Sequence[Any]], Sequence[Item]]] = {
    "core.tape_add": _add,
    "core.tape_add_from": _add_from,
    "core.tape_create": _create,
    "core.tape_extend": _extend,
    "core.tape_from": _from,
    "core.tape_get": _get,
    "core.tape_push": _push,
    "core.tape_read": _read,
    "core.tape_set": _set,
    "core.tape_set_from": _set_from,
    "core.tape_size": _size,
}
"""How each op on tapes is written."""


def refuse_nested(op: Operation) -> None:
    """Refuses a tape of tapes that grow: nothing here says where one of them ends."""
    for result in op.results:
        if isinstance(result.type, TapeType) and not isinstance(result.type.entry_type, TensorType):
            raise refusal(op, "a tape of tapes is not written in upstream dialects")
