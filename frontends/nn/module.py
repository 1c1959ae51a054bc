"""Modules: objects that own parameters and other modules.

An attribute that is a parameter belongs to the module, as does one that is another module; nothing is registered behind the scenes,
the attributes themselves are the register. Buffers, which are state that is not learned, are named by :meth:`Module.register_buffer`.

    >>> import wengert.eager as eager
    >>> import wengert.nn as nn
    >>> class Residual(nn.Module):
    ...     def __init__(self, width):
    ...         self.inner = nn.Linear(width, width)
    ...         self.scale = nn.Parameter(eager.zeros(()))
    ...
    ...     def forward(self, x):
    ...         return x + self.scale * self.inner(x).relu()
    >>> block = Residual(4)
    >>> {name: p.shape for name, p in block.named_parameters()}
    {'scale': (), 'inner.weight': (4, 4), 'inner.bias': (4,)}
    >>> block(eager.ones(1, 4)).tolist()
    [[1.0, 1.0, 1.0, 1.0]]

Names and their meaning are those of ``torch.nn.Module``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, cast

import numpy as np

from wengert.eager import no_grad
from wengert.eager.containers import Followed
from wengert.eager.gradients.hooks import RemovableHandle
from wengert.eager.recording import dispatch
from wengert.eager.recording.program import Array
from wengert.eager.tensor import Tensor
from wengert.nn.backward_hooks import Hook, Sides


class StateDictError(RuntimeError):
    """A state that does not fit a module: names that are missing or that it does not have, other shapes."""


def Parameter(data: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: N802  (the name under which it is known)
    """A leaf of the same memory that modules take for theirs when it becomes an attribute."""
    made = dispatch.constant(data.array)
    made.is_parameter = True
    return made.requires_grad_(requires_grad)


def _no_forward(self: Module, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(f"{type(self).__name__} has no method forward, so it cannot be called")


class Module(Followed):
    """To be subclassed, with a method ``forward``, which calls of the module run.

    Attributes:
        training: whether it is being trained: dropout drops, batch norm uses the statistics of the batch.
    """

    training: bool
    forward: Callable[..., Any] = _no_forward
    _hooks: list[Any]
    _backward_hooks: list[Any]
    _buffer_names: frozenset[str]
    _transient: frozenset[str]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Sets what every module has, so that a subclass need not call ``super().__init__``."""
        made = super().__new__(cls)
        made.training = True
        made._hooks = []
        made._backward_hooks = []
        made._buffer_names = made._transient = frozenset()
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs :meth:`forward`, and hooks before and after it."""
        if not self._hooks:
            return self.forward(*args, **kwargs) if not self._backward_hooks else self._watched(args, kwargs)
        for hook, before in list(self._hooks):
            if before and (changed := hook(self, args)) is not None:
                args = cast("tuple[Any, ...]", changed) if isinstance(changed, tuple) else (changed,)
        result = self._watched(args, kwargs)
        for hook, before in list(self._hooks):
            if not before and (changed := hook(self, args, result)) is not None:
                result = changed
        return result

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs :meth:`forward`, whose gradients hooks see."""
        if not self._backward_hooks:
            return self.forward(*args, **kwargs)
        hooks = list(self._backward_hooks)
        sides = Sides(self, [h for h, before in hooks if before], [h for h, before in hooks if not before])
        return sides.around_outputs(self.forward(*sides.around_inputs(args), **kwargs))

    # -- what it owns

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Makes a tensor an attribute that is state but not learned; in :meth:`state_dict` only if it is persistent."""
        setattr(self, name, tensor)
        self._buffer_names |= {name}
        if not persistent:
            self._transient |= {name}

    def register_parameter(self, name: str, parameter: Tensor | None) -> None:
        """Makes a parameter an attribute whose name need not be written in the code."""
        setattr(self, name, parameter)

    def add_module(self, name: str, module: Module) -> None:
        """Makes a module an attribute whose name need not be written in the code."""
        setattr(self, name, module)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that are attributes, with their names."""
        return ((name, value) for name, value in vars(self).items() if isinstance(value, Module))

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """The module itself and all below, each once, with their names: ``inner.0``."""
        seen: set[int] = set()

        def below(module: Module, name: str) -> Iterator[tuple[str, Module]]:
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module
                for child_name, child in module.named_children():
                    yield from below(child, f"{name}.{child_name}" if name else child_name)

        return below(self, prefix)

    def _named(self, recurse: bool, chosen: Callable[[Module, str, Tensor], bool]) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for prefix, module in self.named_modules() if recurse else [("", self)]:
            for name, value in vars(module).items():
                if isinstance(value, Tensor) and id(value) not in seen and chosen(module, name, value):
                    seen.add(id(value))
                    yield f"{prefix}.{name}" if prefix else name, value

    def named_parameters(self, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All parameters, each once, with their names: ``inner.weight``."""
        return self._named(recurse, lambda _, name, value: value.is_parameter)

    def named_buffers(self, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers, each once, with their names."""
        return self._named(recurse, lambda module, name, _: name in module._buffer_names)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """All parameters, each once."""
        return (p for _, p in self.named_parameters(recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        return (b for _, b in self.named_buffers(recurse))

    def children(self) -> Iterator[Module]:
        """The modules that are attributes."""
        return (m for _, m in self.named_children())

    def modules(self) -> Iterator[Module]:
        """The module itself and all below, each once."""
        return (m for _, m in self.named_modules())

    # -- what is done to all of it

    def train(self, mode: bool = True) -> Self:
        """Says whether this module and all below are being trained."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """The opposite of :meth:`train`."""
        return self.train(False)

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Calls the function with every module below, and this one last."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Says whether gradients flow to the parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or makes them zero."""
        for p in self.parameters():
            if set_to_none or p.grad is None:
                p.grad = None
            else:
                p.grad = p.grad.detach().zero_()

    def to(self, dtype: Any) -> Self:
        """Parameters and buffers of floats in another dtype; the tensors stay the same objects."""
        for x in [*self.parameters(), *self.buffers()]:
            if x.is_floating_point():
                x.data = x.detach().to(dtype)
                x.grad = None if x.grad is None else x.grad.detach().to(dtype)
        return self

    def double(self) -> Self:
        """In float64."""
        return self.to(np.float64)

    def float(self) -> Self:
        """In float32."""
        return self.to(np.float32)

    def register_forward_pre_hook(self, hook: Callable[[Module, tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls ``hook(module, args)`` before every forward; it may return other arguments."""
        return RemovableHandle(self._hooks, (hook, True))

    def register_full_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(module, gradients of the inputs, gradients of the outputs)`` when a backward pass has gone through a call of this module; it may return
        other gradients of the inputs."""
        return RemovableHandle(self._backward_hooks, (hook, False))

    def register_full_backward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(module, gradients of the outputs)`` before a backward pass goes through a call of this module; it may return others."""
        return RemovableHandle(self._backward_hooks, (hook, True))

    def register_forward_hook(self, hook: Callable[[Module, tuple[Any, ...], Any], Any]) -> RemovableHandle:
        """Calls ``hook(module, args, result)`` after every forward; it may return another result."""
        return RemovableHandle(self._hooks, (hook, False))

    # -- its state

    def _state(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by name, in PyTorch's order; a tensor that several modules share, under all its names."""
        state: dict[str, Tensor] = {}
        for prefix, module in self.named_modules():
            own = {name: value for name, value in vars(module).items() if isinstance(value, Tensor)}
            names = [name for name, value in own.items() if value.is_parameter]
            names += [name for name in own if name in module._buffer_names - module._transient]
            state.update((f"{prefix}.{name}" if prefix else name, own[name]) for name in names)
        return state

    def state_dict(self) -> dict[str, Array]:
        """Copies of all parameters and persistent buffers, by name."""
        return {name: x.array.copy() for name, x in self._state().items()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Writes arrays, or whatever NumPy makes arrays of, into the parameters and buffers of these names; dtypes stay.

        Args:
            state: as :meth:`state_dict` gives it, PyTorch's included.
            strict: whether all names have to be there, and no others.

        Raises:
            StateDictError: names are missing or unexpected, or shapes differ; all of them are said, and nothing was written.
        """
        own = self._state()
        arrays = {name: np.asarray(value.detach() if hasattr(value, "detach") else value) for name, value in state.items()}
        wrong: list[str] = []
        if strict:
            wrong += [f"{name} is missing" for name in own if name not in arrays]
            wrong += [f"there is no {name}" for name in arrays if name not in own]
        common = [name for name in own if name in arrays]
        wrong += [f"{name} has shape {list(own[name].shape)}, found {list(arrays[name].shape)}" for name in common if own[name].shape != arrays[name].shape]
        if wrong:
            raise StateDictError(f"the state does not fit this {type(self).__name__}: {'; '.join(wrong)}")
        with no_grad():
            for name in common:
                own[name].copy_(dispatch.constant(arrays[name]))

    def tree(self) -> dict[str, Any]:
        """Copies of the parameters as nested dictionaries, for code that is traced: ``tree["inner"]["weight"]``."""
        nested: dict[str, Any] = {}
        for name, p in self.named_parameters():
            *path, last = name.split(".")
            inside = nested
            for part in path:
                inside = inside.setdefault(part, {})
            inside[last] = p.array.copy()
        return nested

    def load_tree(self, tree: Mapping[str, Any]) -> None:
        """Writes parameters that :meth:`tree` gave back, as :meth:`load_state_dict` does; buffers stay. Raises StateDictError."""
        state = dict(_flat(tree, ""))
        wrong = [f"{name} is missing" for name, _ in self.named_parameters() if name not in state]
        wrong += [f"there is no {name}" for name in state if name not in dict(self.named_parameters())]
        if wrong:
            raise StateDictError(f"the tree does not fit this {type(self).__name__}: {'; '.join(wrong)}")
        self.load_state_dict(state, strict=False)

    # -- its text

    def extra_repr(self) -> str:
        """The part of its text after the class name."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        inside = "".join(f"\n  {line}" for line in lines) + "\n" if lines else self.extra_repr()
        return f"{type(self).__name__}({inside})"


def _flat(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
