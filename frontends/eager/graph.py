"""Tapes that were seen before: the whole backward pass as one compiled program.

The structure of a tape (which operations, on which types, connected how, which leaves are asked for) is the key; the kept values are
the program's arguments. A structure is compiled when it is seen for the third time: what is built anew every time, as in recursion
over data, would never repay it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.program import Array, Prepared, Type
from wengert.eager.record import Output, Record, Source

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

COMPILE_AFTER = 2
"""How often a structure is walked before it is compiled."""
LARGEST = 1500
"""Tapes of more records than this are walked: compiling them takes longer than is likely to be won back."""
MOST_GRAPHS = 1024
"""How many structures are remembered; the oldest goes first."""


class Entry:
    """What is known of one structure."""

    __slots__ = ("arguments", "program", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.program: Prepared | None = None
        self.arguments: list[tuple[int, int, np.dtype[Any]]] = []
        """For every argument: which record kept it, as which of what it kept, and its dtype."""


GRAPHS: dict[Any, Entry] = {}


def run_compiled(
    records: Sequence[Record], sources: Sequence[Source], cotangents: Sequence[Array], wanted: set[int] | None
) -> list[tuple[Tensor, Array]] | None:
    """The gradients of the leaves, or None if the tape has to be walked."""
    if not records or len(records) > LARGEST:
        return None
    key, leaves = _key(records, sources, wanted)
    entry = GRAPHS.get(key)
    if entry is None:
        if len(GRAPHS) >= MOST_GRAPHS:
            GRAPHS.pop(next(iter(GRAPHS)))
        entry = GRAPHS[key] = Entry()
    entry.seen += 1
    if entry.seen <= COMPILE_AFTER or not leaves:
        return None
    if entry.program is None:
        _compile(entry, records, sources, leaves)
    kept = [record.kept() if record.saved is None or record.saved else () for record in records]
    arguments = [_array(kept[i], j, dtype) for i, j, dtype in entry.arguments]
    assert entry.program is not None
    return list(zip(leaves, entry.program(*arguments, *cotangents), strict=True))


def _array(saved: Any, position: int, dtype: np.dtype[Any]) -> Array:
    """A kept value, which may be a Python number, as an array."""
    value = saved[position][0]
    return value if type(value) is np.ndarray else np.asarray(value, dtype)


def _key(records: Sequence[Record], sources: Sequence[Source], wanted: set[int] | None) -> tuple[tuple[Any, ...], list[Tensor]]:
    """The structure, and the leaves that gradients are asked for, in the order in which they are met."""
    positions: dict[Record, int] = {}
    found: dict[int, int] = {}
    leaves: list[Tensor] = []
    key: list[Any] = []

    def place(source: Any) -> Any:
        if type(source) is Output:
            return (positions[source.record], source.number) if source.record in positions else None
        if source is None or isinstance(source, int | float) or (wanted is not None and id(source) not in wanted):
            return None
        number = found.get(id(source))
        if number is None:
            number = found[id(source)] = -1 - len(leaves)
            leaves.append(source)
        return number

    for number, record in enumerate(records):
        key.append(record.signature)
        for source in record.inputs:
            position = positions.get(source)  # pyright: ignore[reportArgumentType, reportCallIssue]
            key.append(place(source) if position is None else position)
        positions[record] = number
    for source in sources:
        position = positions.get(source)  # pyright: ignore[reportArgumentType, reportCallIssue]
        key.append(place(source) if position is None else position)
    return tuple(key), leaves


def _compile(entry: Entry, records: Sequence[Record], sources: Sequence[Source], leaves: Sequence[Tensor]) -> None:
    """Derives and compiles the reverse of the whole tape."""
    from wengert.eager.derive import backward_module

    segment, origins = segment_of(records, sources, leaves)
    module, kept = backward_module(segment)
    types = {value: dtype for value, (_, dtype) in _types(records, origins).items()}
    entry.arguments = [(*origins[value], types[value]) for value in kept]
    entry.program = Prepared(module, f"backward of {len(records)} records", 0)


def _types(records: Sequence[Record], origins: dict[int, tuple[int, int]]) -> dict[int, Type]:
    found: dict[int, Type] = {}
    for value, (i, j) in origins.items():
        signature = records[i].signature
        found[value] = (*signature.types, *signature.results)[signature.keeps[j]]
    return found


def segment_of(records: Sequence[Record], sources: Sequence[Source], leaves: Sequence[Tensor]) -> tuple[Any, dict[int, tuple[int, int]]]:
    """The records, which may be some of a tape only, as a segment whose values are numbered, and for each value that was kept, by which record and as which."""
    from wengert.eager.derive import Segment, Step

    numbers: dict[Any, int] = {id(leaf): i for i, leaf in enumerate(leaves)}
    inputs: dict[int, Type] = {i: (leaf.array.shape, leaf.array.dtype) for i, leaf in enumerate(leaves)}
    first: dict[Record, int] = {}
    count = len(leaves)
    steps: list[Step] = []
    origins: dict[int, tuple[int, int]] = {}

    def value_of(source: Source, type: Type) -> int:
        nonlocal count
        if isinstance(source, Record) and source in first:
            return first[source]
        if isinstance(source, Output) and source.record in first:
            return first[source.record] + source.number
        known = numbers.get(id(source)) if source is not None and not isinstance(source, int | float) else None
        if known is None:
            known = count
            inputs[known] = type
            count += 1
        return known

    for i, record in enumerate(records):
        signature = record.signature
        operands = tuple(value_of(s, t) for s, t in zip(record.inputs, signature.types, strict=True))
        results = tuple(range(count, count + len(signature.results)))
        first[record] = count
        count += len(results)
        steps.append(Step(signature.operation, signature.params, operands, results, record.place))
        for j, position in enumerate(signature.keeps):
            origins.setdefault((*operands, *results)[position], (i, j))
    roots = [value_of(s, ((), np.dtype(np.float32))) for s in sources]
    return Segment(inputs, steps, roots, range(len(leaves)), list(origins)), origins
