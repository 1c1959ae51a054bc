"""Python values as what JSON holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any, cast

import numpy as np
from msgspec import Struct, structs


def plain(value: Any) -> Any:
    """Dictionaries, lists, text, numbers; NaN and infinities as text, records as dictionaries, the rest as text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Struct) or (is_dataclass(value) and not isinstance(value, type)):
        names = [field.name for field in (structs.fields(value) if isinstance(value, Struct) else fields(value))]
        return {name: plain(getattr(value, name)) for name in names if not name.startswith("_")}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Iterable):
        return [plain(v) for v in cast("Iterable[Any]", value)]
    return str(value)
