"""Finds registers that may be read before anything was written to them.

A forward analysis over the branches of a kernel: a register is surely written at an instruction if it is on every way there. Only reads for which
that does not hold are checked while the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wengert.runtime.ptx.program import Address, Instruction, Operand, Register, Target, Targets, flat

_WITHOUT_RESULT = ("bra", "brx", "nanosleep")


@dataclass(frozen=True)
class Definitions:
    """The registers of a kernel, and what is known of them.

    Attributes:
        undefined: by position, the registers that the instruction there may read too early.
        unread: the registers that no instruction reads.
        swapped: the addresses of ``atom.cas``.
    """

    undefined: dict[int, frozenset[str]]
    unread: frozenset[str]
    swapped: frozenset[Operand]

    @property
    def tracked(self) -> frozenset[str]:
        """The registers for which it must be recorded who has written them."""
        return frozenset(name for names in self.undefined.values() for name in names)


def written(instruction: Instruction) -> set[str]:
    """The registers that an instruction writes."""
    operands = instruction.operands
    if not operands or instruction.opcode in _WITHOUT_RESULT or isinstance(operands[0], Address):
        return set()
    if instruction.opcode in ("bar", "barrier") and "red" not in instruction.modifiers:
        return set()
    return {o.name for o in flat(operands[0]) if isinstance(o, Register)}


def read(instruction: Instruction) -> set[str]:
    """The registers that an instruction reads, its guard included."""
    operands = instruction.operands[1 if written(instruction) else 0 :]
    names = {o.name for operand in operands for o in flat(operand) if isinstance(o, Register)}
    return names | {instruction.guard.register.name} if instruction.guard else names


def successors(position: int, instruction: Instruction) -> list[int]:
    """The positions that may follow."""
    positions = [position + 1] if instruction.guard or instruction.opcode not in ("bra", "brx", "ret", "exit", "trap") else []
    for operand in instruction.operands:
        if isinstance(operand, Target):
            positions.append(operand.position)
        elif isinstance(operand, Targets):
            positions += operand.positions
    return positions


def analyse(instructions: Sequence[Instruction]) -> Definitions:
    """The registers that may be read too early, and those that are never read."""
    writes, reads = [written(i) for i in instructions], [read(i) for i in instructions]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for names in (*writes, *reads) for name in sorted(names)))}
    surely = [0 if i.guard else _bits(names, numbers) for i, names in zip(instructions, writes)]
    before = _solve(instructions, surely, (1 << len(numbers)) - 1)
    undefined: dict[int, frozenset[str]] = {}
    for position, names in enumerate(reads):
        known = before[position]
        early = frozenset(name for name in names if known is not None and not known >> numbers[name] & 1)
        if early:
            undefined[position] = early
    all_reads = {name for names in reads for name in names}
    swapped = frozenset(i.operands[1] for i in instructions if i.opcode == "atom" and "cas" in i.modifiers and len(i.operands) > 1)
    return Definitions(undefined, frozenset(set(numbers) - all_reads), swapped)


def _bits(names: set[str], numbers: dict[str, int]) -> int:
    return sum(1 << numbers[name] for name in names)


def _solve(instructions: Sequence[Instruction], surely: list[int], everything: int) -> list[int | None]:
    """The sets of registers that are surely written before each instruction; None where nothing leads."""
    leaders = sorted(_leaders(instructions))
    ends = dict(zip(leaders, [*leaders[1:], len(instructions)]))
    entry: dict[int, int] = {0: 0}
    waiting = [0]
    while waiting:
        leader = waiting.pop()
        known = entry[leader]
        for position in range(leader, ends[leader]):
            known |= surely[position]
        last = ends[leader] - 1
        for after in successors(last, instructions[last]):
            if after < len(instructions) and entry.get(after, everything + 1) != (merged := known & entry.get(after, everything)):
                entry[after] = merged
                waiting.append(after)
    before: list[int | None] = [None] * len(instructions)
    for leader, known in entry.items():
        for position in range(leader, ends[leader]):
            before[position] = known
            known |= surely[position]
    return before


def _leaders(instructions: Sequence[Instruction]) -> Iterator[int]:
    leaders = {0}
    for position, instruction in enumerate(instructions):
        after = successors(position, instruction)
        if after != [position + 1]:
            leaders.update(p for p in (*after, position + 1) if p < len(instructions))
    yield from leaders
