"""The table of instructions: for each opcode what is modelled of it, and what makes it executable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.runtime.ptx.instructions.context import Context, Step

Build = Callable[["Context"], "Step"]


@dataclass(frozen=True)
class Entry:
    """An opcode: its family, the forms of it that are modelled in the notation of the PTX ISA, and its builder."""

    opcode: str
    family: str
    forms: str
    build: Build


TABLE: dict[str, Entry] = {}


def models(*opcodes: str, family: str, forms: str) -> Callable[[Build], Build]:
    """Enters the decorated builder for opcodes."""

    def enter(build: Build) -> Build:
        for opcode in opcodes:
            assert opcode not in TABLE, f"{opcode} is modelled twice"
            TABLE[opcode] = Entry(opcode, family, forms, build)
        return build

    return enter


def markdown() -> str:
    """The table as it stands in the documentation."""
    families: dict[str, dict[str, list[str]]] = {}
    for entry in TABLE.values():
        families.setdefault(entry.family, {}).setdefault(entry.forms, []).append(entry.opcode)
    lines = ["| instructions | modelled forms |", "| --- | --- |"]
    for family, rows in families.items():
        lines.append(f"| **{family}** | |")
        lines += [f"| {' '.join(f'`{opcode}`' for opcode in opcodes)} | {forms} |" for forms, opcodes in rows.items()]
    return "\n".join(lines) + "\n"
