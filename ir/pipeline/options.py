"""The text of pipelines: ``vjp{fn=main wrt=0,1},simplify,cse``, read and written.

The grammar is the one of xDSL, which is MLIR's with repeated values::

    pipeline ::= [pass (`,` pass)*]
    pass     ::= name [`{` option* `}`]
    option   ::= key [`=` value (`,` value)*]
    value    ::= word | string

Values are converted by the declared type of the option (so ``fn=2`` is a function's name and ``wrt=2`` a number), and
every mistake is reported at its column. An option that takes one of the names in a table that plug-ins add to is declared
``Annotated[str, OneOf(names)]``. What is written is also read by stock ``xdsl-opt``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct
from xdsl.passes import ModulePass

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.pipeline.translations import Translation

PIPELINE = "<pipeline>"
"""The file that diagnostics of a pipeline's text name."""

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[^\s{}=,"]+|[{}=,"]')
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class OneOf(Struct, frozen=True):
    """Says of an option that it takes one of these names, which are asked for when they are needed."""

    names: Callable[[], Sequence[str]]
    accepts: Callable[[str], bool] | None = None
    """Whether it takes a word, where it takes others than those that are listed."""


class Word(Struct, frozen=True):
    """A name or value and where it begins in the pipeline text."""

    text: str
    start: int


class PassText(Struct, frozen=True):
    """A pass as it was written: its name, and its options with their values."""

    name: Word
    options: tuple[tuple[Word, tuple[Word, ...]], ...]


class PipelineText:
    """Reads a pipeline's text; the passes' names and options are not looked at yet."""

    def __init__(self, text: str):
        self.text = text
        self._tokens = [Word(m.group(), m.start()) for m in _TOKEN.finditer(text)]
        self._next = 0

    def passes(self) -> Iterator[PassText]:
        """Each pass in turn; a DiagnosticError at the first mistake."""
        if not self._tokens:
            return
        yield self._pass()
        while self._accept(","):
            yield self._pass()
        if self._next < len(self._tokens):
            self.fail(self._tokens[self._next], f"expected ',' or the end of the pipeline, found '{self._tokens[self._next].text}'")

    def fail(self, word: Word, message: str, hint: str = "") -> NoReturn:
        """Reports a mistake at a word."""
        line = self.text.count("\n", 0, word.start) + 1
        begin = self.text.rfind("\n", 0, word.start) + 1
        source = self.text[begin:].split("\n", 1)[0]
        raise DiagnosticError(Diagnostic(message, PIPELINE, line, word.start - begin + 1, source_line=source, length=max(1, len(word.text)), hint=hint))

    def _peek(self) -> Word:
        return self._tokens[self._next] if self._next < len(self._tokens) else Word("", len(self.text))

    def _accept(self, mark: str) -> bool:
        if self._peek().text == mark:
            self._next += 1
            return True
        return False

    def _word(self, what: str) -> Word:
        word = self._peek()
        if word.text in ("", "{", "}", "=", ",", '"'):
            shown = f"'{word.text}'" if word.text else "the end"
            self.fail(word, "this string has no closing quote" if word.text == '"' else f"expected {what}, found {shown}")
        self._next += 1
        return Word(json.loads(word.text), word.start) if word.text.startswith('"') else word

    def _pass(self) -> PassText:
        name = self._word("the name of a pass")
        options: list[tuple[Word, tuple[Word, ...]]] = []
        if self._accept("{"):
            while not self._accept("}"):
                options.append(self._option())
        return PassText(name, tuple(options))

    def _option(self) -> tuple[Word, tuple[Word, ...]]:
        key = self._word("an option or '}'")
        if not self._accept("="):
            return key, ()
        values = [self._word(f"a value of {key.text}")]
        while self._accept(","):
            values.append(self._word(f"another value of {key.text}"))
            if self._peek().text == "=":
                self.fail(values[-1], f"expected another value of {key.text}, found an option", "options are separated by spaces: {a=1 b=2}")
        return key, tuple(values)


