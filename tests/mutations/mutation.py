"""Mistakes that are planted in the compiler: one function each, with one piece of its text replaced by another.

    with mutated("wengert.transforms.ad.rules.elementwise:sine", "b.cosine(x)", "b.sine(x)"):
        ...

The function's code is replaced, wherever it is referred to, and put back. So a mistake stands in a table as the text that a programmer would have got wrong.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from types import FunctionType
from typing import Any, Literal
from unittest.mock import patch

Mode = Literal["jvp", "vjp", "hvp"]


@dataclass(frozen=True)
class Mutation:
    """A mistake, a program that shows it, and what has to be named.

    Attributes:
        name: what is wrong, in a few words.
        function: ``module:function`` or ``module:Class.method``.
        old, new: what is replaced, which occurs once in the function's text, and by what.
        program: the program, as text.
        step: the name of the pass or translation that has to be named.
        culprit: the kind and name that have to be named within it; None if the pass is all that there is to name.
        mode: the derivative to look at.
        strategy: how it is made.
        pipeline: the passes, where they are not those of the compiler.
        clear: ``module:function`` of caches that hold what the function has computed.
    """

    name: str
    function: str
    old: str
    new: str
    program: str
    step: str
    culprit: tuple[str, str] | None = None
    mode: Mode | None = None
    strategy: str = "transpose"
    pipeline: str = ""
    clear: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def resolved(path: str) -> Any:
    """What ``module:name.name`` names."""
    module, _, names = path.partition(":")
    return reduce(getattr, names.split("."), import_module(module))


@contextmanager
def mutated(path: str, old: str, new: str) -> Generator[None]:
    """Replaces a piece of a function's text."""
    function = inspect.unwrap(resolved(path))
    function = getattr(function, "__func__", function)
    assert isinstance(function, FunctionType), f"{path} is no function"
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(old) == 1, f"{path}: {old!r} occurs {text.count(old)} times"
    tree = ast.parse(text.replace(old, new))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    names: dict[str, Any] = {}
    exec(compile(_closing_over(tree, function), f"<mutated {path}>", "exec"), function.__globals__, names)
    made = names[definition.name] if not function.__code__.co_freevars else names["_outer"]()
    before = function.__code__
    function.__code__ = made.__code__.replace(co_filename=before.co_filename, co_firstlineno=before.co_firstlineno)
    try:
        yield
    finally:
        function.__code__ = before


def _closing_over(tree: ast.Module, function: FunctionType) -> ast.Module:
    """The definition, inside of a function whose variables it refers to if it is a closure (a method that calls ``super()``, say)."""
    free = function.__code__.co_freevars
    if not free:
        return tree
    lines = ["def _outer():", *(f"    {name} = None" for name in free), "    pass", f"    return {function.__name__}"]
    outer = ast.parse("\n".join(lines))
    definition = outer.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body.insert(-1, tree.body[0])
    return outer


@contextmanager
def planted(mutation: Mutation) -> Generator[None]:
    """Plants a mistake, and empties the caches that would hide it. Nothing that is compiled meanwhile is kept, nor what was kept before taken."""
    for path in mutation.clear:
        resolved(path).cache_clear()
    with patch.dict(os.environ, WENGERT_CACHE="off"), mutated(mutation.function, mutation.old, mutation.new):
        yield
    for path in mutation.clear:
        resolved(path).cache_clear()
