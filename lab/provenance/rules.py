"""The rules of differentiation as they are declared: where in the source, in which way, and their line of mathematics.

The line of mathematics is the first line of a rule's docstring, or its first comment; it stands in the code that does it, so that nothing has to be
kept in step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.ir import Operation

import wengert
from wengert.dialects.facts import facts_of
from wengert.transforms.ad import rule as declarations
from wengert.transforms.ad.rule import INACTIVE, RULES, STEPS, TRANSPOSES

_ROOT = Path(wengert.__file__).parent


@dataclass(frozen=True)
class DeclaredRule:
    """A rule as it is declared.

    Attributes:
        op_name: the op that it is for.
        kind: ``elementwise``, ``derivative``, ``linear``, ``bilinear``, ``inactive``, ``region`` (loops, branches and calls), ``transpose`` or ``adjoint``.
        file: its file, from the package on.
        line: its line.
        math: its line of mathematics.
    """

    op_name: str
    kind: str
    file: str
    line: int
    math: str

    @property
    def place(self) -> str:
        """``transforms/ad/rules/elementwise.py:216``."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.math or self.kind}   ({self.kind} rule of {self.op_name}, {self.place})"


@cache
def rule_of(cls: type[Operation], strategy: str = "transpose") -> DeclaredRule | None:
    """The rule of an op class; None if there is none (or the strategy is that of a plug-in)."""
    import wengert.transforms.ad.rules  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table)

    if strategy == "direct":
        return _adjoint(cls)
    if cls in STEPS:
        return _declared(cls, "region", STEPS[cls])
    rule = RULES.get(cls)
    if rule is None:
        return None
    made = rule.__qualname__.partition(".")[0] if rule.__module__ == declarations.__name__ else ""
    if made == "elementwise":
        return _declared(cls, "elementwise", inspect.getclosurevars(rule).nonlocals["partials"])
    if made == "inactive" or cls in INACTIVE:
        return DeclaredRule(cls.name, "inactive", *_place(cls), "the derivative is zero wherever it exists")
    if made in ("linear", "bilinear"):
        facts = facts_of(cls)
        math = "d f(x1, x2) = f(dx1, x2) + f(x1, dx2)" if made == "bilinear" or facts.bilinear else "d f(x) = f(dx)"
        return DeclaredRule(cls.name, made, *_place(cls), math)
    return _declared(cls, "derivative", rule)


@cache
def transpose_of(cls: type[Operation]) -> DeclaredRule | None:
    """How a linear op is transposed; None if it is no linear op."""
    rule = TRANSPOSES.get(cls)
    return None if rule is None else _declared(cls, "transpose", rule)


@cache
def sum_of_uses() -> DeclaredRule:
    """The rule of accumulations."""
    from wengert.transforms.ad.linear.cotangents import Cotangents

    return DeclaredRule("a value used several times", "sum", *_place(Cotangents), "x_bar = the sum of the cotangents by all uses of x")


def _adjoint(cls: type[Operation]) -> DeclaredRule | None:
    import wengert.transforms.ad.direct.adjoints  # noqa: F401  # pyright: ignore[reportUnusedImport]  (as above)
    from wengert.transforms.ad.direct.adjoint import ADJOINTS
    from wengert.transforms.ad.direct.adjoint import STEPS as REVERSED

    function: Any = REVERSED.get(cls) or ADJOINTS.get(cls)
    if function is None:
        return None
    inner = inspect.getclosurevars(function).nonlocals.get("rule", function) if "<locals>" in function.__qualname__ else function
    return _declared(cls, "adjoint", inner)


def _declared(cls: type[Operation], kind: str, function: Callable[..., Any]) -> DeclaredRule:
    return DeclaredRule(cls.name, kind, *_place(function), math_of(function))


def _place(declared: Any) -> tuple[str, int]:
    try:
        file, line = inspect.getsourcefile(declared) or "", inspect.getsourcelines(declared)[1]
    except (OSError, TypeError):
        return "", 0
    path = Path(file)
    return (str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else file), line


def math_of(function: Callable[..., Any]) -> str:
    """The line of mathematics of a rule: the first line of its docstring, or else its first comment; empty if it has neither."""
    if function.__doc__:
        return function.__doc__.strip().split("\n")[0].rstrip(".")
    try:
        lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    except (OSError, TypeError):
        return ""
    comment = next((number for number, line in enumerate(lines) if line.startswith("# ")), None)
    if comment is not None:
        following = [line.removeprefix("# ") for line in lines[comment:]]
        count = next((n for n, line in enumerate(lines[comment:]) if not line.startswith("#")), 1)
        return " ".join(following[:count])
    return ""
