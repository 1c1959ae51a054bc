"""Calls of ATen ops without PyTorch: arguments are bound by the op's schema, types of results inferred, and the meaning written."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from wengert.dialects.builder import OpBuilder
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import meanings
from wengert.frontends.aten.result_types.promotion import promoted_element
from wengert.frontends.aten.result_types.rules import DEFAULT, operands
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.tensor_types import f32


def call(b: OpBuilder, name: str, *args: Any, default: Attribute = f32, **keywords: Any) -> Any:
    """Writes an op's meaning through a builder.

    Args:
        b: where ops are written.
        name: the op and its overload: ``add.Tensor``.
        args: values, numbers and lists of them, as in the op's schema; dtypes as NumPy's or element types.
        default: the element type of reals that nothing else decides.
        keywords: further arguments.

    Returns:
        A value, or a tuple of values (None for a result that has no meaning here).

    Raises:
        KeyError: the op has no meaning, or its types are known only to PyTorch.
        TypeError: the arguments are not those of the schema.
        ValueError: shapes do not fit each other.
    """
    meaning = meanings().get(name)
    if meaning is None:
        raise KeyError(f"the op {name} has no meaning; {did_you_mean(name, meanings())}")
    if meaning.results is None:
        raise KeyError(f"the types of the results of {name} are known only to PyTorch: its meaning has no rule for them")
    given = meaning.bound(args, keywords)
    builder = AtenBuilder(b.block, parent=b, location=b.location)
    typed = {**given, DEFAULT: default}
    builder.types = list(meaning.results(typed))
    builder.promoted = promoted_element(operands(given), default)
    builder.used = set(range(len(builder.types)))
    return meaning.apply(builder, given)
