"""``python -m benchmarks.torch_operations [NAMES] [--write] [--samples 2]``: which of PyTorch's operations exports may have, and whether they are right.

The operations and their sample inputs are those of PyTorch's own database, as in :mod:`benchmarks.eager_operations`, in float64. Each sample is
exported (``torch.export``), imported (``wg.from_torch``) and run by the interpreter; values are compared with PyTorch's, and the gradients of all
results by all operands that have them, for given cotangents. An operation is *right* if all its samples are; *refused* if the import or the
derivative of one is an error; *not exported* if PyTorch itself does not export one (its result has a shape that depends on data, or it asks what elements
are); *wrong* if a value or a gradient differs.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.eager_operations import FAMILIES, Outcome, cotangents, database, difference, family, is_random, samples
from torch.utils import _pytree as pytree

import wengert as wg

DOCUMENT = Path(__file__).parents[1] / "docs" / "torch_programs.md"
BEGIN, END = "<!-- operations -->\n", "<!-- end of operations -->\n"
COLUMNS = ("right", "not exported", "refused", "wrong gradient", "wrong value")


class _Sample(torch.nn.Module):
    """An operation on a sample, whose tensors are the inputs."""

    def __init__(self, op: Any, sample: Any):
        super().__init__()
        self.op, self.process = op, sample.output_process_fn_grad
        self.leaves, self.tree = pytree.tree_flatten((sample.input, list(sample.args), dict(sample.kwargs)))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)]

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = list(self.leaves)
        for place, x in zip(self.places, inputs, strict=True):
            leaves[place] = x
        given, args, keywords = pytree.tree_unflatten(leaves, self.tree)
        made = pytree.tree_flatten(self.process(self.op.op(given, *args, **keywords)))[0]
        return tuple(x for x in made if isinstance(x, torch.Tensor))


def _array(x: torch.Tensor) -> Any:
    return x.detach().resolve_conj().resolve_neg().numpy(force=True)


def _exported(module: _Sample, inputs: Sequence[torch.Tensor]) -> Any:
    try:
        return torch.export.export(module, tuple(x.detach() for x in inputs))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def compared(op: Any, sample: Any) -> tuple[str, str]:
    """The status of one sample, and a note."""
    module = _Sample(op, sample)
    inputs = [module.leaves[i] for i in module.places]
    try:
        expected = module(*inputs)
    except Exception as error:  # a sample that PyTorch refuses
        return "right", str(error)
    if not expected:
        return "right", "no tensors"
    exported = _exported(module, inputs)
    if isinstance(exported, str):
        return "not exported", exported
    of = [j for j, y in enumerate(expected) if y.requires_grad] if op.supports_autograd else []
    wrt = [i for i, x in enumerate(inputs) if x.requires_grad] if of else []
    try:
        imported = wg.from_torch(exported, seed=0)
        arguments = imported.arguments(*(x.detach() for x in inputs))
        bars = [bar.astype(_array(expected[j]).dtype) for bar, j in zip(cotangents([expected[j] for j in of]), of, strict=True)]
        first = len(imported.parameters) + len([b for b in imported.buffers if b != "random state"])
        program = imported.program.vjp([first + i for i in wrt], of) if of else imported.program
        actual = program.compile("interpreter")(*arguments, *(np.conj(bar) for bar in bars))
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    is_exact = not is_random(op, sample)
    if note := difference(list(actual[: len(expected)]), list(expected), is_exact):
        return "wrong value", note
    if not of or not is_exact:
        return "right", ""
    reference = torch.autograd.grad([expected[j] for j in of], [inputs[i] for i in wrt], [torch.tensor(bar) for bar in bars], allow_unused=True)
    theirs = [np.zeros(inputs[i].shape, _array(inputs[i]).dtype) if g is None else _array(g) for i, g in zip(wrt, reference, strict=True)]
    note = difference([np.conj(x) for x in actual[len(actual) - len(wrt) :]], theirs)
    return ("wrong gradient", note) if note else ("right", "")


def outcome(op: Any, most: int) -> Outcome:
    """What comes of an operation on its samples."""
    worst = Outcome(f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name, "right")
    for sample in samples(op, most):
        status, note = compared(op, sample)
        if COLUMNS.index(status) > COLUMNS.index(worst.status):
            worst = Outcome(worst.name, status, note)
    return worst


def table(outcomes: Sequence[Outcome]) -> str:
    """How many are right, by family, and the names of the others."""
    lines = [f"| operations | all | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name in (*FAMILIES, "others", "all"):
        chosen = [o for o in outcomes if name == "all" or family(o.name) == name]
        counts = Counter(o.status for o in chosen)
        lines.append(f"| {name} | {len(chosen)} | {' | '.join(str(counts[c]) for c in COLUMNS)} |")
    others = {status: sorted(o.name for o in outcomes if o.status == status) for status in COLUMNS[1:]}
    lines += [f"\n*{status}*: {', '.join(f'`{n}`' for n in names)}." for status, names in others.items() if names]
    return "\n".join(lines) + "\n"


def run(names: Sequence[str], most: int) -> Iterator[Outcome]:
    """The outcomes of all operations, or of those named."""
    torch.manual_seed(0)
    for op in database():
        if not names or op.name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield outcome(op, most)
            torch._dynamo.reset()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="operations, by PyTorch's names; all by default")
    parser.add_argument("--samples", type=int, default=2, help="the most samples of each operation")
    parser.add_argument("--write", action="store_true", help="put the table into docs/torch_programs.md")
    options = parser.parse_args(arguments)
    outcomes: list[Outcome] = []
    for o in run(options.names, options.samples):
        outcomes.append(o)
        if o.status != "right" or options.names:
            print(f"{o.name:45} {o.status:15} {' '.join(o.note.split())[:160]}", flush=True)
    print(dict(Counter(o.status for o in outcomes)))
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + table(outcomes) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
