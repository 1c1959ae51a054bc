"""``python -m benchmarks.eager_operations [NAMES] [--write] [--samples 4]``: which of PyTorch's operations define-by-run code has, and whether they are right.

The operations and their sample inputs are those of PyTorch's own database (``torch.testing._internal.common_methods_invocations.op_db``, which
needs the package ``expecttest``). Each sample is run on both sides in float64: values are compared, and the gradients of all
operands that have them. An operation is *right* if all its samples are; *refused* if one raises an error; *wrong* if a value or a gradient
differs; *missing* if there is no such function.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import wengert.eager as eager
import wengert.nn as nn

DOCUMENT = Path(__file__).parents[1] / "docs" / "define_by_run.md"
BEGIN, END = "<!-- operations -->\n", "<!-- end of operations -->\n"
UNDEFINED = (
    "empty",
    "new_empty",
    "rand",
    "uniform",
    "normal",
    "bernoulli",
    "exponential",
    "geometric",
    "cauchy",
    "log_normal",
    "multinomial",
    "dropout",
    "rrelu",
    "fractional_max_pool",
    "resize",
)
"""Operations whose elements are random, or whatever memory holds: shapes and dtypes are compared."""
FAMILIES = ("linalg", "fft", "special", "nn.functional", "masked", "signal.windows")


@dataclass(frozen=True)
class Outcome:
    """What came of one operation."""

    name: str
    status: str
    note: str = ""


# -- the database


def database() -> Sequence[Any]:
    """PyTorch's operations; an ImportError where ``expecttest`` is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db

        return [op for op in op_db if not op.name.startswith(("jiterator", "torch.", "sparse.", "_", "to_sparse"))]


def samples(op: Any, most: int) -> Iterator[Any]:
    """Its sample inputs."""
    yield from islice(op.sample_inputs("cpu", torch.float64, requires_grad=bool(op.supports_autograd)), most)


def is_random(op: Any, sample: Any) -> bool:
    """Whether the elements of its result are random, or undefined."""
    if op.name.endswith("multi_head_attention_forward"):
        return bool(sample.args[9])  # dropout_p
    return op.name.rpartition(".")[2].startswith(UNDEFINED) or "dropout" in op.name or bool(sample.kwargs.get("dropout_p"))


# -- our side

COMPOSED: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "nn.functional.embedding": lambda f: lambda weight, index, **keywords: f(index, weight, **keywords),
    "nn.functional.embedding_bag": lambda f: lambda weight, index, *args, **keywords: f(index, weight, *args, **keywords),
    "where": lambda f: lambda x, condition, other: f(condition, x, other),
    "einsum": lambda f: lambda operands, equation: f(equation, *operands),
    "zero_": lambda f: lambda x: x.clone().zero_(),
    "svd_lowrank": lambda f: lambda a, b, **keywords: f(a @ b.mT, **keywords),
    "pca_lowrank": lambda f: lambda a, b, **keywords: f(a @ b.mT, **keywords),
    "linalg.lstsq.grad_oriented": lambda f: lambda a, b, driver: f(a, b, driver=driver)[:2],
    "normal.in_place": lambda f: lambda x, mean, std: f(mean, std, x.shape).to(x.dtype),
    "normal.number_mean": lambda f: lambda std, mean, *size, **keywords: f(mean, std, *size, **keywords),
    "linalg.pinv.singular": lambda f: lambda a, b: f(a @ b.mT),
}
"""What the database calls in these cases is not the function itself, but this of it."""


def function(op: Any) -> Callable[..., Any] | None:
    """Our function of this name, or the method; None if there is none."""
    place: Any = eager
    *folders, name = op.name.split(".")
    if folders == ["nn", "functional"]:
        place = nn
    elif folders:
        for folder in folders:
            place = getattr(place, folder, None)
    function = getattr(place, name, None) if place is not None else None
    if callable(function):
        return function
    return getattr(eager.Tensor, name, None) if not folders else None


def ours(value: Any, leaves: list[Any]) -> Any:
    """A sample's value as ours; tensors that require gradients are noted."""
    if isinstance(value, torch.Tensor):
        made = eager.tensor(value.detach().resolve_conj().resolve_neg().numpy())
        if value.requires_grad:
            made.requires_grad_()
            leaves.append((value, made))
        return made
    if isinstance(value, torch.dtype):
        return np.dtype(str(value).removeprefix("torch.").replace("bfloat16", "float32"))
    if isinstance(value, torch.nn.PairwiseDistance):
        return lambda x, y: nn.pairwise_distance(x, y, value.norm, value.eps, value.keepdim)
    if callable(value) and getattr(value, "__module__", "").startswith("torch.nn"):
        return getattr(nn, value.__name__, value)
    if isinstance(value, list | tuple):
        return type(value)(ours(v, leaves) for v in value) if type(value) in (list, tuple) else tuple(ours(v, leaves) for v in value)
    if isinstance(value, dict):
        return {k: ours(v, leaves) for k, v in value.items()}
    return value


# -- comparing


