"""Modules that hold modules in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, cast

from wengert.nn.module import Module


class _Row(Module):
    """Modules under names that are their positions, or under names that were given."""

    def __len__(self) -> int:
        return len(list(self.children()))

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int | slice) -> Any:
        chosen = list(self.children())[index]
        return type(self)._of(chosen) if isinstance(chosen, list) else chosen

    def append(self, module: Module) -> Self:
        """One more at the end."""
        self.add_module(str(len(self)), module)
        return self

    @classmethod
    def _of(cls, modules: Iterable[Module]) -> Self:
        made = cls()
        for module in modules:
            made.append(module)
        return made


class Sequential(_Row):
    """Modules one after the other; given one by one, or as a dictionary by name."""

    def __init__(self, *modules: Module | Mapping[str, Module]):
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for module in modules:
                self.append(cast(Module, module))

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class ModuleList(_Row):
    """Modules in a list; what is done with them is written elsewhere."""

    def __init__(self, modules: Iterable[Module] = ()):
        for module in modules:
            self.append(module)


class DataParallel(Module):
    """A module under the name ``module``; there is one device, so it gets the whole batch, as in PyTorch where there is one."""

    def __init__(self, module: Module):
        self.module = module

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """What the module makes of it."""
        return self.module(*args, **keywords)
