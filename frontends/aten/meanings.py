"""The table of the meanings of ATen ops: what each op computes, as a function that writes ops of ours.

Two front ends read it: ``wg.from_torch`` for the nodes of an exported graph, and define-by-run code for its calls, so that both agree.
A meaning is declared by the op's schema and a function of a builder and the arguments, in the order of the schema, with defaults
filled in; it returns one value, or a tuple where the op has several results::

    @means("add.Tensor(self, other, *, alpha=1)", results=promoted)
    def add(b, x, y, alpha=1):
        return b.add(b.fitted(x), b.fitted(scaled(y, alpha)))

A schema names the overload and its arguments as PyTorch's own does (a test compares them with the installed PyTorch), without types. The
types of the results come from PyTorch where it has inferred them at export, else from the rule ``results`` (``result_types``); a
meaning asks the builder for them and never infers them. Arguments that say where or how memory is laid out, and dtypes, which the types
of the results tell, are not passed on.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

Number = bool | int | float | complex
Write = Callable[..., Any]
Results = Callable[[Mapping[str, Any]], Sequence[Any]]
"""The types of the results for arguments by name, tensors as values."""

PLACEMENT = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "copy", "generator", "implicit"}
"""Arguments that say how a result is stored or where random numbers come from: schemas leave them out, and calls may have them."""
_REQUIRED = object()
_FAMILIES = (
    "alignments", "attention", "bags", "complex_numbers", "elementwise", "indexing", "linear_algebra.contraction", "linear_algebra.linalg",
    "linear_algebra.matrix_functions", "linear_algebra.systems", "masks", "normalisation", "ordering", "random_numbers", "reduction", "shape",
    "signals.fourier", "signals.fractional_pooling", "signals.grids", "signals.pooling", "signals.short_time", "special_functions.bessel",
    "special_functions.cylinder_functions", "special_functions.incomplete_gamma", "special_functions.orthogonal_polynomials", "special_functions.special",
    "strided",
)  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument of an op."""

    name: str
    default: Any = _REQUIRED
    keyword_only: bool = False

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is _REQUIRED


@dataclass(frozen=True)
class Meaning:
    """A function that computes an op.

    Attributes:
        name: of the op and its overload: ``add.Tensor``.
        arguments: in the order of the schema.
        write: writes its ops: (builder, arguments) -> a value, or a tuple of values.
        results: infers the types of its results, where PyTorch does not; None where only PyTorch does.
    """

    name: str
    arguments: tuple[Argument, ...]
    write: Write
    results: Results | None = None

    def bound(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name.

        Raises:
            TypeError: there are too many, one has an unknown name, one is given twice, or one is missing.
        """
        places = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(places):
            raise TypeError(f"{self.name} takes {len(places)} positional arguments, got {len(args)}")
        given = dict(zip((a.name for a in places), args, strict=False))
        for name, value in keywords.items():
            if name in PLACEMENT:
                continue
            if name in given or all(a.name != name for a in self.arguments):
                raise TypeError(f"{self.name} takes one argument {name!r}" if name in given else f"{self.name} takes no argument {name!r}")
            given[name] = value
        missing = [a.name for a in self.arguments if a.is_required and a.name not in given]
        if missing:
            raise TypeError(f"{self.name} needs the argument {missing[0]!r}")
        return {a.name: given.get(a.name, a.default) for a in self.arguments}

    def apply(self, builder: Any, given: Mapping[str, Any]) -> Any:
        """Writes the ops for all arguments by name, through a builder that knows the types of the results."""
        passed = [a for a in self.arguments if a.name != "dtype"]
        positional = [given[a.name] for a in passed if not a.keyword_only]
        # A keyword that has its default is not passed on: few meanings know all keywords of their op.
        keywords = {a.name: given[a.name] for a in passed if a.keyword_only and (a.is_required or given[a.name] != a.default)}
        return self.write(builder, *positional, **keywords)


MEANINGS: dict[str, Meaning] = {}
"""By the name of the op and its overload, without the namespace: ``add.Tensor``."""


@cache
def meanings() -> Mapping[str, Meaning]:
    """The whole table."""
    for family in _FAMILIES:
        import_module(f"wengert.frontends.aten.{family}")
    return MEANINGS


def means(*schemas: str, results: Results | None = None) -> Callable[[Write], Write]:
    """Declares the meaning of these overloads: ``add.Tensor(self, other, *, alpha=1)``."""

    def declare(write: Write) -> Write:
        for schema in schemas:
            name, arguments = _parsed(schema)
            assert name not in MEANINGS, name
            MEANINGS[name] = Meaning(name, arguments, write, results)
        return write

    return declare


def _parsed(schema: str) -> tuple[str, tuple[Argument, ...]]:
    name, bracket, rest = schema.removesuffix(")").partition("(")
    assert bracket, f"{schema} has no arguments"
    made: list[Argument] = []
    keyword_only = False
    for text in _split(rest):
        argument, _, default = text.partition("=")
        if argument == "*":
            keyword_only = True
        else:
            made.append(Argument(argument, literal_eval(default) if default else _REQUIRED, keyword_only))
    return name, tuple(made)


def _split(text: str) -> list[str]:
    """What is between commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]
