"""Ops of our VJPs against those of JAX's own, program by program.

::

    python benchmarks/op_counts.py CORPUS/dev [--precision f64] [--strategy transpose|direct|both] [NAME...]

Beside every program of the corpus lies ``fNN.jax_vjp.mlir``, the VJP that JAX lowers. Both texts get the same treatment (core
level, ``simplify,cse,dce`` until nothing changes) and the same counter: every op is counted once where it stands, those in
regions of loops and branches included; constants, terminators and functions are not. Programs in which ours has more are
listed with the kinds of ops that exceed, the largest excess first.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.traits import IsTerminator

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.transforms.ad.requests.lower import lower_ad
from wengert.transforms.pipelines import FRONT, OPTIMIZE, parse_pipeline

UNCOUNTED = {"stablehlo.constant", "builtin.module", "func.func"}
ROUNDS = 4
"""At most so often is a module optimised; most are settled after one round."""


def op_counts(module: ModuleOp) -> Counter[str]:
    """The ops of @main by name, each counted once where it stands, without constants and terminators."""
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    return Counter(op.name for op in main.walk() if op.name not in UNCOUNTED and not op.has_trait(IsTerminator))


def settled(module: ModuleOp) -> ModuleOp:
    """The module optimised until its ops do not get fewer."""
    before = -1
    for _ in range(ROUNDS):
        module = parse_pipeline(OPTIMIZE).run(module)
        after = sum(op_counts(module).values())
        if after == before:
            break
        before = after
    return module


def plain(module: ModuleOp) -> ModuleOp:
    """A module at core level without declared derivatives, as both sides are counted."""
    lower_ad(module)
    return settled(parse_pipeline(FRONT).run(module))


def our_vjp(text: str, name: str, strategy: str) -> Counter[str]:
    """The op counts of our VJP of a program."""
    primal = parse_pipeline(f"{FRONT},{OPTIMIZE}").run(parse_module(text, name))
    return op_counts(plain(parse_pipeline(f"vjp{{strategy={strategy}}},{OPTIMIZE}").run(primal)))


def jax_vjp(text: str, name: str) -> Counter[str]:
    """The op counts of JAX's VJP."""
    return op_counts(plain(parse_pipeline(FRONT).run(parse_module(text, name))))


@dataclass(frozen=True)
class Comparison:
    """One program: its VJP's ops by us and by JAX."""

    program: str
    ours: Counter[str]
    theirs: Counter[str]

    @property
    def excess(self) -> int:
        """The number of ops that ours has more."""
        return self.ours.total() - self.theirs.total()

    def __str__(self) -> str:
        more = {name: n - self.theirs[name] for name, n in self.ours.items() if n > self.theirs[name]}
        less = {name: self.ours[name] - n for name, n in self.theirs.items() if self.ours[name] < n}
        kinds = ", ".join(f"{name.removeprefix('stablehlo.')} {n:+d}" for name, n in sorted((more | less).items(), key=lambda item: -item[1]))
        return f"{self.program:<28} {self.ours.total():>6} {self.theirs.total():>6} {self.excess:>+6}  {kinds}"


def compare(folder: Path, precision: str, strategy: str) -> Comparison | None:
    """One program of the corpus, or None where JAX has no VJP."""
    theirs = folder / f"{precision}.jax_vjp.mlir"
    if not theirs.exists():
        return None
    ours = our_vjp((folder / f"{precision}.mlir").read_text(), folder.name, strategy)
    return Comparison(folder.name, ours, jax_vjp(theirs.read_text(), theirs.name))


def programs(corpus: Path, names: Iterable[str]) -> list[Path]:
    """The folders of the programs that have one of these names, or all."""
    wanted = set(names)
    return sorted(path.parent for path in corpus.glob("*/meta.json") if not wanted or path.parent.name in wanted)


def main() -> int:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--precision", default="f64")
    parser.add_argument("--strategy", default="transpose", choices=["transpose", "direct", "both"])
    options = parser.parse_args()
    strategies = ["transpose", "direct"] if options.strategy == "both" else [options.strategy]
    for strategy in strategies:
        _report(options.corpus, options.names, options.precision, strategy)
    return 0


def _report(corpus: Path, names: list[str], precision: str, strategy: str) -> None:
    comparisons: list[Comparison] = []
    for folder in programs(corpus, names):
        try:
            if (comparison := compare(folder, precision, strategy)) is not None:
                comparisons.append(comparison)
        except DiagnosticError as error:
            print(f"{folder.name}: {error}", file=sys.stderr)
    more = sorted((c for c in comparisons if c.excess > 0), key=lambda c: -c.excess)
    ours, theirs = (sum(side.total() for side in sides) for sides in zip(*((c.ours, c.theirs) for c in comparisons), strict=True))
    print(f"strategy {strategy}: {len(comparisons)} programs, {ours} ops of ours, {theirs} of JAX; ours has more in {len(more)}")
    print(f"{'program':<28} {'ours':>6} {'JAX':>6} {'excess':>6}")
    for comparison in more:
        print(comparison)


if __name__ == "__main__":
    sys.exit(main())
