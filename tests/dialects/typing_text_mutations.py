"""Random changes to the text of an op in generic form: attributes of every kind and whatever is nested in them, the numbers
of operands and results, and operands that become constants.

A changed text need not even be readable; then both sides have to refuse it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_HEAD = re.compile(r'(?P<results>(?:%r(?::\d+)? = )?)"(?P<name>[\w.]+)"\((?P<operands>[^)]*)\)')
_SIGNATURE = re.compile(r" : \((?P<operands>[^\n]*)\) -> \((?P<results>[^\n]*)\)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.%@\"])-?\d+(?![\w.])")
_REAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])")
_LIST = re.compile(r"\[([^\[\]<>]+)\]|(?<=: )((?:-?\d+, )+-?\d+)(?=>)")
_WORD = re.compile(r"\b[A-Z][A-Z_]+[A-Z]\b|\btrue\b|\bfalse\b")
_STRING = re.compile(r'"([^"]*)"')
_TYPE = re.compile(r"(?<=: )(i64|i32|i1|tensor<[\dx]*\w+>)|(?<== )(tf32|bf16|f32|f8\w+)(?=,)|(?<=array<)(i64|i1)")

ATTRIBUTES = [
    "unit",
    "true",
    "1 : i32",
    "1 : i64",
    "-1 : i64",
    "0 : i64",
    "1.0 : f32",
    '"text"',
    "[]",
    "{}",
    "[1, 2]",
    "@g",
    "array<i64>",
    "array<i64: 0>",
    "array<i64: 0, 1>",
    "array<i64: -1>",
    "array<i32: 0>",
    "array<i1: true>",
    "dense<0> : tensor<i64>",
    "dense<[0]> : tensor<1xi64>",
    "dense<[[0, 1]]> : tensor<1x2xi64>",
    "dense<[[0, 1]]> : tensor<1x2xi32>",
    "dense<1.0> : tensor<2xf32>",
    "#stablehlo<precision HIGH>",
    "#stablehlo<transpose ADJOINT>",
    "#stablehlo.channel_handle<handle = 1, type = 1>",
]
WORDS = ["DEFAULT", "HIGHEST", "TOLERANCE", "HIGH", "NONE", "EQ", "FLOAT", "true", "false", "ADJOINT", "TRANSPOSE_INVALID", "FFT", "UNIFORM"]
TYPES = ["i64", "i32", "i1", "f32", "bf16", "f64", "f8E5M2", "tf32", "tensor<2xi64>", "tensor<2x2xi64>", "tensor<2xf32>", "tensor<i64>", "tensor<2x2xi32>"]
STRINGS = ["", "a", "my.op", "1x", "a.b.c", "a.", ".a", "a.1", "a_b.c_d", "a b.c"]


def _op(text: str) -> tuple[re.Match[str], re.Match[str]] | None:
    """Where the op under test names its operands, and where it gives types."""
    heads = list(_HEAD.finditer(text))
    signatures = list(_SIGNATURE.finditer(text, 0, text.find("\nreturn\n")))
    head = next((h for h in heads if h["name"] != "stablehlo.constant"), heads[0] if heads else None)
    return None if head is None or not signatures else (head, signatures[-1])


def _body(text: str) -> tuple[int, int] | None:
    """Where the op's properties stand, without their braces."""
    start = text.find("<{")
    if start < 0:
        return None
    end = text.find("}>", start)
    while text[end + 2 : end + 3] == ">":  # a dictionary inside of an attribute
        end = text.find("}>", end + 1)
    return start + 2, end


