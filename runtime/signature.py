"""The signature of a program: the type and name of every argument and result of its entry function.

That of a known program was kept on disk (:mod:`wengert.runtime.known_programs`), and needs no IR: a type is made when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from msgspec import Struct

from wengert.runtime.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import TensorType
    from xdsl.ir import Attribute


class KeptType(Struct, frozen=True, array_like=True):
    """The type of a tensor with static extents as it is kept: how its elements are written, and its shape."""

    element: str
    shape: tuple[int, ...]

    @property
    def attribute(self) -> TensorType[Any]:
        """The type in IR."""
        from wengert.ir.tensor_types import elements_by_name, tensor

        return tensor(self.shape, elements_by_name()[self.element])

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{extent}x' for extent in self.shape)}{self.element}>"


def kept_dtype(element: str) -> np.dtype[Any] | None:
    """The NumPy dtype of elements that are written so; None where they are not among those of types that are kept."""
    if element == "bf16":
        import ml_dtypes  # here, because most programs do without

        return np.dtype(ml_dtypes.bfloat16)
    return _dtypes().get(element)


@cache
def _dtypes() -> dict[str, np.dtype[Any]]:
    dtypes = {f"f{width}": np.dtype(f"float{width}") for width in (16, 32, 64)} | {f"complex<f{width}>": np.dtype(f"complex{2 * width}") for width in (32, 64)}
    integers = {f"{u}i{width}": np.dtype(f"{u}int{width}") for u in ("", "u") for width in (8, 16, 32, 64)}
    return dtypes | integers | {"i1": np.dtype(np.bool_)}


class Parameter(Struct, frozen=True, dict=True, eq=False):
    """One argument or result: its position, its type, and its name where the program gives one."""

    role: Literal["argument", "result"]
    position: int
    given: Attribute | KeptType
    name: str | None = None

    @property
    def type(self) -> Attribute:
        """Its type."""
        return self.given.attribute if isinstance(self.given, KeptType) else self.given

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extents; ``DYNAMIC`` where the program says ``?``."""
        if isinstance(self.given, KeptType):
            return self.given.shape
        from wengert.ir.tensor_types import shape_of_type

        return shape_of_type(self._tensor)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements (an ml_dtypes one for bf16)."""
        if isinstance(self.given, KeptType):
            dtype = kept_dtype(self.given.element)
            assert dtype is not None, "no other is kept"
            return dtype
        from wengert.ir.tensor_types import dtype_of

        try:
            return dtype_of(self._tensor.element_type)
        except KeyError:
            raise InputError(f"{self}: there is no NumPy dtype for elements of type {self._tensor.element_type}") from None

    @property
    def _tensor(self) -> TensorType[Any]:
        from xdsl.dialects.builtin import TensorType

        type = self.type
        if not isinstance(type, TensorType):
            raise InputError(f"{self} is not a tensor of known rank")
        return cast("TensorType[Any]", type)

    @property
    def differentiable(self) -> bool:
        """Whether it is of real or complex floating point."""
        if isinstance(self.given, KeptType):
            return self.given.element.startswith(("f", "bf", "complex"))
        from wengert.ir.tensor_types import is_differentiable

        return is_differentiable(self.type)

    @property
    def label(self) -> str:
        """``argument 2`` or ``argument 2 (x)``, for messages."""
        return f"{self.role} {self.position}" + (f" ({self.name})" if self.name else "")

    @property
    def is_static(self) -> bool:
        """Whether it is a tensor whose extents are all known."""
        if isinstance(self.given, KeptType):
            return True
        from xdsl.dialects.builtin import TensorType

        from wengert.ir.tensor_types import DYNAMIC

        return isinstance(self.type, TensorType) and DYNAMIC not in self.shape

    def __str__(self) -> str:
        return f"{self.label}: {self.given}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash((self.role, self.position, self.name))

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.role, self.position, self.type, self.name


class Signature(Struct, frozen=True):
    """The arguments and results of an entry function."""

    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]

    def __str__(self) -> str:
        def types(parameters: Sequence[Parameter]) -> str:
            return ", ".join(f"{p.name}: {p.given}" if p.name else str(p.given) for p in parameters)

        return f"({types(self.arguments)}) -> ({types(self.results)})"
