"""Choices of strategies that were made before, in this process or another, by the identities of programs (:mod:`wengert.runtime.identity`).

What is predicted depends on the compiler, on the model of the machine, and on the number of threads; what was measured on the machine. All of it is in the
name of an entry, which lies beside the known programs. Nothing here imports IR, so that a known program's known Jacobian needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wengert.runtime import cache as disk
from wengert.runtime.identity import of_derived, stamps

if TYPE_CHECKING:
    from wengert.runtime.program import Program

How = Literal["predicted", "measured", "not measured"]
"""What an answer rests on: a prediction, a measurement, or a prediction where a measurement was possible and would have taken too long."""
Question = Literal["jacobian", "mode", "hessian"]
"""Which plan to use for a Jacobian, which of its two modes, and which plan to use for a Hessian."""


def recalled(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], how: How) -> str | None:
    """The answer that was kept for a program, if there is one."""
    name = _entry(program, question, wrt, of, how)
    data = disk.read(name, disk.KNOWN) if name is not None else None
    return data.decode(errors="replace") if data is not None else None


def remember(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], how: How, answer: str) -> None:
    """Keeps an answer, if the program has an identity."""
    name = _entry(program, question, wrt, of, how)
    if name is not None:
        disk.write(name, answer.encode(), disk.KNOWN)


def _entry(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], how: How) -> str | None:
    identity = of_derived(program.identity, f"choice of {question}", f"{tuple(wrt)} {tuple(of)}")
    if identity is None:
        return None
    from wengert.runtime.cpu.thread_count import default_threads
    from wengert.runtime.machine_model import model_stamp
    from wengert.transforms.schedule.host import host

    model = "" if how == "measured" else str(model_stamp())
    return disk.key(identity, how, str(host()), str(default_threads()), model, _deciders())


@cache
def _deciders() -> str:
    """What tells the code that decides from another version of it."""
    lab = Path(__file__).parent.parent
    shipped = lab / "costs" / "machine_model.json"
    return disk.key(*stamps(lab / "strategies"), *stamps(lab / "costs"), str(shipped.stat().st_mtime_ns))
