"""Excerpts of a module: the ops that a selector names, and what was derived from them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.ir.location.locations import provenance
from wengert.ir.location.places import describe
from wengert.ir.traversal import all_ops
from wengert.lab.inspection.printed import printed
from wengert.lab.inspection.selectors import FORMS, Names
from wengert.runtime.errors import InputError


def excerpt_of(selector: str) -> Callable[[ModuleOp], str]:
    """A function that gives the lines of the ops of a module that a selector names; of ``op:tanh`` also those that are derived from such ops.

    A line says where the op stands in the module, and its source. What a selector does not find in a module is not there, which is no error: it may come
    with a later pass. Raises InputError for what is no selector.
    """
    if not any(selector.startswith(start) for start in ("%", "op:", "role:", "result:", "arg", "loc(", "@")) and not selector.rpartition(":")[2].isdigit():
        raise InputError(f"{selector!r} selects nothing: a selector is {FORMS}")

    def excerpt(module: ModuleOp) -> str:
        chosen = dict.fromkeys(_selected(module, selector))
        text = printed(module)
        shown = [op for op in all_ops(module) if op in chosen and op in text.starts]
        lines = [f"{text.line_of(op)}  // {_where(op)}" for op in shown]
        return "\n".join(lines)

    return excerpt


def _selected(module: ModuleOp, selector: str) -> list[Operation]:
    try:
        ops = [selected.op for selected in Names(module).select(selector)]
    except InputError:
        ops = []
    pattern = selector.removeprefix("op:")
    if pattern != selector:
        ops += [op for op in all_ops(module) if (known := provenance(op.location)) is not None and _matches(known.op_name, pattern)]
    return ops


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[2], pattern)


def _where(op: Operation) -> str:
    known = provenance(op.location)
    role = "" if known is None or known.role == "primal" else f"{known.role} of {known.op_name}, "
    return f"{role}{describe(op.location)}"
