"""The array that stands for a value while a function is traced: its shape and dtype are known, its elements are not.

Its operators are those of the array API standard; what they do is in :mod:`wengert.numpy`, which an array finds as the standard says,
by ``__array_namespace__``. What would need the elements (``if``, ``int()``, ``np.asarray()``) is an error that says what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from wengert.frontends.tracing.errors import type_error, value_error
from wengert.ir.tensor_types import dtype_of, shape_of_type, type_of

if TYPE_CHECKING:
    from wengert.frontends.tracing.context import BlockTrace

_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_BRANCH = "write wg.cond(pred, true_function, false_function, *operands) or wengert.numpy.where(pred, x, y); a loop is wg.while_loop"


def namespace() -> Any:
    """:mod:`wengert.numpy`, imported when it is first needed (it imports this module)."""
    return import_module("wengert.numpy")


class SharedElements:
    """The shared state of arrays that NumPy would make views of each other: how often one of them was changed in place."""

    __slots__ = ("changes",)

    def __init__(self) -> None:
        self.changes = 0


class TracedArray:
    """An array of known shape and dtype whose elements are computed when the traced program runs.

    It may be changed in place (``x[i] = y``), which gives it another value. Arrays that NumPy would make views of one memory know of each other
    (:meth:`viewing`): a change of one makes the others unusable, as they would still have the elements of before. Arguments of a traced function, and
    what shares elements with them, are not ``owned``: they cannot be changed, as the caller's array would not change with them.
    """

    __slots__ = ("_dtype", "_shape", "owned", "seen", "shared", "trace", "value", "weak")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as arrays compare by element, they cannot be keys

    def __init__(self, value: SSAValue, trace: BlockTrace, weak: bool = False):
        type = type_of(value)
        self.value = value
        self.trace = trace
        self.weak = weak
        self.owned = not isinstance(value, BlockArgument)
        self.shared: SharedElements | None = None
        self.seen = 0
        self._shape = shape_of_type(type)
        self._dtype = dtype_of(type.element_type)

    # -- attributes of the standard

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, Python integers."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self._shape:
            count *= extent
        return count

    @property
    def device(self) -> str:
        """Always ``"cpu"``: where the program runs is decided when it is compiled."""
        return "cpu"

    @property
    def T(self) -> Any:  # noqa: N802
        """The array with its dimensions in reverse order (the standard: of two dimensions)."""
        return namespace().permute_dims(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Any:  # noqa: N802
        """The array with its last two dimensions exchanged."""
        return namespace().matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The real part, as NumPy's attribute."""
        return namespace().real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part, as NumPy's attribute."""
        return namespace().imag(self)

    @property
    def at(self) -> Any:
        """``x.at[index].set(y)``: the array with some elements replaced; also add, multiply, min, max."""
        from wengert.numpy.updates import Updater

        return Updater(self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> TracedArray:
        """The array itself: there is one device."""
        if device != "cpu":
            raise type_error(f"there is no device {device!r} while a function is traced", "where a program runs is decided when it is compiled")
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """What libraries call: :mod:`wengert.numpy`, but arrays that it makes are traced, as they are in JAX under ``jit``."""
        if api_version is not None and api_version not in _API_VERSIONS:
            raise value_error(f"there is no version {api_version!r} of the array API standard here", f"there are {', '.join(_API_VERSIONS)}")
        return import_module("wengert.numpy.traced_namespace").NAMESPACE

    # -- what the namespace calls a function, NumPy has as a method too

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(namespace(), _METHODS[name])
            return partial(function, self)
        hint = f"write wengert.numpy.{name}(x, ...)" if not name.startswith("_") and hasattr(namespace(), name) else ""
        raise AttributeError(f"a traced array has no attribute {name!r}" + (f"; {hint}" if hint else ""))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The elements under another shape, given as a tuple or as arguments."""
        return namespace().reshape(self, shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape, **options)

    def transpose(self, *axes: Any) -> Any:
        """The dimensions in another order, reversed by default."""
        if not axes:
            return self.T
        return namespace().permute_dims(self, axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes)

    def ravel(self) -> Any:
        """The elements in one dimension."""
        return namespace().reshape(self, (-1,))

    def flatten(self) -> Any:
        """A copy of the elements in one dimension."""
        return self.ravel().copy()

    def copy(self) -> TracedArray:
        """An array of the same elements, which changes of this one leave as it is."""
        return namespace().asarray(self, copy=True)

    # -- what needs elements

    def _concrete(self, what: str, hint: str) -> NoReturn:
        raise type_error(f"{what} needs the elements of {self!r}, which are known only when the program runs", hint)

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._concrete("a condition (if, while, and, or, not, assert)", _BRANCH)

    def __int__(self) -> int:
        self._concrete("int()", "write wengert.numpy.astype(x, wengert.numpy.int64); a size or a shape must be a Python number: make it a static argument")

    def __float__(self) -> float:
        self._concrete("float()", "leave the value an array; wengert.numpy.astype(x, dtype) converts it")

    def __complex__(self) -> complex:
        self._concrete("complex()", "leave the value an array; wengert.numpy.astype(x, dtype) converts it")

    def __index__(self) -> int:  # noqa: PLE0305
        self._concrete(
            "a shape, range() or an index of a Python list",
            "make the argument static (wg.jit(f, static_argnums=...)), use wg.fori_loop for range(), "
            "or wengert.numpy.take(x, i, axis=0) to index an array or a list",
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._concrete(
            "a function of NumPy (or np.asarray)", "use the function of wengert.numpy of the same name; to fill an array: y = wengert.numpy.at(y)[i].set(x)"
        )

    def __dlpack__(self, **kwargs: Any) -> NoReturn:
        self._concrete("__dlpack__", "return the array from the traced function first")

    def item(self) -> NoReturn:
        """An error: the element is not known."""
        self._concrete("item()", "leave the value an array of no dimensions")

    tolist = item

    def __len__(self) -> int:
        if not self._shape:
            raise type_error(f"{self!r} has no dimensions and so no length")
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._shape:
            raise type_error(f"{self!r} has no dimensions to iterate over")
        return iter([self[i] for i in range(self._shape[0])])

    # -- NumPy's (and SciPy's elementwise) functions on traced values are those of the namespace

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = str(_RENAMED.get(ufunc.__name__, ufunc.__name__))
        counterpart: Any = getattr(namespace(), name, None) or getattr(namespace().special, name, None)  # SciPy's are in the latter
        if method != "__call__" or options or counterpart is None:
            asked = f"np.{ufunc.__name__}" if hasattr(np, ufunc.__name__) else f"the ufunc {ufunc.__name__}"
            raise type_error(
                f"{asked}{'' if method == '__call__' else '.' + method} does not take traced values", "see wengert.numpy, and wengert.numpy.special"
            )
        return counterpart(*inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.shape, np.ndim, np.size) and len(args) == 1 and not kwargs and isinstance(args[0], TracedArray):
            return getattr(args[0], function.__name__)
        home = str(function.__module__)
        module: Any = namespace().linalg if ".linalg" in home else namespace().fft if ".fft" in home else namespace()
        name: str = function.__name__
        counterpart: Any = getattr(module, str(_RENAMED.get(name, name)), None)
        if counterpart is None:
            raise type_error(f"np.{function.__name__} does not take traced values, and wengert.numpy has no function of this name")
        return counterpart(*args, **kwargs)

    # -- indexing

    def __getitem__(self, key: Any) -> Any:
        from wengert.numpy.subscripts import subscript

        return subscript(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from wengert.numpy.updates import change_in_place

        change_in_place(self, key, value)

    # -- arrays that share elements

    def viewing(self, source: TracedArray) -> TracedArray:
        """The array itself, which from now on shares its elements with ``source``."""
        if source.shared is None:
            source.shared = SharedElements()
        self.shared, self.seen, self.owned = source.shared, source.seen, source.owned
        return self

    def become(self, value: SSAValue) -> None:
        """Takes another value of the same type; arrays that share elements with this one are stale from now on."""
        self.value = value
        if self.shared is not None:
            self.shared.changes += 1
            self.seen = self.shared.changes

    # -- operators

    def __abs__(self) -> Any:
        return namespace().abs(self)

    def __neg__(self) -> Any:
        return namespace().negative(self)

    def __pos__(self) -> Any:
        return namespace().positive(self)

    def __invert__(self) -> Any:
        return namespace().bitwise_invert(self)

    def __add__(self, other: Any) -> Any:
        return namespace().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return namespace().add(other, self)

    def __sub__(self, other: Any) -> Any:
        return namespace().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return namespace().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return namespace().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return namespace().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return namespace().divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return namespace().divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return namespace().floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return namespace().floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return namespace().remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return namespace().remainder(other, self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __pow__(self, other: Any) -> Any:
        return namespace().pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return namespace().pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return namespace().matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return namespace().matmul(other, self)

    def __and__(self, other: Any) -> Any:
        return namespace().bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return namespace().bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return namespace().bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return namespace().bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return namespace().bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return namespace().bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        return namespace().bitwise_left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return namespace().bitwise_left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return namespace().bitwise_right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return namespace().bitwise_right_shift(other, self)

    def __eq__(self, other: object) -> Any:
        return namespace().equal(self, other)

    def __ne__(self, other: object) -> Any:
        return namespace().not_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        return namespace().less(self, other)

    def __le__(self, other: Any) -> Any:
        return namespace().less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return namespace().greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return namespace().greater_equal(self, other)

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self._shape))
        return f"<traced {self._dtype.name}[{extents}]{' (weak)' if self.weak else ''}>"


_METHODS = {
    "sum": "sum",
    "prod": "prod",
    "mean": "mean",
    "var": "var",
    "std": "std",
    "max": "max",
    "min": "min",
    "all": "all",
    "any": "any",
    "argmax": "argmax",
    "argmin": "argmin",
    "argsort": "argsort",
    "astype": "astype",
    "clip": "clip",
    "conj": "conj",
    "conjugate": "conj",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
    "diagonal": "diagonal",
    "dot": "dot",
    "repeat": "repeat",
    "round": "round",
    "squeeze": "squeeze",
    "swapaxes": "swapaxes",
    "take": "take",
    "trace": "trace",
}
"""Methods of NumPy's arrays and the functions of the namespace that they are."""

_RENAMED = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concatenate": "concat",
    "conjugate": "conj",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "transpose": "permute_dims",
    "true_divide": "divide",
}
"""NumPy's names where they differ from the standard's."""
