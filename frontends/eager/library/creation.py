"""Tensors like others, and tensors of given extents."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from math import log
from typing import Any

import numpy

from wengert.eager.containers import extents
from wengert.eager.library.calling import Function
from wengert.eager.operations import creation


def _like(make: Function) -> Function:
    """A tensor of the extents and dtype of another, unless a dtype is given."""
    return lambda x, *args, dtype=None, requires_grad=False: make(x.array.shape, *args, dtype=dtype or x.array.dtype, requires_grad=requires_grad)


def _new(make: Function) -> Function:
    """The same for given extents and the dtype of another."""
    return lambda x, *size, dtype=None, requires_grad=False, **named: make(
        extents(size or (named["size"],)), dtype=dtype or x.array.dtype, requires_grad=requires_grad
    )


def _empty(*size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    return creation.zeros(*size, dtype=dtype, requires_grad=requires_grad)


def _randint(shape: Any, low: int, high: int | None = None, dtype: Any = None, requires_grad: bool = False) -> Any:
    made = creation.randint(0 if high is None else low, low if high is None else high, shape)
    return made.to(dtype) if dtype else made


def _logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    made = (creation.linspace(start, end, steps, dtype=numpy.float64) * log(base)).exp()
    return made.to(dtype or creation.default_dtype())


def _normal(mean: Any, std: Any = 1.0, size: Any = None, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """Normal numbers of these means and deviations, which may be tensors; of given extents where both are numbers."""
    known = [v.array.dtype for v in (mean, std) if hasattr(v, "array")]
    shape = extents((size,)) if size is not None else numpy.broadcast_shapes(*(numpy.shape(getattr(v, "array", v)) for v in (mean, std)))
    kind = numpy.dtype(dtype) if dtype is not None else known[0] if known else creation.default_dtype()
    made = (mean + std * creation.randn(shape, dtype=kind)).to(kind)
    return made.requires_grad_() if requires_grad else made


def placed(make: Function) -> Function:
    """A function that takes, and does not look at, where the result is to be and how it lies in memory."""
    from wengert.eager.library.calling import PLACEMENT

    def run(*args: Any, **keywords: Any) -> Any:
        return make(*args, **{k: v for k, v in keywords.items() if k not in PLACEMENT})

    return run


CREATION: dict[str, Function] = {
    name: placed(make)
    for name, make in {
        "zeros_like": _like(creation.zeros),
        "ones_like": _like(creation.ones),
        "full_like": lambda x, fill_value, dtype=None, requires_grad=False: creation.full(x.array.shape, fill_value, dtype or x.array.dtype, requires_grad),
        "empty_like": _like(_empty),
        "rand_like": _like(creation.rand),
        "randn_like": _like(creation.randn),
        "randint_like": lambda x, low, high=None, dtype=None: _randint(x.array.shape, low, high, dtype or x.array.dtype),
        "new_zeros": _new(creation.zeros),
        "new_ones": _new(creation.ones),
        "new_empty": _new(_empty),
        "new_full": lambda x, size, fill_value, dtype=None, requires_grad=False: creation.full(size, fill_value, dtype or x.array.dtype, requires_grad),
        "new_empty_strided": lambda x, size, stride, dtype=None, requires_grad=False: _empty(
            tuple(size), dtype=dtype or x.array.dtype, requires_grad=requires_grad
        ),
        "empty": _empty,
        "empty_strided": lambda size, stride, dtype=None, requires_grad=False: _empty(tuple(size), dtype=dtype, requires_grad=requires_grad),
        "empty_permuted": lambda size, physical_layout, dtype=None, requires_grad=False: _empty(tuple(size), dtype=dtype, requires_grad=requires_grad),
        "scalar_tensor": lambda value, dtype=None, requires_grad=False: creation.full((), float(value), dtype, requires_grad),
        "logspace": _logspace,
        "normal": _normal,
        "bernoulli": lambda x, p=None: (creation.rand(*x.array.shape, dtype=x.array.dtype) < (x.detach() if p is None else p)).to(x.array.dtype),
        "multinomial": lambda x, num_samples, replacement=False: _multinomial(x, num_samples, replacement),
    }.items()
}


def _multinomial(x: Any, count: int, replacement: bool) -> Any:
    rows = x.array.reshape(-1, x.array.shape[-1]).astype(numpy.float64)
    drawn = [creation.generator().choice(rows.shape[1], count, replacement, row / row.sum()) for row in rows]
    return creation.tensor(numpy.array(drawn, numpy.int64).reshape(*x.array.shape[:-1], count))
