"""Merges functions that are equal up to integers: layers of a model have convolutions of the same form and other sizes.

One function reads the integers in which they differ from a table, and each of them is a call of it with a table of its own. Only functions are merged that
leave their work to shared ones (micro-kernels, copies of panels): what they do themselves are loops around these, where a constant is worth nothing. No
floating-point instruction changes, so that results have the same bits.

Merging similar functions by parameters for what differs: T. J. K. Edler von Koch et al., "Exploiting function similarity for code size reduction", LCTES 2014.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

LEAST_LINES = 50
"""Shorter functions stay: a call of the one that is merged costs LLVM as much as some twenty lines."""
MOST_NUMBERS = 64
"""Functions that differ in more numbers stay apart."""

_FUNCTION = re.compile(r"^define internal void @([\w.]+)\(([^\n]*)\) ([^\n{]*)\{\n(.*?)^\}\n", re.MULTILINE | re.DOTALL)
_WORKS_BY_CALLS = re.compile(r"^call void @wg\.(?:convolution|tile|panel)\b", re.MULTILINE)
_ARITHMETIC = r"%[\w.]+ = (?:add|sub|mul|udiv|urem|icmp \w+)(?: nuw| nsw)* i64 "
_OTHERS = r"%[\w.]+ = (?:getelementptr [^\n]*, i64 |select |phi i64 |call i64 @llvm\.umin)|call void @wg\.|call void @llvm\.mem|store i32 -?\d"
_LINE = re.compile(rf"^(?:{_ARITHMETIC}|{_OTHERS})[^\n]*$", re.MULTILINE)
"""Instructions that take integers of 64 bits, or store some of 32, from registers as well."""
_LARGE = r"(?<=i64 )\d{4,}(?=, i1 )"
"""How many bytes are filled or copied, if that takes a call in any case."""
_NUMBER = re.compile(rf"{_LARGE}|(?<=i64 )-?\d+(?=[,)](?! i1 )|$)|(?<=, )-?\d+$|(?<=\[)-?\d+(?=, %)|(?<=^store i32 )-?\d+(?=,)")
"""An operand that is a number: behind its type, the second one of two, a phi's."""
_PLACE = re.compile("([\0\1])")
"""Stands in a form where a number was; the second one where it has 32 bits."""


class _Function(Struct, frozen=True):
    """A function, with its text apart from the numbers that may differ."""

    name: str
    parameters: str
    attributes: str
    form: str
    numbers: tuple[str, ...]


def merged(kernels: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Merges functions.

    Args:
        kernels: the texts of kernels by their names, each of one function or more.

    Returns:
        The texts with calls in place of what was merged, and the functions that they call.
    """
    groups: dict[tuple[str, str, str], list[_Function]] = {}
    for text in kernels.values():
        if "\ncall void @wg." in text:
            for match in _FUNCTION.finditer(text):
                if match[0].count("\n") >= LEAST_LINES and _WORKS_BY_CALLS.search(match[4]):
                    function = _taken_apart(match)
                    groups.setdefault((function.parameters, function.attributes, function.form), []).append(function)
    replaced, functions = dict[str, str](), list[str]()
    for group in groups.values():
        columns = list(zip(*[function.numbers for function in group], strict=True))
        varying = {column: place for place, column in enumerate(dict.fromkeys(column for column in columns if any(n != column[0] for n in column)))}
        if len(group) > 1 and len(varying) <= MOST_NUMBERS:
            name = f"alike{len(functions)}"
            functions.append(_common(name, group[0], columns, varying))
            replaced |= {function.name: _call(name, function, [column[number] for column in varying]) for number, function in enumerate(group)}
    if not replaced:
        return dict(kernels), ""
    return {name: _FUNCTION.sub(lambda match: replaced.get(match[1], match[0]), text) for name, text in kernels.items()}, "".join(functions)


def _taken_apart(match: re.Match[str]) -> _Function:
    numbers: list[str] = []

    def number(digits: re.Match[str]) -> str:
        numbers.append(digits[0])
        return "\1" if digits.string.startswith("store i32") else "\0"

    form = _LINE.sub(lambda line: _NUMBER.sub(number, line[0]), match[4])
    return _Function(match[1], match[2], match[3], form, tuple(numbers))


Column = tuple[str, ...]
"""A number as it is in each function of a group."""


def _common(name: str, first: _Function, columns: list[Column], varying: Mapping[Column, int]) -> str:
    """The function that all of a group call."""
    head, *rest = _PLACE.split(first.form)
    body, short = [head], dict[int, None]()
    for column, place, text in zip(columns, rest[::2], rest[1::2], strict=True):
        number = varying.get(column)
        if number is not None and place == "\1":
            short[number] = None
        body += [column[0] if number is None else f"%number{number}{'.short' if place == chr(1) else ''}", text]
    read = [f"%number{n}.at = getelementptr i64, ptr %numbers, i64 {n}\n%number{n} = load i64, ptr %number{n}.at\n" for n in varying.values()]
    read += [f"%number{n}.short = trunc i64 %number{n} to i32\n" for n in short]
    parameters = ", ".join([*filter(None, [first.parameters]), "ptr noalias readonly %numbers"])
    inline = "" if "noinline" in first.attributes else "noinline "
    return f"define internal void @{name}({parameters}) {inline}{first.attributes}{{\n{''.join([*read, *body])}}}\n"


def _call(name: str, function: _Function, numbers: list[str]) -> str:
    """What is left of one of them, behind the table of its numbers."""
    table = f"@{function.name}.numbers = internal constant [{len(numbers)} x i64] [{', '.join([f'i64 {number}' for number in numbers])}], align 8\n"
    parts = [part.split() for part in function.parameters.split(", ") if part]
    operands = ", ".join([*[f"{type} {operand}" for type, *_, operand in parts], f"ptr @{function.name}.numbers"])
    return f"{table}define internal void @{function.name}({function.parameters}) {function.attributes}{{\ncall void @{name}({operands})\nret void\n}}\n"
