"""The entry point of stock ``xdsl-opt``: our dialects and passes, each imported when it is first used.

xDSL refuses two passes of one name, and has a ``cse`` and a ``dce`` of its own; so where a name is taken, ours is reached
with the prefix ``wengert-``. Errors of our passes are diagnostics there too (:mod:`wengert.lab.stock_opt`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from wengert.dialects.registry import make_context
from wengert.ir.pipeline.passes import PASSES
from wengert.lab.stock_opt import note_places, stock_pass
from wengert.transforms.pipelines import PASS_PATHS

DIALECTS = ("ad", "chlo", "core", "kernel", "stablehlo")
PREFIX = "wengert-"


def _dialect_loader(name: str) -> Callable[[], Dialect]:
    return lambda: make_context().get_dialect(name)


def _pass_loader(name: str, exposed: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return stock_pass(cast(type[ModulePass], PASSES.load(name)), exposed)

    return load


def _exposed_names() -> dict[str, str]:
    """The names of our passes, and under which xDSL may know them."""
    taken = get_all_passes().keys()
    return {name: PREFIX + name if name in taken else name for name in PASS_PATHS}


note_places()

UNIVERSE = Universe(
    all_dialects={name: _dialect_loader(name) for name in DIALECTS},
    all_passes={exposed: _pass_loader(name, exposed) for name, exposed in _exposed_names().items()},
)
