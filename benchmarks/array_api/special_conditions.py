"""The sentences in which the standard says what functions are at special values, read into conditions and results.

A sentence is ``If CONDITION, the result is RESULT.``; a condition is a conjunction of statements on the operands ``x_i``, ``x1_i``, ``x2_i``, or
on the real and the imaginary part ``a`` and ``b`` of a complex one. What cannot be read is said to be so, and not guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Values: TypeAlias = Mapping[str, float]
Condition: TypeAlias = Callable[[Values], bool]
Accepts: TypeAlias = Callable[[Values, complex], bool]

_ANGLES = {"π": math.pi, "π/2": math.pi / 2, "π/4": math.pi / 4, "3π/4": 3 * math.pi / 4}
_NUMBERS = {"infinity": math.inf, "NaN": math.nan, "0": 0.0, "1": 1.0, "True": 1.0, "False": 0.0, **_ANGLES}
_IMAGINARY = {"0j": 0.0, "NaN j": math.nan, "infinity j": math.inf, **{angle.replace("π", "πj"): value for angle, value in _ANGLES.items()}}
_SIGNS = {"+": 1.0, "-": -1.0, "±": 1.0, "": 1.0}
_KINDS: dict[str, Callable[[float], bool]] = {
    "a finite number": math.isfinite,
    "a nonzero finite number": lambda v: math.isfinite(v) and v != 0,
    "a nonzero number": lambda v: v != 0 and not math.isnan(v),
    "a positive finite number": lambda v: math.isfinite(v) and v > 0,
    "a negative finite number": lambda v: math.isfinite(v) and v < 0,
    "any value": lambda v: True,
    "an odd integer value": lambda v: math.isfinite(v) and v % 2 == 1,
    "not an odd integer value": lambda v: not (math.isfinite(v) and v % 2 == 1),
    "not an integer value": lambda v: math.isfinite(v) and v != math.floor(v),
    "already integer-valued": lambda v: math.isfinite(v) and v == math.floor(v),
}


class UnreadError(ValueError):
    """A sentence of another form."""


@dataclass(frozen=True)
class Sentence:
    """One sentence: when it applies, and which results it accepts."""

    text: str
    applies: Condition
    accepts: Accepts


def same(x: float, y: float, *, sign: bool = True, exact: bool = True) -> bool:
    """Whether a number is another one: NaN is NaN, zeros have the same sign if that matters, others are equal or differ by rounding in float32."""
    if math.isnan(y):
        return math.isnan(x)
    if not sign:
        x, y = abs(x), abs(y)
    if y == 0 or math.isinf(y) or exact:
        return x == y and (y != 0 or not sign or math.copysign(1, x) == math.copysign(1, y))
    return math.isclose(x, y, rel_tol=1e-6)


def number(text: str) -> float:
    """A number as the standard writes it."""
    sign, rest = (text[0], text[1:]) if text[:1] in "+-±" else ("", text)
    if rest not in _NUMBERS:
        raise UnreadError(text)
    return _SIGNS[sign] * _NUMBERS[rest]


def read(text: str) -> Sentence:
    """A sentence.

    Raises:
        UnreadError: it has another form.
    """
    also = re.search(r"libraries may return ``([^`]+)``", text)
    plain = re.sub(r" \(i\.e\., [^)]*\)| \(including ``NaN``\)| \(\*\*note\*\*.*", "", text).removesuffix(".")
    match = re.fullmatch(r"(?:Similarly, i|I)f (.*?),? the result is (.*)", plain)
    if match is None:
        raise UnreadError(text)
    accepts = _result(match[2])
    if also is None:
        return Sentence(text, _condition(match[1].rstrip(",")), accepts)
    other = _value(also[1].removesuffix(".0"), True, True, True)
    return Sentence(text, _condition(match[1].rstrip(",")), lambda v, y: accepts(v, y) or other(v, y))


def _condition(text: str) -> Condition:
    either = re.fullmatch(r"either ``(\w+)`` or ``(\w+)`` is ``NaN``", text) or re.fullmatch(r"``(\w+)`` is ``NaN`` or ``(\w+)`` is ``NaN``", text)
    if either is not None:
        return lambda v: any(math.isnan(v[name]) for name in either.groups())
    parts = [_statement(part) for part in re.split(r",? and (?=``)|, (?=``)", text)]
    return lambda v: all(part(v) for part in parts)


def _statement(text: str) -> Condition:
    match = re.fullmatch(r"``(abs\()?(\w+)\)?``(?: is)? (.*)", text)
    if match is None:
        raise UnreadError(text)
    name, said = match[2], match[3]
    test = _test(said)
    return (lambda v: test(abs(v[name]))) if match[1] else (lambda v: test(v[name]))


def _test(said: str) -> Callable[[float], bool]:
    """What is said of one number."""
    if said in _KINDS:
        return _KINDS[said]
    if match := re.fullmatch(r"(not )?``([^`]+)``", said):
        value = number(match[2])
        return (lambda v: not same(v, value)) if match[1] else (lambda v: same(v, value))
    if match := re.fullmatch(r"either ``([^`]+)`` or ``([^`]+)``", said):
        several = [number(match[i]) for i in (1, 2)]
        return lambda v: any(same(v, value) for value in several)
    if match := re.fullmatch(r"(greater than|less than|not equal to) ``([^`]+)``", said):
        bound, kind = number(match[2]), match[1]
        return (lambda v: v > bound) if kind == "greater than" else (lambda v: v < bound) if kind == "less than" else (lambda v: v != bound)
    raise UnreadError(said)


def _result(said: str) -> Accepts:
    """Which results are accepted: all that leave out what is unspecified."""
    free = re.search(r" \(signs? of (.*) unspecified\)$", said)
    unspecified = free[1] if free else ""
    said = said[: free.start()] if free else said
    said = said.split(", even if")[0]
    exact = not said.startswith("an implementation-dependent approximation to ")
    match = re.fullmatch(r"(?:an implementation-dependent approximation to |equal to )?``([^`]+)``", said)
    if match is None:
        raise UnreadError(said)
    return _value(match[1], exact, "real" not in unspecified, "imaginary" not in unspecified)


def _value(text: str, exact: bool, real_sign: bool, imaginary_sign: bool) -> Accepts:
    if match := re.fullmatch(r"(-?)(\|?)(abs\()?(x_i|x1_i|x2_i|min_i|max_i|a|b)[|)]?", text):
        sign, name, absolute = _SIGNS[match[1]], match[4], bool(match[2] or match[3])
        return lambda v, y: same(y.real, sign * (abs(v[name]) if absolute else v[name]), exact=False)
    if match := re.fullmatch(r"([+]?)(0|infinity) ?\* ?cis\(b\)", text):
        size = _NUMBERS[match[2]]
        return lambda v, y: same(y.real, _scaled(size, math.cos(v["b"]))) and same(y.imag, _scaled(size, math.sin(v["b"])))
    if match := re.fullmatch(r"([+-±]?\S+) ([+-±]) (\S.*j.*)", text):
        if match[3] not in _IMAGINARY:
            raise UnreadError(text)
        real, imaginary = number(match[1]), _SIGNS[match[2]] * _IMAGINARY[match[3]]
        real_sign = real_sign and match[1] != "0" and not match[1].startswith("±")
        imaginary_sign = imaginary_sign and match[2] != "±"
        return lambda v, y: same(y.real, real, sign=real_sign, exact=False) and same(y.imag, imaginary, sign=imaginary_sign, exact=False)
    value, signed = number(text), real_sign and text != "0"
    return lambda v, y: same(y.real, value, sign=signed, exact=exact)


def _scaled(size: float, part: float) -> float:
    return math.copysign(size, part) if part != 0 or size == 0 else part
