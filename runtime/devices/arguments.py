"""From what a caller passes to what a device is given: arrays of the host to be copied, and memory that is on the device already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.runtime.arguments import as_argument, bind, describe
from wengert.runtime.devices.interface import Borrowed, Buffer, Device
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter, Signature

Array = np.ndarray[Any, np.dtype[Any]]


def bind_on(device: Device, signature: Signature, inputs: Sequence[Any]) -> list[Array | Buffer]:
    """The inputs, one per argument: as :func:`wengert.runtime.arguments.bind` takes them, or as memory of the device.

    Raises:
        InputError: a wrong number of inputs, one of a wrong shape or dtype, or one on the device whose elements do not lie side by side.
    """
    borrowed = [device.borrow(value) for value in inputs]
    if not any(borrowed) or len(inputs) != len(signature.arguments):
        return list(bind(signature, inputs))
    return [
        as_argument(parameter, value) if lent is None else _checked(parameter, lent)
        for parameter, value, lent in zip(signature.arguments, inputs, borrowed, strict=True)
    ]


def _checked(parameter: Parameter, lent: Borrowed) -> Buffer:
    """The memory of an array on the device, which has to have the argument's type to the letter."""
    if lent.shape != parameter.shape or lent.dtype != parameter.dtype:
        raise InputError(f"{parameter.label} must be {describe(parameter.shape, parameter.dtype)}, found {describe(lent.shape, lent.dtype)} on the device")
    if lent.buffer is None:
        raise InputError(f"{parameter.label} is an array on the device whose elements do not lie side by side; pass a contiguous copy")
    return lent.buffer
