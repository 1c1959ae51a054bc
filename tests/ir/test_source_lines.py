"""Lines of the files that locations name, which may be any path there is."""

from __future__ import annotations

import linecache
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.source_lines import line_of, lines_of
from wengert.lab.cli.main import main

LOOKS = ("explain {} op:sine", "trace {} --random 0", "diff {} --vjp --strategy transpose,direct", "profile {} --random 0 --budget 0", "kept {}", "memory {}")


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fails where what is inside waits for something that never comes."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_lines_are_counted_from_one(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("one\ntwo\n")
    assert [line_of(str(file), n) for n in (-1, 0, 1, 2, 3)] == ["", "", "one", "two", ""]


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("before\n")
    assert line_of(str(file), 1) == "before"
    file.write_text("behind that\n")
    assert line_of(str(file), 1) == "behind that"


def test_what_python_knows_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<a cell>", (4, None, ["x = 1\n"], "<a cell>"))
    assert line_of("<a cell>", 1) == "x = 1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_devices_and_folders_have_no_lines(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with within(60):
        for path in (pipe, Path("/dev/zero"), tmp_path, tmp_path / "nothing", "a\0b"):
            assert not lines_of(str(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("command", LOOKS, ids=[look.partition(" ")[0] for look in LOOKS])
def test_no_command_waits_for_a_pipe_that_a_location_names(command: str, tmp_path: Path) -> None:
    pipe, program = tmp_path / "pipe", tmp_path / "p.mlir"
    os.mkfifo(pipe)
    program.write_text(f"""func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  %0 = stablehlo.sine %x : tensor<2xf64> loc("{pipe}":1:1)
  return %0 : tensor<2xf64>
}}""")
    with within(60):
        assert main(command.format(program).split()) == 0


def test_a_finding_shows_no_line_of_another_file() -> None:
    with pytest.raises(DiagnosticError) as caught:
        wg.parse(
            """func.func public @main(%x: tensor<2xf64>) -> tensor<3xf64> {
              %0 = "stablehlo.sine"(%x) : (tensor<2xf64>) -> tensor<3xf64> loc("elsewhere.py":1:1)
              return %0 : tensor<3xf64>
            }""",
            "p.mlir",
        )
    assert (caught.value.diagnostic.place, caught.value.diagnostic.source_line) == ("elsewhere.py:1:1", "")
