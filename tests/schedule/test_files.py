"""The schedules that are chosen, one small file for each decision, checked by FileCheck."""

import shlex
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from wengert.ir.parser import parse_module
from wengert.ir.printer import print_module
from wengert.transforms.pipelines import parse_pipeline

FILES = sorted((Path(__file__).parent / "files").glob("*.mlir"))


def pipeline_of(text: str) -> str:
    """The pipeline in the first line: ``// RUN: wengert-opt %s -p "..." | filecheck %s``."""
    words = shlex.split(text.splitlines()[0])
    return words[words.index("-p") + 1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file(file: Path) -> None:
    text = file.read_text()
    found = print_module(parse_pipeline(pipeline_of(text)).run(parse_module(text, file.name), verify_each=True))
    options = Options(str(file))
    assert Matcher(options, FInput(file.name, found), Parser.from_opts(options)).run() == 0, found
