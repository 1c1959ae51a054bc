"""Functions of whole tensors that are methods, too: what they are like, beside each other, and made for or after one."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function
from wengert.eager.operations import creation, functional, promotion
from wengert.eager.operations.contraction import addmm
from wengert.eager.operations.reading import seen


def _is_nonzero(x: Any) -> bool:
    if x.array.size != 1:
        raise ShapeError(f"is_nonzero: whether one number is zero can be asked, found {list(x.array.shape)}")
    return bool(seen(x).reshape(())[()] != 0)


def fill_diagonal_(x: Any, fill_value: float, wrap: bool = False) -> Any:
    """Writes a number to the diagonal of a matrix, or to where all positions are equal; with ``wrap`` a tall matrix's diagonal begins anew below its square."""
    extents = x.array.shape
    if len(extents) < 2 or (len(extents) > 2 and len(set(extents)) > 1):
        raise ShapeError(f"fill_diagonal_: a matrix is wanted, or more dimensions of one extent, found {list(extents)}")
    mask = np.zeros(extents, np.bool_)
    np.fill_diagonal(mask, True, wrap=wrap)
    return x.masked_fill_(creation.tensor(mask), fill_value)


def _result_type(*values: Any) -> Any:
    return promotion.result_dtype([v.array if hasattr(v, "array") else v for v in values])


QUERIES: dict[str, Function] = {
    "addmm": addmm,
    "atan2": functional.atan2,
    "outer": functional.outer,
    "logical_and": functional.logical_and,
    "logical_not": functional.logical_not,
    "isfinite": functional.isfinite,
    "allclose": functional.allclose,
    "equal": functional.equal,
    "fill_diagonal_": fill_diagonal_,
    "cpu": lambda x, memory_format=None: x,
    "get_device": lambda x: -1,
    "numel": lambda x: int(x.array.size),
    "nelement": lambda x: int(x.array.size),
    "ndimension": lambda x: x.array.ndim,
    "is_complex": lambda x: x.array.dtype.kind == "c",
    "is_floating_point": lambda x: x.is_floating_point(),
    "is_signed": lambda x: x.array.dtype.kind in "ifc",
    "is_nonzero": _is_nonzero,
    "is_same_size": lambda x, other: x.array.shape == other.array.shape,
    "type_as": lambda x, other: x.to(other.array.dtype),
    "new_tensor": lambda x, data, dtype=None, requires_grad=False: creation.tensor(data, dtype or x.array.dtype, requires_grad),
    "asarray": creation.as_tensor,
    "finfo": lambda dtype=None: np.finfo(promotion.default_dtype() if dtype is None else dtype),
    "iinfo": np.iinfo,
    "result_type": _result_type,
    "promote_types": lambda first, second: promotion.result_dtype([np.zeros(1, first), np.zeros(1, second)]),
}
"""By name."""