def flat(value: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    if isinstance(value, list | tuple):
        return [x for v in value for x in flat(v)]
    return [value]


def array(value: Any) -> Any:
    """A tensor as an array."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().numpy(force=True)
    return value.detach().numpy() if isinstance(value, eager.Tensor) else np.asarray(value)


def difference(actual: Any, expected: Any, exact: bool = True) -> str:
    """How two results differ; empty if they do not."""
    given, wanted = flat(actual), flat(expected)
    if len(given) != len(wanted):
        return f"{len(given)} results, PyTorch {len(wanted)}"
    for a, e in zip(map(array, given), map(array, wanted), strict=True):
        if a.shape != e.shape or a.dtype != e.dtype:
            return f"{a.dtype}{list(a.shape)}, PyTorch {e.dtype}{list(e.shape)}"
        tolerance = 1e-6 if e.dtype in (np.float64, np.complex128) else 1e-3
        if exact and not np.allclose(a, e, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"differs by {np.max(np.abs(np.asarray(a, np.complex128) - e)):.1e}"
    return ""


def cotangents(results: Sequence[Any]) -> list[Any]:
    """Numbers that tell elements apart, for each differentiable result."""
    phases = [np.arange(x.size, dtype=np.float64).reshape(x.shape) for x in map(array, results)]
    return [np.exp(1j * p) if array(x).dtype.kind == "c" else np.cos(p).astype(array(x).dtype) for p, x in zip(phases, results, strict=True)]


def gradients(namespace: Any, value: Any, leaves: Sequence[Any]) -> list[Any]:
    """The gradients of all leaves, zeros where there are none."""
    results = [x for x in flat(value) if getattr(x, "requires_grad", False)]
    if not results or not leaves:
        return []
    given = [namespace.tensor(c) for c in cotangents(results)]
    gradients = namespace.autograd.grad(results, leaves, given, allow_unused=True)
    return [np.zeros(array(x).shape, array(x).dtype) if g is None else array(g) for x, g in zip(leaves, gradients, strict=True)]


def compared(op: Any, call: Callable[..., Any], sample: Any) -> tuple[str, str]:
    """The status of one sample, and a note."""
    try:
        expected = op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        return "right", str(error)
    pairs: list[Any] = []
    try:
        given = ours((sample.input, list(sample.args), dict(sample.kwargs)), pairs)
        actual = call(given[0], *given[1], **given[2])
        exact = not is_random(op, sample)
        note = difference(*map(sample.output_process_fn_grad, (actual, expected)), exact)
        if note or not exact:
            return ("wrong value", note) if note else ("right", "")
        if op.supports_autograd:
            theirs = gradients(torch, sample.output_process_fn_grad(expected), [t for t, _ in pairs])
            own = gradients(eager, sample.output_process_fn_grad(actual), [m for _, m in pairs])
            note = difference(own, theirs) if own or not theirs else "no gradient"
            return ("wrong gradient", note) if note else ("right", "")
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    return "right", ""


def outcome(op: Any, most: int) -> Outcome:
    """What comes of an operation on its samples."""
    name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
    call = function(op)
    call = COMPOSED[name](call) if call is not None and name in COMPOSED else call
    if call is None:
        return Outcome(name, "missing")
    worst = Outcome(name, "right")
    order = ["right", "refused", "wrong gradient", "wrong value"]
    for sample in samples(op, most):
        status, note = compared(op, call, sample)
        if order.index(status) > order.index(worst.status):
            worst = Outcome(name, status, note)
    return worst


# -- the table


def family(name: str) -> str:
    """What an operation is listed under."""
    return next((f for f in FAMILIES if name.startswith(f + ".")), "others")


def table(outcomes: Sequence[Outcome]) -> str:
    """How many are right, by family, and the names of the others."""
    columns = ["right", "refused", "wrong gradient", "wrong value", "missing"]
    lines = [f"| operations | all | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for name in (*FAMILIES, "others", "all"):
        chosen = [o for o in outcomes if name == "all" or family(o.name) == name]
        counts = Counter(o.status for o in chosen)
        lines.append(f"| {name} | {len(chosen)} | {' | '.join(str(counts[c]) for c in columns)} |")
    for status in columns[1:]:
        names = sorted(o.name for o in outcomes if o.status == status)
        if names:
            lines.append(f"\n*{status}*: {', '.join(f'`{n}`' for n in names)}.")
    return "\n".join(lines) + "\n"


def run(names: Sequence[str], most: int) -> list[Outcome]:
    """The outcomes of all operations, or of those named."""
    torch.manual_seed(0)
    eager.manual_seed(0)
    chosen = [op for op in database() if not names or op.name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [outcome(op, most) for op in chosen]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="operations, by PyTorch's names; all by default")
    parser.add_argument("--samples", type=int, default=4, help="the most samples of each operation")
    parser.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    parser.add_argument("--write", action="store_true", help="put the table into docs/define_by_run.md")
    options = parser.parse_args(arguments)
    outcomes = run(options.names, options.samples)
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + table(outcomes) + END + rest.partition(END)[2])
    elif options.markdown:
        print(table(outcomes))
    else:
        for o in outcomes:
            print(f"{o.name:45} {o.status:15} {o.note[:140]}")
        print(dict(Counter(o.status for o in outcomes)))


if __name__ == "__main__":
    main()
