"""The table of what is read of upstream MLIR, op by op, as a page of the documentation: made from the converters themselves.

``python -m wengert.lab.ops.upstream`` prints the table of ``docs/upstream.md``; a test holds the page to it.
"""

from __future__ import annotations

from importlib import import_module

from wengert.dialects.upstream.tables import FORMS
from wengert.transforms.upstream.affine import LOWERINGS
from wengert.transforms.upstream.convert.converter import ELEMENTWISE, REFUSED, Converter
from wengert.transforms.upstream.memrefs.buffers import WRITES
from wengert.transforms.upstream.memrefs.threading import HANDLERS as ON_BUFFERS
from wengert.transforms.upstream.memrefs.views import VIEWS
from wengert.transforms.upstream.requests import NAMES as REQUESTS

TERMINATORS = (
    "linalg.yield",
    "memref.alloca_scope.return",
    "memref.atomic_yield",
    "scf.condition",
    "scf.forall.in_parallel",
    "scf.reduce",
    "scf.reduce.return",
    "scf.yield",
    "tensor.parallel_insert_slice",
    "tensor.yield",
)
"""Ops that have a meaning with the op around them."""
DEFINITIONS = ("memref.global",)


def state_of(name: str) -> str:
    """The fate of an op: ``elementwise``, ``value``, ``buffer``, ``affine``, ``request``, ``part``, or ``refused``."""
    import_module("wengert.transforms.upstream.convert.handlers")
    if name in ON_BUFFERS or name in VIEWS or name in WRITES or name in DEFINITIONS:
        return "buffer"
    if name in REQUESTS:
        return "request"
    if name in LOWERINGS:
        return "affine"
    if name in TERMINATORS:
        return "part"
    if name in Converter.HANDLERS:
        return "elementwise" if name in ELEMENTWISE else "value"
    return "refused"


_MEANS = {
    "elementwise": "on scalars and tensors, and in bodies of `linalg.generic`",
    "value": "on values",
    "buffer": "on buffers, which become tensors",
    "affine": "as `scf` and `arith`",
    "request": "as a request for a derivative",
    "part": "with the op around it",
    "refused": "refused by name and place",
}


def table() -> str:
    """The table as Markdown: for each dialect, its ops by what becomes of them."""
    import_module("wengert.transforms.upstream.convert.handlers")
    lines = ["| dialect | what becomes of it | ops |", "|---|---|---|"]
    for dialect in sorted({name.partition(".")[0] for name in FORMS}):
        names = sorted(name for name in FORMS if name.startswith(f"{dialect}."))
        for state, meaning in _MEANS.items():
            ops = [name.partition(".")[2] for name in names if state_of(name) == state]
            if ops:
                lines.append(f"| `{dialect}` | {meaning} | {', '.join(f'`{op}`' for op in ops)} |")
    reasons = [f"- `{name}`: {why}" + (f" ({hint})" if hint else "") for name, (why, hint) in sorted(REFUSED.items())]
    return "\n".join([*lines, "", *reasons]) + "\n"


if __name__ == "__main__":
    print(table(), end="")