def _replace(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _matches(text: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    place = _body(text)
    return [] if place is None else list(pattern.finditer(text, *place))


def change_number(rng: random.Random, text: str) -> str:
    """One integer in the attributes."""
    numbers = _matches(text, _NUMBER)
    if not numbers:
        return text
    m = rng.choice(numbers)
    n = int(m.group())
    return _replace(text, *m.span(), str(rng.choice([-1, 0, 1, 2, n + 1, n - 1, -n, 7, 100_000, 2**63])))


def change_real(rng: random.Random, text: str) -> str:
    """One number with a point."""
    reals = _matches(text, _REAL)
    return _replace(text, *(m := rng.choice(reals)).span(), rng.choice(["0.0", "-1.0", "1", f"-{m.group()}", "1.0e400", "0x10"])) if reals else text


def change_list(rng: random.Random, text: str) -> str:
    """One list: an item more or less, or two exchanged."""
    lists = _matches(text, _LIST)
    if not lists:
        return text
    m = rng.choice(lists)
    items = m.group().strip("[]").split(", ")
    what, i = rng.randrange(4), rng.randrange(len(items))
    if what == 0:
        del items[i]
    elif what == 1:
        items.insert(i, rng.choice(items))
    elif what == 2:
        items.insert(rng.randint(0, len(items)), rng.choice(["-1", "0", "1", "2", "true"]))
    else:
        rng.shuffle(items)
    joined = ", ".join(items)
    return _replace(text, *m.span(), f"[{joined}]" if m.group().startswith("[") else joined)


def change_word(rng: random.Random, text: str) -> str:
    """One word of an enumeration, or a boolean."""
    words = _matches(text, _WORD)
    return _replace(text, *rng.choice(words).span(), rng.choice(WORDS)) if words else text


def change_string(rng: random.Random, text: str) -> str:
    """One string."""
    strings = _matches(text, _STRING)
    return _replace(text, *rng.choice(strings).span(1), rng.choice(STRINGS)) if strings else text


def change_type(rng: random.Random, text: str) -> str:
    """One type in an attribute."""
    types = _matches(text, _TYPE)
    return _replace(text, *rng.choice(types).span(), rng.choice(TYPES)) if types else text


def _entries(text: str) -> list[str]:
    """The properties, each as ``name = value``."""
    place = _body(text)
    if place is None:
        return []
    parts, depth, last, body = list[str](), 0, 0, text[slice(*place)]
    for i, c in enumerate(body):
        depth += (c in "<[({") - (c in "])}" or (c == ">" and body[i - 1] != "-"))
        if c == "," and not depth:
            parts.append(body[last:i].strip())
            last = i + 1
    return [*parts, body[last:].strip()]


def _with(text: str, entries: list[str]) -> str:
    place = _body(text)
    assert place is not None
    return _replace(text, *place, ", ".join(entries))


def change_entry(rng: random.Random, text: str) -> str:
    """One attribute: gone, of another kind, or under another name."""
    entries = _entries(text)
    if not entries:
        return text
    i, what = rng.randrange(len(entries)), rng.randrange(4)
    name = entries[i].partition(" = ")[0]
    if what == 0:
        del entries[i]
    elif what == 1:
        entries.append(f"{name}s = 1 : i64")
    else:
        entries[i] = f"{name} = {rng.choice(ATTRIBUTES)}"
    return _with(text, entries)


def change_counts(rng: random.Random, text: str) -> str:
    """One operand or one result more or less."""
    parts = _op(text)
    if parts is None:
        return text
    head, signature = parts
    uses, types = [u for u in head["operands"].split(", ") if u], _split(signature["operands"])
    results = _split(signature["results"])
    what = rng.randrange(4)
    if what == 0 and uses:
        i = rng.randrange(len(uses))
        del uses[i], types[i]
    elif what == 1 and uses:
        i, j = rng.randrange(len(uses)), rng.randint(0, len(uses))
        uses.insert(j, uses[i])
        types.insert(j, types[i])
    elif what == 2 and results:
        del results[rng.randrange(len(results))]
    else:
        results.append(rng.choice([*results, *types, "tensor<f32>"]))
    text = _replace(text, *signature.span(), f" : ({', '.join(types)}) -> ({', '.join(results)})")
    left = f"%r:{len(results)} = " if len(results) > 1 else "%r = " if results else ""
    return _replace(text, *head.span(), f'{left}"{head["name"]}"({", ".join(uses)})')


def _split(types: str) -> list[str]:
    """The types of a list."""
    parts, depth, last = list[str](), 0, 0
    for i, c in enumerate(types):
        depth += (c in "<{(") - (c in ">})")
        if c == "," and not depth:
            parts.append(types[last:i].strip())
            last = i + 1
    return [*parts, types[last:].strip()] if types else []


def change_to_constant(rng: random.Random, text: str) -> str:
    """An operand that holds integers becomes a constant."""
    parts = _op(text)
    if parts is None:
        return text
    head, signature = parts
    uses = [u for u in head["operands"].split(", ") if u]
    places = [(i, m) for i, t in enumerate(_split(signature["operands"])) if (m := re.fullmatch(r"tensor<(?:(\d)x)?(i32|i64)>", t.strip()))]
    if not places:
        return text
    constants = ""
    for i, m in places if rng.random() < 0.5 else [rng.choice(places)]:
        values = [str(rng.choice([-1, 0, 1, 1, 2, 2, 3, 4, 5])) for _ in range(int(m[1] or 1))]
        constant = (
            f'%c{i} = "stablehlo.constant"() <{{value = dense<{"[" + ", ".join(values) + "]" if m[1] else values[0]}> : {m.group()}}}> : () -> {m.group()}\n'
        )
        constants += constant
        uses[i] = f"%c{i}"
    text = _replace(text, *head.span(), f'{head["results"]}"{head["name"]}"({", ".join(uses)})')
    return text.replace("{\n", "{\n" + constants, 1)


QUANTIZED = [
    "!quant.uniform<i8:f32, 5.000000e-01:3>",
    "!quant.uniform<i8:f32, 2.500000e-01>",
    "!quant.uniform<u8:f32, 5.000000e-01:3>",
    "!quant.uniform<i16:f32, 5.000000e-01:3>",
    "!quant.uniform<i8:f16, 5.000000e-01>",
    "!quant.uniform<i8<-127:127>:f32, 5.000000e-01>",
    "!quant.uniform<i8:f32, 5.000000e-01:200>",
    "!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>",
    "!quant.uniform<i8:f32:0, {5.000000e-01:1,2.500000e-01}>",
    "!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01,1.000000e+00}>",
    "!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01,1.000000e+00,1.500000e+00,5.000000e+00}>",
    "!quant.uniform<i8:f32:0, {5.000000e-01}>",
    "f32",
    "i8",
]
_FLOAT_TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)f32>")


def quantize(rng: random.Random, text: str) -> str:
    """Quantized numbers instead of f32: everywhere, then other ones in an operand or a result."""
    first = rng.choice(QUANTIZED)
    if rng.random() < 0.1:
        return _FLOAT_TENSOR.sub(lambda m: f"tensor<{m[1]}{rng.choice([first, 'f32'])}>", text)
    changed = _FLOAT_TENSOR.sub(lambda m: f"tensor<{m[1]}{first}>", text)
    parts = _op(changed)
    if parts is None or rng.random() < 0.3:
        return changed
    head, signature = parts
    operands, results = _split(signature["operands"]), _split(signature["results"])
    place = rng.randrange(len(operands) + len(results)) if operands or results else 0
    types = [*operands, *results]
    if not types or first not in types[place]:
        return changed
    types[place] = types[place].replace(first, rng.choice(QUANTIZED))
    uses = [u for u in head["operands"].split(", ") if u]
    changed = _replace(changed, *signature.span(), f" : ({', '.join(types[: len(operands)])}) -> ({', '.join(types[len(operands) :])})")
    if place < len(operands):
        argument = f"{uses[place]}: {operands[place]}"
        changed = changed.replace(argument, f"{uses[place]}: {types[place]}", 1)
    return changed


CHANGES: list[Callable[[random.Random, str], str]] = [
    change_number,
    change_number,
    change_real,
    change_list,
    change_word,
    change_string,
    change_type,
    change_entry,
    change_counts,
    change_to_constant,
]


def mutate(rng: random.Random, text: str) -> str:
    """Another text; the same one if no change applies."""
    for change in rng.sample(CHANGES, len(CHANGES)):
        changed = change(rng, text)
        if changed != text:
            return changed if rng.random() < 0.8 else rng.choice(CHANGES)(rng, changed)
    return text
