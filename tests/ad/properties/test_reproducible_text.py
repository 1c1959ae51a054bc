"""Equal programs have equal derivatives and equal code, letter by letter, wherever their objects lie in memory.

Records of experiments are kept by the hash of the IR, and machine code by the hash of the LLVM text: an order that follows from
addresses (that of a set of values) would change both from run to run.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from reference_programs import PROGRAMS, needs_corpus, share

from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.loading import load
from wengert.runtime.program import Program
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.lowering import placed
from wengert.transforms.schedule.host import host

FORMS: dict[str, Callable[[Program], Program]] = {
    "primal": lambda p: p,
    "jvp": lambda p: p.jvp(),
    "vjp": lambda p: p.vjp(),
    "vjp direct": lambda p: p.vjp(strategy="direct"),
    "hvp": lambda p: p.vjp().jvp(),
    "batched vjp": lambda p: p.vjp().vmap(size=3),
}


def texts(program: Program) -> dict[str, tuple[str, str]]:
    """The derivatives of a program at core level, and as LLVM text."""
    texts_by_form: dict[str, tuple[str, str]] = {}
    for name, make in FORMS.items():
        module = runnable(make(program).optimized_module)
        texts_by_form[name] = str(module), generate(placed(core_form(module)), host().target).text
    return texts_by_form


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(
    "program", share([p for p in PROGRAMS if "stablehlo.while" in p.meta["ops"] or "stablehlo.case" in p.meta["ops"]], 4), ids=lambda p: p.name
)
def test_text_does_not_depend_on_addresses(program: CorpusProgram) -> None:
    path = program.path("f64")
    first, kept = load(path), []
    wanted = texts(first)
    for count in (1000, 3001):
        kept.append([object() for _ in range(count)][::3])  # so that what follows lies elsewhere
        again = load(path)
        kept.append([again])
        assert texts(again) == wanted
