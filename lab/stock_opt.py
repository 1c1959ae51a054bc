"""Our passes and ops under stock ``xdsl-opt``: errors that say ``file:line:col`` and what is wrong, and no traceback.

xDSL's parser gives an op a location only where the text has one. So places are noted while it reads, and ops without a location get them before the first of
our passes runs; whoever runs none of our passes sees nothing of it. A pass runs as ``wengert-opt`` would run it: its errors name it, and one that is our fault
leaves a reproducer. What is raised is an exception of xDSL's (``--verify-diagnostics`` catches it); the interpreter's last words about it are the diagnostic.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from bisect import bisect_left
from functools import wraps
from types import TracebackType
from typing import Any, ClassVar, Self, cast

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, LocationAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import ParseError, PassFailedException

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.location.locations import at
from wengert.ir.pipeline.options import kebab
from wengert.ir.pipeline.passes import InternalError, Pipeline
from wengert.ir.plugins import PluginError

_PLACE, _TEXT = "_wengert_place", "_wengert_text"
_OURS = re.compile(r"(?:%[^=\n]*=\s*)?\"?(?:stablehlo|chlo|core|kernel|ad)\.")
"""The beginning of one of our ops."""


class StockError(PassFailedException):
    """An error of one of our passes; its text is all there is to say."""


def note_places() -> None:
    """Makes xDSL's parser note where each op begins; once is enough."""
    read = Parser.parse_operation
    if hasattr(read, "__wrapped__"):
        return

    @wraps(read)
    def noting(self: Parser) -> Operation:
        start = self._current_token.span.start  # pyright: ignore[reportPrivateUsage]
        try:
            op = read(self)
        except ParseError as error:
            if _OURS.match(self.lexer.input.content, start):
                _say_only(error, _diagnostic(error).render())
            raise
        setattr(op, _PLACE, (self.lexer.input, start))
        return op

    Parser.parse_operation = noting


def _diagnostic(error: ParseError) -> Diagnostic:
    """What is wrong with a text, and where."""
    source, start = error.span.input, error.span.start
    text = cast(str, source.content)
    line, before = text.count("\n", 0, start) + 1, text.rfind("\n", 0, start) + 1
    return Diagnostic(error.msg, source.name, line, start - before + 1, source_line=text[before:].partition("\n")[0])


def give_places(module: ModuleOp) -> None:
    """Gives ops without a location the place that was noted for them."""
    lines: dict[int, list[int]] = {}
    for op in module.walk():
        noted: tuple[Any, int] | None = getattr(op, _PLACE, None)
        if noted is None:
            continue
        delattr(op, _PLACE)
        source, start = noted
        if id(source) not in lines:
            lines[id(source)] = [-1, *(i for i, character in enumerate(source.content) if character == "\n")]
        place = _location(source.name, lines[id(source)], start)
        if op.location == UNKNOWN_LOC or _same_line(op.location, place):
            op.location = place


def _location(name: str, breaks: list[int], start: int) -> FileLineColLoc:
    line = bisect_left(breaks, start)
    return at(name, line, start - breaks[line - 1])


def _same_line(location: LocationAttr, place: FileLineColLoc) -> bool:
    """Whether a location is that of a word inside of the op, which is where ops in their pretty form get it."""
    return isinstance(location, FileLineColLoc) and (location.filename, location.line) == (place.filename, place.line)


@dataclasses.dataclass(frozen=True)
class StockPass(ModulePass):
    """A pass of ours as ``xdsl-opt`` runs it."""

    inner: ClassVar[type[ModulePass]]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Runs the pass. Raises StockError."""
        give_places(op)
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self.inner)}
        try:
            Pipeline((self.inner(**options),)).run(op, context=ctx)
        except DiagnosticError as error:
            raise _shown(error.render()) from error
        except PluginError as error:
            raise _shown(f"error: {error.message}\n{error.details.rstrip()}") from error
        except InternalError as error:
            where = f" What reproduces it is in {error.reproducer}" if error.reproducer else ""
            raise _shown(f"error: {error}\nThis is a defect of wengert.{where}") from error

    @classmethod
    def from_spec(cls, spec: ArgSpec) -> Self:
        """The pass that the command line asks for. Raises StockError for options that it does not have."""
        try:
            return super().from_spec(spec)
        except Exception as error:
            known = [kebab(field.name) for field in dataclasses.fields(cls.inner)]
            unknown = [name for name in spec.parameters if kebab(name) not in known]
            if not unknown:
                raise _shown(f"<command line>: error: {spec.name}: {error}") from error
            hint = did_you_mean(unknown[0], known) or f"options: {', '.join(known) or 'none'}"
            raise _shown(f"<command line>: error: pass '{spec.name}' has no option '{unknown[0]}'\nhint: {hint}") from error


def stock_pass(cls: type[ModulePass], exposed: str) -> type[ModulePass]:
    """The class by which ``xdsl-opt`` knows a pass of ours."""
    namespace = {"name": exposed, "__doc__": cls.__doc__, "inner": cls}
    return dataclasses.make_dataclass(cls.__name__, [], bases=(StockPass, cls), namespace=namespace, frozen=True)


def _shown(text: str) -> StockError:
    """The error of this text, which is all that is said of it."""
    error = StockError(text)
    _say_only(error, text)
    return error


_before: list[Any] = []


def _say_only(error: Exception, text: str) -> None:
    """Makes the interpreter say this text, and no traceback, if nobody catches the error."""
    setattr(error, _TEXT, text)
    if sys.excepthook is not _say:
        _before.append(sys.excepthook)
        sys.excepthook = _say


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    text: str | None = getattr(error, _TEXT, None)
    if text is not None:
        print(text, file=sys.stderr)
    else:
        (_before[-1] if _before else sys.__excepthook__)(kind, error, trace)
