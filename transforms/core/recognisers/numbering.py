"""Arrays of positions, however a program has them: as an iota, or as the constant that shape arithmetic made of a small one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import is_integer, rank


def numbers_along(value: SSAValue, dimension: int) -> bool:
    """Whether each element of the value is its own position in this dimension."""
    owner = value.owner
    if isinstance(owner, stablehlo.IotaOp):
        return int_of(owner.iota_dimension) == dimension
    if not isinstance(owner, stablehlo.ConstantOp) or not isinstance(owner.value, DenseIntOrFPElementsAttr) or not 0 <= dimension < rank(value):
        return False
    listed = cast("DenseIntOrFPElementsAttr[Any]", owner.value)
    if not is_integer(listed.type.get_element_type()):
        return False
    array = to_numpy(listed)
    along = np.arange(array.shape[dimension]).reshape([-1 if d == dimension else 1 for d in range(array.ndim)])
    return bool((array == along).all())
