"""FileCheck in a test: whether a text has the lines that a comment asks for, in order."""

from __future__ import annotations

import io

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts


def file_check(text: str, checks: str) -> None:
    """Fails where the text is not as the ``CHECK`` lines say; the matcher's message shows where."""
    options = Options("checks")
    status = Matcher(options, FInput("text", text), Parser(options, io.StringIO(checks), *pattern_for_opts(options))).run()
    assert status == 0, text
