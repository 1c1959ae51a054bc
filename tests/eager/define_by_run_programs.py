"""Random define-by-run programs on PyTorch and on wengert.eager: the same lines raise, and after each all tensors, flags and gradients are alike.

PYTHONPATH=tests:tests/eager python -m define_by_run_programs --seconds 600 --first 1000000     # explores; what differs is reduced and printed
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from define_by_run_lines import Lines

import wengert.eager as eager

LARGE = 1e6
"""Programs with numbers beyond this are left out: their rounding is seen in everything."""
TOLERANCE = 1e-8

OURS_ALONE = (
    "windows of the tensor overlap",
    "it was expanded",
    "of an expanded one",
    "or another view of its base",
    "a second time",
    "needed for gradient computation has been modified",
)
"""Errors of ours where PyTorch goes on: changes in place of what is several elements at once, and operands that are kept where PyTorch keeps the result."""
THEIRS_ALONE = (
    "unsupported operation:",
    "needed for gradient computation has been modified",
    "does not require grad",
    "second time",
    "view size is not compatible",
)
"""Errors of PyTorch's where we go on: memory that overlaps, results that are kept where we keep an operand, gradients that are constant."""


@dataclass(frozen=True)
class Difference:
    """What differs first.

    Attributes:
        kind: of the difference, in a word.
        line: the line behind which it was seen.
        text: what each side has.
    """

    kind: str
    line: str
    text: str


class StoppedError(Exception):
    """A side raised where the other need not: nothing behind that is compared."""


def drawn(seed: int) -> list[str]:
    """The lines of a program: inputs, what is done with them, and a few backward passes. Lines that PyTorch refuses are among them."""
    random = Random(seed)
    lines, space = Lines(random), {"T": torch}
    program = [lines.leaf(k) for k in range(random.randint(1, 3))]
    for line in program:
        exec(line, space)
    for _ in range(random.randint(3, 14)):
        tensors = {name: tuple(x.shape) for name, x in space.items() if isinstance(x, torch.Tensor) and name[0] in "xv"}
        program.append(lines.line(tensors))
        _raised(program[-1], space)
    ends = [name for name, x in space.items() if isinstance(x, torch.Tensor) and x.requires_grad]
    return [*program, *(f"({name} * {name}.detach().cos()).sum().backward(retain_graph=True)" for name in ends[-4:])]


def is_large(lines: list[str]) -> bool:
    """Whether numbers or gradients of a program become so large that rounding is seen."""
    space: dict[str, Any] = {"T": torch}
    for line in lines:
        _raised(line, space)
        tensors = [x for x in space.values() if isinstance(x, torch.Tensor)]
        values = [x.detach() for x in (*tensors, *(x.grad for x in tensors if x.requires_grad and _is_leaf(x) and x.grad is not None))]
        if any(x.numel() and float(x.abs().nan_to_num(0.0, 0.0, 0.0).max()) > LARGE for x in values):
            return True
    return False


def _is_leaf(x: torch.Tensor) -> bool:
    try:
        return x.is_leaf
    except RuntimeError:  # one of several views whose base was changed
        return False


def difference(lines: list[str]) -> Difference | None:
    """The first difference of the two sides."""
    theirs: dict[str, Any] = {"T": torch}
    ours: dict[str, Any] = {"T": eager}
    for line in lines:
        try:
            first = _after(line, _raised(line, theirs), _raised(line, ours), theirs, ours)
        except StoppedError:
            return None
        if first is not None:
            return first
    return None


def _raised(line: str, space: dict[str, Any]) -> Exception | None:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(line, space)
    except Exception as error:
        return error
    return None


def _after(line: str, their_error: Exception | None, our_error: Exception | None, theirs: dict[str, Any], ours: dict[str, Any]) -> Difference | None:
    if (their_error is None) != (our_error is None):
        known = OURS_ALONE if their_error is None else THEIRS_ALONE
        if any(text in str(our_error or their_error) for text in known):
            raise StoppedError
        return Difference("raises", line, f"PyTorch {their_error!r:.200}, ours {our_error!r:.300}")
    if their_error is not None and "backward" in line:  # how far it came is nobody's business
        raise StoppedError
    for name, x in theirs.items():
        if isinstance(x, torch.Tensor) and (text := _unlike(name, x, ours[name])):
            return Difference(text.partition(":")[0], line, f"{name}: {text}")
    return None


def _unlike(name: str, theirs: torch.Tensor, ours: eager.Tensor) -> str:
    """What is different about two tensors."""
    try:
        is_leaf = theirs.is_leaf
    except RuntimeError:  # one of several views whose base was changed
        raise StoppedError from None
    if name[0] != "g" and theirs.requires_grad != ours.requires_grad:
        return f"requires_grad: {theirs.requires_grad}, ours {ours.requires_grad}"
    if name[0] != "g" and is_leaf != ours.is_leaf:
        return f"is_leaf: {is_leaf}, ours {ours.is_leaf}"
    if text := _apart(theirs, ours):
        return f"value: {text}"
    if theirs.retains_grad != ours.retains_grad:
        return f"retains_grad: {theirs.retains_grad}, ours {ours.retains_grad}"
    if is_leaf or theirs.retains_grad:
        text = _apart(theirs.grad, ours.grad)
        return f"grad: {text}" if text else ""
    return ""


def _apart(theirs: torch.Tensor | None, ours: eager.Tensor | None) -> str:
    if theirs is None or ours is None:
        return "" if theirs is None and ours is None else f"{theirs}, ours {ours}"
    a, b = theirs.detach().numpy(), ours.detach().numpy()
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)}, ours {b.dtype}{list(b.shape)}"
    scale = max(1.0, float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))))
    return "" if np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True) else f"{a}, ours {b}"


def reduced(lines: list[str], kind: str) -> list[str]:
    """Fewer lines with a difference of this kind."""
    for k in reversed(range(len(lines))):
        fewer = lines[:k] + lines[k + 1 :]
        again = difference(fewer)
        if again is not None and again.kind == kind:
            lines = fewer
    return lines


def check(seed: int) -> str:
    """What differs in the program of a seed, with the reduced program; empty if nothing does."""
    lines = drawn(seed)
    if is_large(lines) or (first := difference(lines)) is None:
        return ""
    fewer = reduced(lines, first.kind)
    last = difference(fewer) or first
    return "\n".join([f"seed {seed}: {last.kind} behind {last.line!r}", *(f"    {line}" for line in fewer), f"  {last.text}"])


def set_up() -> None:
    """Both sides compute in float64, PyTorch on one thread."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    eager.set_default_dtype(eager.float64)


def main() -> int:
    """Explores seeds for a while; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (default: 60)")
    given = parser.parse_args()
    set_up()
    end, count, differing = time.monotonic() + given.seconds, 0, 0
    while time.monotonic() < end:
        if text := check(given.first + count):
            print(text, flush=True)
            differing += 1
        count += 1
    print(f"{count} programs, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
