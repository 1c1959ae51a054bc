"""Programs that leave extents open, one or more for every family of ops, each with its static text for every size.

A program is written once, with names for its extents in braces: ``{b}`` is what the sizes vary, others are computed from it. The
dynamic text has ``?`` for all of them. Where an op has a dynamic form of its own, the two texts have other bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Extents = Callable[[int], dict[str, int]]

EXTENT = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<{b}xf64>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>"""
"""The first extent of %x, as a scalar and as a list of one."""


@dataclass(frozen=True)
class Dynamic:
    """A program of open extents; ``static`` is the body of its static text where that is another one."""

    name: str
    signature: str
    body: str
    static: str = ""
    extents: Extents = lambda b: {}
    functions: str = ""
    sizes: tuple[int, ...] = (2, 5)
    differentiable: bool = True
    batched: bool = True

    def text(self) -> str:
        """With ``?`` for the extents."""
        return self._written(self.body, _Open())

    def at(self, b: int) -> str:
        """The static text of this size."""
        return self._written(self.static or self.body, {"b": b, **self.extents(b)})

    def _written(self, body: str, extents: Any) -> str:
        text = f"func.func public @main{self.signature} {{\n  {body}\n}}\n{self.functions}"
        return _replaced(text, extents)


class _Open(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def _replaced(text: str, extents: Any) -> str:
    """Braces around a name of one letter are extents; all others are the text's own."""
    import re

    return re.sub(r"\{([a-z])\}", lambda m: str(extents[m[1]]), text)


def unary(name: str) -> Dynamic:
    op = name if "." in name else f"stablehlo.{name}"
    types = "tensor<{b}xf64> -> tensor<{b}xf64>" if "." in name else "tensor<{b}xf64>"
    return Dynamic(name, "(%x: tensor<{b}xf64>) -> tensor<{b}xf64>", f"%r = {op} %x : {types}\n  return %r : tensor<{{b}}xf64>")


def program(name: str, signature: str, *lines: str, **options: Any) -> Dynamic:
    static = options.pop("static", ())
    return Dynamic(name, signature, "\n  ".join(lines), "\n  ".join(static), **options)


V = "tensor<{b}xf64>"
ADD = "({\n  ^bb0(%p: tensor<f64>, %q: tensor<f64>):\n    %s = stablehlo.add %p, %q : tensor<f64>\n    stablehlo.return %s : tensor<f64>\n  })"