def build_pass(cls: type[ModulePass | Translation], written: PassText, source: PipelineText) -> ModulePass | Translation:
    """The pass with the options as written; a DiagnosticError for an option that is unknown, ill-typed or missing."""
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    types = option_types(cls)
    values: dict[str, Any] = {}
    for key, words in written.options:
        name = key.text.replace("-", "_")
        if name not in fields:
            known = [kebab(f) for f in fields]
            takes = f"{cls.name} takes {', '.join(known)}" if known else f"{cls.name} takes no options"
            source.fail(key, f"pass {cls.name} has no option '{key.text}'", did_you_mean(key.text, known) or takes)
        if name in values:
            source.fail(key, f"option '{key.text}' is given twice")
        try:
            values[name] = convert([w.text for w in words], types[name])
        except ValueError as error:
            choices = _choices(types[name])
            wrong = next((w for w in words if w.text not in choices), words[0] if words else key)
            expects = f"option '{key.text}' of pass {cls.name} expects {describe_type(types[name])}"
            source.fail(wrong, f"{expects}, found {error}", did_you_mean(wrong.text, choices))
    for name in cls.required_fields() - values.keys():
        source.fail(written.name, f"pass {cls.name} needs the option '{kebab(name)}' ({describe_type(types[name])})")
    return cls(**values)


def option_types(cls: type[ModulePass | Translation]) -> dict[str, Any]:
    """The declared types of a pass's options."""
    return get_type_hints(cls, include_extras=True)


def convert(words: Sequence[str], declared: Any) -> Any:
    """The words as a value of the declared type; a ValueError that says what was found instead."""
    alternatives = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    if not words:
        return _bare_option(alternatives)
    for alternative in alternatives:
        try:
            return _convert_as(words, alternative)
        except ValueError:
            continue
    raise ValueError(f"'{','.join(words)}'")


def _bare_option(alternatives: Sequence[Any]) -> Any:
    if bool in alternatives:
        return True
    if NoneType in alternatives:
        return None
    if any(get_origin(a) is tuple for a in alternatives):
        return ()
    raise ValueError("no value")


def _convert_as(words: Sequence[str], declared: Any) -> Any:
    if get_origin(declared) is tuple:
        parts = get_args(declared)
        if parts[-1] is Ellipsis:
            parts = parts[:1] * len(words)
        return tuple(_convert_one(word, part) for word, part in zip(words, parts, strict=True))
    if len(words) != 1:
        raise ValueError(words)
    return _convert_one(words[0], declared)


def _convert_one(word: str, declared: Any) -> Any:
    if get_origin(declared) is Literal:
        if word not in get_args(declared):
            raise ValueError(word)
        return word
    if get_origin(declared) is Annotated:
        if word not in _choices(declared) and not any(isinstance(x, OneOf) and x.accepts is not None and x.accepts(word) for x in get_args(declared)[1:]):
            raise ValueError(word)
        return word
    if declared is bool:
        if word not in ("true", "false"):
            raise ValueError(word)
        return word == "true"
    if declared in (int, float, str):
        return declared(word)
    raise ValueError(word)


def describe_type(declared: Any) -> str:
    """The type of an option in words: ``integers``, ``one of a, b``."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        return " or ".join(describe_type(a) for a in arguments if a is not NoneType)
    if origin in (Literal, Annotated):
        return "one of " + ", ".join(_choices(declared))
    if origin is tuple and get_origin(arguments[0]) is Literal:
        return "words out of " + ", ".join(str(a) for a in get_args(arguments[0]))
    if origin is tuple:
        return describe_type(arguments[0]).removeprefix("an ").removeprefix("a ") + "s"
    return {int: "an integer", float: "a number", bool: "true or false", str: "a word"}.get(declared, str(declared))


def _choices(declared: Any) -> tuple[str, ...]:
    """The words that a type lists, at any depth."""
    if get_origin(declared) is Literal:
        return get_args(declared)
    if get_origin(declared) is Annotated:
        return tuple(word for extra in get_args(declared)[1:] if isinstance(extra, OneOf) for word in extra.names())
    return tuple(word for argument in get_args(declared) for word in _choices(argument))


def kebab(name: str) -> str:
    """An option's name as it is written in pipelines."""
    return name.replace("_", "-")


def print_pass(pass_: ModulePass | Translation) -> str:
    """The pass as it is written in a pipeline, without options that have their default values."""
    options: list[str] = []
    for field in dataclasses.fields(pass_):
        value: Any = getattr(pass_, field.name)
        if not field.init or value == _default(field):
            continue
        written = print_value(value)
        options.append(f"{kebab(field.name)}={written}" if written else kebab(field.name))
    return f"{pass_.name}{{{' '.join(options)}}}" if options else pass_.name


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def print_value(value: Any) -> str:
    """An option's value as it is written in pipelines; empty for None and the empty tuple."""
    if isinstance(value, tuple):
        return ",".join(print_value(v) for v in cast("tuple[Any, ...]", value))
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        mantissa, e, exponent = repr(value).partition("e")
        return f"{mantissa}.0{e}{exponent}" if e and "." not in mantissa else repr(value)
    if isinstance(value, int) or (_BARE.fullmatch(value) and value not in ("true", "false")):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
