"""Separates the functions that any program may call from a program's LLVM text: micro-kernels of products, packing, the rare branches of sin and cos.

They depend on types and tile sizes, not on the program, and make up half of the text of a small program with a large product. So each is compiled by
itself, once for a process and once for a machine whose cache of objects is on, and programs declare it. Its symbol ends in a hash of its text and of
all that this refers to: equal symbols are equal code, whatever options a program was emitted with.

A function is shared if its definition has the attribute for it (:data:`~wengert.transforms.codegen.llvm.module.SHARED`). Tiles of convolutions have not:
their sizes differ from program to program, and an object of its own costs LLVM a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from wengert.transforms.codegen.llvm.module import SHARED

_HEAD = re.compile(r"^define internal ([^@\n]*@)([\w.]+)\(([^\n]*)\) [^\n]*\{$", re.MULTILINE)
_PARAMETER = re.compile(r" %[\w.]+(?=[,)]|$)")
_SYMBOL = re.compile(r"@([\w.]+)")


class SharedFunction(Struct, frozen=True):
    """A function that programs declare.

    Attributes:
        symbol: its name, with the hash.
        text: LLVM text of a module that defines it.
        calls: the symbols of the shared functions that it calls.
    """

    symbol: str
    text: str
    calls: tuple[str, ...]


class Divided(Struct, frozen=True):
    """A program's text without the shared functions, and these: a function stands behind those that it calls."""

    text: str
    functions: tuple[SharedFunction, ...]


def divided(helpers: Mapping[str, str], program: str) -> Divided:
    """Separates shared functions.

    Args:
        helpers: by its symbol, the text of each definition or declaration that the program's kernels may refer to.
        program: the text of the kernels and the entry.
    """
    heads = {symbol: head for symbol, text in helpers.items() if SHARED in text and (head := _shared_head(symbol, text, (*helpers.values(), program)))}
    if not heads:
        return Divided("\n".join([*helpers.values(), program]), ())
    division = _Division(helpers, heads)
    functions = tuple(division.function(symbol) for symbol in division.callees_first())
    return Divided(division.program(program), functions)


def _shared_head(symbol: str, text: str, everywhere: Iterable[str]) -> re.Match[str] | None:
    """The head of the one definition in the text if it can be shared: it is only ever called."""
    head = _HEAD.search(text)
    if head is None or head[2] != symbol or text.count("define ") != 1:
        return None
    name = f"@{symbol}"
    taken = re.compile(re.escape(name) + r"(?![\w.(])")
    return None if any(name in other and taken.search(other) for other in everywhere) else head


class _Division:
    def __init__(self, helpers: Mapping[str, str], heads: Mapping[str, re.Match[str]]):
        self.helpers = helpers
        self.heads = heads
        self.refers = {symbol: self._referred(text) - {symbol} for symbol, text in helpers.items()}
        self.names = {symbol: f"{symbol}.{self._hash(symbol)}" for symbol in heads}

    def function(self, symbol: str) -> SharedFunction:
        """The function with this symbol, which takes along what it refers to and is not shared."""
        text = self.helpers[symbol].replace("define internal ", "define ", 1)
        calls = [name for other, name in self.names.items() if other != symbol and other in self._reached(self.refers[symbol])]
        return SharedFunction(self.names[symbol], self._module(symbol, text), tuple(calls))

    def program(self, text: str) -> str:
        """The program, without what only shared functions refer to."""
        theirs = {symbol for head in self.heads for symbol in self._reached([head, *self.refers[head]])}
        own = [other for symbol, other in self.helpers.items() if symbol not in theirs]
        left_out = theirs - self._reached(symbol for part in (*own, text) for symbol in self._referred(part))
        return self._renamed([*[self._before(symbol, other) for symbol, other in self.helpers.items() if symbol not in left_out], text])

    def _module(self, symbol: str, text: str) -> str:
        """A shared function behind declarations of others, and definitions of all else that it refers to."""
        reached = self._reached(self.refers[symbol])
        return self._renamed([*[self._before(other, definition) for other, definition in self.helpers.items() if other in reached], text])

    def _renamed(self, texts: Sequence[str]) -> str:
        whole = "\n".join(texts)
        for symbol, name in self.names.items():
            whole = whole.replace(f"@{symbol}(", f"@{name}(")
        return whole

    def callees_first(self) -> list[str]:
        """The shared functions in an order in which they can be loaded."""
        order: dict[str, None] = {}

        def visit(symbol: str) -> None:
            for other in self.helpers:
                if other in self.refers[symbol] and other not in order:
                    visit(other)
            order[symbol] = None

        for symbol in self.heads:
            if symbol not in order:
                visit(symbol)
        return [symbol for symbol in order if symbol in self.heads]

    def _before(self, symbol: str, text: str) -> str:
        """What stands for a helper in front of what refers to it: its text, or the declaration of a shared function."""
        head = self.heads.get(symbol)
        return text if head is None else f"declare {head[1]}{symbol}({_PARAMETER.sub('', head[3])})"

    def _referred(self, text: str) -> set[str]:
        return {symbol for symbol in _SYMBOL.findall(text) if symbol in self.helpers}

    def _reached(self, symbols: Iterable[str]) -> set[str]:
        """The helpers that a text refers to which names these, up to shared functions."""
        reached, left = set[str](), list(symbols)
        while left:
            symbol = left.pop()
            if symbol not in reached:
                reached.add(symbol)
                if symbol not in self.heads:
                    left += self.refers[symbol]
        return reached

    def _hash(self, symbol: str) -> str:
        texts, left = dict[str, str](), [symbol]
        while left:
            name = left.pop()
            if name not in texts:
                texts[name] = self.helpers[name]
                left += self.refers[name]
        return blake2b("\n".join(texts[name] for name in sorted(texts)).encode(), digest_size=8).hexdigest()
