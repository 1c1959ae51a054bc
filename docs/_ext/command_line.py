"""``{command-line}``: the help of every command, taken from argparse, so that the reference cannot differ from the program."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from wengert.lab.cli import main as cli
from wengert.lab.opt import build_parser

WIDTH = "100"


def parsers() -> Iterator[argparse.ArgumentParser]:
    """The parser of each command."""
    for name in cli.COMMANDS:
        if name != "opt":
            parser = cli.parser_of(name)
            yield from (parser, *parser.actions().values())
    yield build_parser()


class CommandLine(SphinxDirective):
    """A section per command."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = WIDTH
        sections: list[nodes.Node] = []
        for parser in parsers():
            section = nodes.section(ids=[nodes.make_id(parser.prog)])
            section += nodes.title(text=parser.prog)
            help_text = parser.format_help()
            section += nodes.literal_block(help_text, help_text, language="text")
            sections.append(section)
        return sections


class PassList(SphinxDirective):
    """Every pass with its summary and options."""

    def run(self) -> list[nodes.Node]:
        text = "\n".join(import_module("wengert.lab.opt").describe_passes())
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directives."""
    app.add_directive("command-line", CommandLine)
    app.add_directive("pass-list", PassList)
    return {"parallel_read_safe": True}
