"""The entry point of stock ``xdsl-opt``: our dialects and passes, each imported when it is first used.

xDSL refuses two passes of one name, and has a ``cse`` and a ``dce`` of its own; so where a name is taken, ours is reached
with the prefix ``wengert-``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import make_dataclass
from typing import cast

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from wengert.dialects.registry import make_context
from wengert.ir.passes import PASSES
from wengert.transforms.pipelines import PASS_PATHS

DIALECTS = ("ad", "chlo", "core", "kernel", "stablehlo")
PREFIX = "wengert-"


def _dialect_loader(name: str) -> Callable[[], Dialect]:
    return lambda: make_context().get_dialect(name)


def _pass_loader(name: str, exposed: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        cls = cast(type[ModulePass], PASSES.load(name))
        return cls if name == exposed else make_dataclass(cls.__name__, [], bases=(cls,), namespace={"name": exposed, "__doc__": cls.__doc__}, frozen=True)

    return load


def _exposed_names() -> dict[str, str]:
    """The names of our passes, and under which xDSL may know them."""
    taken = get_all_passes().keys()
    return {name: PREFIX + name if name in taken else name for name in PASS_PATHS}


UNIVERSE = Universe(
    all_dialects={name: _dialect_loader(name) for name in DIALECTS},
    all_passes={exposed: _pass_loader(name, exposed) for name, exposed in _exposed_names().items()},
)
