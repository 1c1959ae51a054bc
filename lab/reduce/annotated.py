"""A program with its inputs in one file: the inputs are comments above the text, one line each, in JSON, to the last bit.

// input 0: tensor<2xf64> = [1.0, 2.5]
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.lab.reduce.candidate import Array
from wengert.runtime.signature import Signature

_LINE = re.compile(r"^// input (\d+):[^=]*= (.*)$", re.MULTILINE)


def annotated(inputs: Sequence[Array]) -> list[str]:
    """The inputs, a line of text for each."""
    return [f"input {i}: {_type(x)} = {json.dumps(_plain(np.asarray(x)))}" for i, x in enumerate(inputs)]


def read_annotated(text: str, signature: Signature) -> list[Array]:
    """The inputs in a text, for a program of this signature. Raises ValueError where one is missing, or does not fit."""
    rows = {int(number): row for number, row in _LINE.findall(text)}
    inputs: list[Array] = []
    for argument in signature.arguments:
        if argument.position not in rows:
            raise ValueError(f"it has no line '// input {argument.position}: ...' for {argument}")
        try:
            inputs.append(_array(json.loads(rows[argument.position]), argument.dtype, argument.shape))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"input {argument.position} does not fit {argument}: {error}") from None
    return inputs


def _type(x: Array) -> str:
    return f"{x.dtype}[{','.join(map(str, x.shape))}]"


def _plain(x: Any) -> Any:
    if x.dtype.kind == "c":
        return [_plain(x.real), _plain(x.imag)]
    return (x if x.dtype.kind in "iub" else x.astype(np.float64)).tolist()


def _array(row: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if dtype.kind == "c":
        real, imag = (np.array(part, np.float64).reshape(shape) for part in row)
        return np.asarray(real + 1j * imag).astype(dtype)
    return np.asarray(np.array(row, np.float64 if dtype.kind in "fV" else dtype).reshape(shape)).astype(dtype)
