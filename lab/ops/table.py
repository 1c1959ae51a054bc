"""The table of all ops by what can be done with them, as text and as the page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.lab.ops import chlo_examples, stablehlo_examples
from wengert.lab.ops.attempt import CALLED, COLUMNS, NOTHING, REFUSED, Row, attempt
from wengert.lab.ops.example import Example
from wengert.lab.ops.names import CHLO, OPS, STABLEHLO

EXAMPLES: dict[str, Example] = {example.op: example for example in (*stablehlo_examples.EXAMPLES, *chlo_examples.EXAMPLES)}
"""The program about each op, by the op's name."""


def row_of(name: str) -> Row:
    """The table row of the op of this name, tried now."""
    return attempt(name, EXAMPLES.get(name))


def rows(names: Iterable[str] = OPS) -> list[Row]:
    """The rows of these ops."""
    return [row_of(name) for name in names]


_HEAD = f"""# Ops of StableHLO and CHLO

What can be done with each op: it is parsed in both forms and printed so that JAX reads it, verified by StableHLO's constraints, run by the interpreter,
compiled for the CPU, differentiated in forward and in reverse mode, batched, and compiled for a GPU. This page is written by `wengert ops --markdown`, which
tries each of these on a small program about the op; `wengert ops NAME` tries one op and shows its program. The tests hold this page to what is tried.

- **yes**: it was done, and agreed with what it is compared with: compiled code with the interpreter, reverse mode with forward mode, a batch with its
  elements one by one. *GPU* is PTX for NVIDIA's devices in the [interpreter of PTX](ptx_interpreter.md), which checks every access, and no device.
- **{CALLED}**: compiled code calls the interpreter for it; of a GPU, the op runs on the host.
- **{REFUSED}**: the op is refused by name and place; the last column says with what words.
- **no**: not there.
- **{NOTHING}**: there is nothing to do: no argument or no result of the op's program is of floating point.

## Tuples and tokens

Arguments and results may be tuples and tokens. They are passed and returned flat: a tuple as the tensors in it, one after the other, and a token as
nothing; positions (`wrt`, `of`, axes of `vmap`) count the tensors. The signature of a program lists them, with names such as `state[0][1]`. The text of the
program stays as it was written; its derivatives have tensors only.

    func.func public @main(%t: tuple<tensor<2xf64>, tuple<!stablehlo.token, tensor<f64>>>, %k: !stablehlo.token) -> ...

is called as `p(x, y)` and differentiated by `y` with `p.vjp(wrt=1)`.

## One device

Programs run on [many devices](many_devices.md) too. The program about an op is run on one, which is device 0, replica 0 and partition 0.
`replica_id` and `partition_id` are 0 there. A collective whose group is
device 0 alone, or which names no group (all devices), gives its operand; `collective_permute` and `collective_broadcast` give zeros where nobody sends to
device 0. An asynchronous op is run where it starts. A collective that needs another device is refused by name and place, with the devices that it needs; so is
what reaches out of the program: `send`, `recv`, `infeed` and `outfeed`.
"""


def markdown(table_rows: Sequence[Row]) -> str:
    """The page of the documentation."""
    parts = [_HEAD]
    for title, names in (("StableHLO", STABLEHLO), ("CHLO", CHLO)):
        of_dialect = [row for row in table_rows if row.op in names]
        parts.append(f"\n## {title}\n\n| op | {' | '.join(COLUMNS)} | |\n|---|{'---|' * (len(COLUMNS) + 1)}\n")
        parts += [markdown_line(row) + "\n" for row in of_dialect]
    return "".join(parts)


def markdown_line(row: Row) -> str:
    """One row of the page."""
    notes = "; ".join(row.notes).replace("|", "\\|")
    return f"| `{row.op.partition('.')[2]}` | {' | '.join(row.cells[c] for c in COLUMNS)} | {notes} |"
