"""Modules that are made of modules, or of parameters, in a row or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, cast

from wengert.eager.tensor import Tensor
from wengert.nn.module import Module, Parameter


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


class _Named(Module):
    """What stands under names, in the order in which it came; what a name stands for may be exchanged."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()):
        self.update(values)

    def _names(self) -> list[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise KeyError(f"{name!r} is a method of {type(self).__name__}")
        setattr(self, name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self._names():
            raise KeyError(name)
        delattr(self, name)

    def keys(self) -> list[str]:
        """The names."""
        return self._names()

    def values(self) -> list[Any]:
        """What they stand for."""
        return [getattr(self, name) for name in self._names()]

    def items(self) -> list[tuple[str, Any]]:
        """Both."""
        return [(name, getattr(self, name)) for name in self._names()]

    def update(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds what stands under names in a mapping, or comes with them in pairs."""
        pairs = cast("Iterable[tuple[str, Any]]", values.items() if isinstance(values, Mapping) else values)
        for name, value in pairs:
            self[name] = value


class ModuleDict(_Named):
    """Modules by name; what is done with them is written elsewhere."""

    def _names(self) -> list[str]:
        return [name for name, _ in self.named_children()]


class ParameterDict(_Named):
    """Parameters by name; a tensor that is none becomes one."""

    def _names(self) -> list[str]:
        return [name for name, value in vars(self).items() if isinstance(value, Tensor)]

    def __setitem__(self, name: str, value: Tensor) -> None:
        super().__setitem__(name, value if value.is_parameter else Parameter(value))


class ParameterList(Module):
    """Parameters in a list; a tensor that is none becomes one."""

    def __init__(self, parameters: Iterable[Tensor] = ()):
        self.extend(parameters)

    def _row(self) -> list[Tensor]:
        return [value for value in vars(self).values() if isinstance(value, Tensor)]

    def __len__(self) -> int:
        return len(self._row())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._row())

    def __getitem__(self, index: int | slice) -> Any:
        return self._row()[index]

    def append(self, parameter: Tensor) -> Self:
        """One more at the end."""
        self.register_parameter(str(len(self)), parameter if parameter.is_parameter else Parameter(parameter))
        return self

    def extend(self, parameters: Iterable[Tensor]) -> Self:
        """Some more at the end."""
        for parameter in parameters:
            self.append(parameter)
        return self


class DataParallel(Module):
    """A module under the name ``module``; there is one device, so it gets the whole batch, as in PyTorch where there is one."""

    def __init__(self, module: Module):
        self.module = module

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """What the module makes of it."""
        return self.module(*args, **keywords)
