"""What lies where, one small file for each feature, checked by FileCheck; and each text runs on as it stands."""

import shlex
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from wengert.ir.parser import parse_module
from wengert.ir.printer import print_module
from wengert.ir.verifier import verify
from wengert.transforms.pipelines import parse_pipeline

FILES = sorted((Path(__file__).parent / "files").glob("*.mlir"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file(file: Path) -> None:
    text = file.read_text()
    words = shlex.split(text.splitlines()[0])
    printed = print_module(parse_pipeline(words[words.index("-p") + 1]).run(parse_module(text, file.name), verify_each=True))
    options = Options(str(file))
    assert Matcher(options, FInput(file.name, printed), Parser.from_opts(options)).run() == 0, printed
    again = parse_module(printed)
    verify(again)
    assert print_module(again) == printed
