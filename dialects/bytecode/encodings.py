"""The encodings of dialects by name, each imported when a file first has something of the dialect."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from wengert.ir.bytecode.builtin_attributes import BUILTIN
from wengert.ir.bytecode.fields import Encoding

_MODULES = {name: f"wengert.dialects.bytecode.{name}" for name in ("stablehlo", "chlo", "sdy", "vhlo")}


@cache
def encoding_of(dialect: str) -> Encoding | None:
    """The encoding of a dialect, or None for one whose attributes and types are only written in MLIR's assembly format."""
    if dialect == "builtin":
        return BUILTIN
    module = _MODULES.get(dialect)
    return None if module is None else import_module(module).ENCODING
