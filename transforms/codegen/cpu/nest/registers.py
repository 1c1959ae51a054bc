"""Remembers the registers of values for as long as the loop in which they were computed is open: a table of scopes, the innermost last."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from xdsl.ir import SSAValue

from wengert.dialects.kernel import ConstantOp
from wengert.transforms.codegen.cpu.nest.context import Context, of_parts, parts_of
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import element_of, splat


class Registers:
    """The values that have been computed at the current point of the loops, by keys: values of the body, addresses, indices."""

    def __init__(self, nest: Context):
        self.nest = nest
        self._scopes: list[dict[object, Any]] = [{}]

    @contextmanager
    def scope(self, known: Mapping[object, object]) -> Generator[None]:
        """Opens a scope, with some keys in it: what is remembered inside is forgotten at its end."""
        self._scopes.append(dict(known))
        yield
        self._scopes.pop()

    def find(self, key: object) -> Any:
        """What is remembered by this key, or None."""
        for scope in reversed(self._scopes):
            remembered = scope.get(key)
            if remembered is not None:
                return remembered
        return None

    def once(self, key: object, compute: Callable[[], Any]) -> Any:
        """What is remembered by this key, computed now if there is nothing."""
        remembered = self.find(key)
        if remembered is None:
            remembered = compute()
            self.remember(key, remembered)
        return remembered

    def remember(self, key: object, computed: object) -> None:
        """Remembers something for as long as the current loop is open."""
        self._scopes[-1][key] = computed

    def get(self, value: SSAValue, lanes: int) -> Value:
        """A value of the body in registers of so many lanes."""
        if lanes > 1 and self.nest.placed.depth[value] < self.nest.inner:
            return self.once((value, lanes), lambda: self.in_lanes(value, lanes))
        computed = self.find(value)
        assert computed is not None, "a value is used before it is computed"
        return computed

    def in_lanes(self, value: SSAValue, lanes: int) -> Value:
        """A scalar in every lane."""
        register = element_of(value.type).register
        parts = parts_of(self.find(value))
        if isinstance(value.owner, ConstantOp):
            return of_parts([splat(register, part, lanes) for part in parts])
        return of_parts([self.nest.out.splat(register, part, lanes) for part in parts])
