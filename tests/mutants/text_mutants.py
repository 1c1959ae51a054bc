"""Texts with mistakes in them: programs in both forms, changed at random the way editors, exporters and bad disks change them.

    for mutant in islice(mutate_texts(seed=0), 100):
        check(mutant.text)

Equal seeds give equal mutants, and each says from which seed it can be made alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutant_sources import SOURCES
from reference_programs import texts

from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>|[%@#!^]?[\w$.]+|->|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"\d+")
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("**/*.mlir"))
MOST_BYTES = 6000

WORDS = (
    *'()[]{}<>,:=%@#!^-"',
    *("->", "<{", "}>", "0", "-1", "1.5", "0x", "dense<", "loc(", "module", "unit", "true", "{-#"),
    *("99999999999999999999999", "tensor<2xf32>", "%0", "%arg0", "stablehlo.add", "stablehlo.return", "é", "\0", "\u2028", "\ufeff"),
)
NUMBERS = ("0", "1", "2", "3", "7", "-1", "64", "65", "4294967296", "9223372036854775807", "9223372036854775808", "0x10", "1.0", "1e400")
ELEMENTS = ("f64", "f32", "f16", "bf16", "i1", "i4", "i8", "i32", "i64", "ui8", "ui64", "complex<f64>", "f8E4M3FN", "f80", "index", "i17", "f4E2M1FN", "tf32")
SHAPES = ("", "0x", "1x", "2x", "4x", "4x4x", "3x1x2x", "?x", "*x", "4294967297x", "9223372036854775807x", "3037000500x3037000500x")


@dataclass(frozen=True)
class Mutant:
    """A text, and the seed that makes it again."""

    text: str
    seed: int


@cache
def programs() -> tuple[str, ...]:
    """What is changed: small programs of every kind, the examples, and the reference programs where there are some; pretty and generic."""
    originals = [*SOURCES, *(path.read_text() for path in EXAMPLES)]
    originals += [path.read_text() for path in texts("dev/*/f64*.mlir", "survey/*/*.mlir") if path.stat().st_size < MOST_BYTES]
    originals = [text for text in originals if len(text) < MOST_BYTES]
    return tuple(
        originals + [print_module(parse_module(text), generic=True, locations=number % 3 == 0) for number, text in enumerate(originals[: len(SOURCES)])]
    )


def mutate_texts(seed: int) -> Iterator[Mutant]:
    """Mutants without end."""
    while True:
        yield mutant(seed)
        seed += 1


def mutant(seed: int, sources: Sequence[str] | None = None) -> Mutant:
    """The mutant of one seed, of all programs or of those given."""
    choose = random.Random(seed)
    sources = sources or programs()
    tokens = TOKEN.findall(choose.choice(sources))
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        tokens = choose.choice(CHANGES)(tokens, choose) or tokens
    text = "".join(tokens)
    if choose.random() < 0.08:
        text = spliced(text, choose.choice(sources), choose)
    if choose.random() < 0.05:
        text = text[: choose.randrange(len(text) + 1)]
    if choose.random() < 0.05:
        text = noisy(text, choose)
    return Mutant(text, seed)


Change = Callable[[list[str], random.Random], list[str] | None]


def _where(tokens: Sequence[str], choose: random.Random, wanted: Callable[[str], bool]) -> int | None:
    places = [at for at, token in enumerate(tokens) if wanted(token)]
    return choose.choice(places) if places else None


def deleted(tokens: list[str], choose: random.Random) -> list[str] | None:
    """Without a word or mark."""
    at = _where(tokens, choose, lambda t: not t.isspace())
    return None if at is None else tokens[:at] + tokens[at + 1 :]


def doubled(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With a word or mark twice."""
    at = _where(tokens, choose, lambda t: not t.isspace())
    return None if at is None else [*tokens[:at], tokens[at], " ", *tokens[at:]]


def exchanged(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With two of its words exchanged."""
    one, other = (_where(tokens, choose, lambda t: not t.isspace()) for _ in range(2))
    if one is None or other is None:
        return None
    tokens = list(tokens)
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return tokens


def replaced(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With a word where another one was, or beside it."""
    at = _where(tokens, choose, lambda t: not t.isspace())
    return None if at is None else [*tokens[:at], choose.choice(WORDS), *tokens[at + choose.randrange(2) :]]


def renumbered(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With another number."""
    at = _where(tokens, choose, lambda t: bool(_NUMBER.search(t)))
    if at is None:
        return None
    match = choose.choice(list(_NUMBER.finditer(tokens[at])))
    return [*tokens[:at], tokens[at][: match.start()] + choose.choice(NUMBERS) + tokens[at][match.end() :], *tokens[at + 1 :]]


def retyped(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With another type in one place, or in all places of an equal one."""
    at = _where(tokens, choose, lambda t: t.startswith("tensor<"))
    if at is None:
        return None
    old = tokens[at]
    shape, element = re.match(r"tensor<((?:[\d?]+x)*)(.*)>", old).groups()  # pyright: ignore[reportOptionalMemberAccess]
    kind = choose.randrange(3)
    new = f"tensor<{choose.choice(SHAPES) if kind != 1 else shape}{choose.choice(ELEMENTS) if kind else element}>"
    everywhere = choose.random() < 0.5
    return [new if token == old and (everywhere or place == at) else token for place, token in enumerate(tokens)]


def unbalanced(tokens: list[str], choose: random.Random) -> list[str] | None:
    """Without one bracket, or with one of another kind."""
    at = _where(tokens, choose, lambda t: t in tuple("()[]{}<>"))
    return None if at is None else [*tokens[:at], choose.choice(["", *"()[]{}<>"]), *tokens[at + 1 :]]


def relined(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With a line left out, twice, or elsewhere."""
    lines = "".join(tokens).splitlines(keepends=True)
    if len(lines) < 3:
        return None
    at, kind = choose.randrange(len(lines)), choose.randrange(3)
    line = lines[at]
    if kind != 1:
        del lines[at]
    if kind:
        lines.insert(choose.randrange(len(lines)), line)
    return TOKEN.findall("".join(lines))


def requoted(tokens: list[str], choose: random.Random) -> list[str] | None:
    """With other contents in a string, or another name."""
    at = _where(tokens, choose, lambda t: t.startswith(('"', "@", "%")) and len(t) > 1)
    if at is None:
        return None
    inside = choose.choice(("", "\\00", "\\CF\\89", "\\FF", "\\q", "a b", "main", "φ", "x" * 300, "\\22", "0a", "a-b"))
    return [*tokens[:at], f'"{inside}"' if tokens[at][0] == '"' else tokens[at][0] + choose.choice((inside, f'"{inside}"')), *tokens[at + 1 :]]


CHANGES: tuple[Change, ...] = (*(deleted, doubled, exchanged, replaced, unbalanced, relined, requoted), *(renumbered, retyped) * 4)


def spliced(text: str, other: str, choose: random.Random) -> str:
    """The beginning of one program and the end of another."""
    ours, theirs = text.splitlines(keepends=True), other.splitlines(keepends=True)
    return "".join(ours[: choose.randrange(len(ours) + 1)] + theirs[choose.randrange(len(theirs) + 1) :])


def noisy(text: str, choose: random.Random) -> str:
    """With a few characters replaced by others."""
    characters = list(text)
    for _ in range(choose.choice((1, 3, 20))):
        if characters:
            characters[choose.randrange(len(characters))] = chr(choose.choice((choose.randrange(32), choose.randrange(128), choose.randrange(0x3000))))
    return "".join(characters)
