"""The schedules that are chosen, one small file for each decision, checked by FileCheck; each text reads as it prints."""

from pathlib import Path

import pytest
from run_lines import run_lines

from wengert.ir.parser import parse_module
from wengert.ir.printer import print_module

FILES = sorted((Path(__file__).parent / "files").glob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path) -> None:
    (printed,) = run_lines(path)
    assert print_module(parse_module(printed)) == printed
