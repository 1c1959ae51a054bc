"""Arrays of positions, however a program has them: as an iota, or as the constant that shape arithmetic made of a small one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import element, is_integer, rank


def numbers_along(value: SSAValue, dimension: int) -> bool:
    """Whether each element of the value is its own position in this dimension."""
    owner = value.owner
    if isinstance(owner, stablehlo.IotaOp):
        return int_of(owner.iota_dimension) == dimension
    listed = owner.properties.get("value") if isinstance(owner, stablehlo.ConstantOp) else None
    if not isinstance(listed, DenseIntOrFPElementsAttr) or not is_integer(element(value)) or not 0 <= dimension < rank(value):
        return False
    array = to_numpy(cast("DenseIntOrFPElementsAttr[Any]", listed))
    along = cast(Any, np.arange(array.shape[dimension])).reshape([-1 if d == dimension else 1 for d in range(array.ndim)])
    return bool(np.all(array == along))
