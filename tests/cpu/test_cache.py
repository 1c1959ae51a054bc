"""The objects on disk: whatever becomes of a file or its folder, results are right, and at worst a program is compiled again."""

from __future__ import annotations

import os
import random
import stat
import time
from pathlib import Path

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime import cache
from wengert.runtime.cpu import compile
from wengert.runtime.errors import InputError

TANH = "func.func public @main(%x: tensor<7xf64>) -> tensor<7xf64> { %0 = stablehlo.tanh %x : tensor<7xf64>\n return %0 : tensor<7xf64> }"
X = np.linspace(-1, 1, 7)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for the cache."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def hits(text: str = TANH) -> bool:
    """Whether a program comes from the cache; its results are right in any case."""
    compiled = compile(parse_module(text))
    np.testing.assert_allclose(compiled(X)[0], np.tanh(X) if text == TANH else np.exp(X), rtol=1e-14)
    return compiled.stats.cache_hit


def entry(home: Path, text: str = TANH) -> Path:
    """The file of a program, which is compiled for it. (The first program also leaves the code that all share.)"""
    before = set(home.glob("*.o"))
    assert not hits(text)
    assert hits(text)
    new = set(home.glob("*.o")) - before
    code = compile(parse_module(text)).llvm_text
    from wengert.runtime.cpu.objects import entry_name
    from wengert.transforms.schedule.host import host

    (object_file,) = [path for path in new if path.stem == entry_name(code, "best", host())]
    return object_file


def test_nobody_else_can_read_or_write_what_is_kept(home: Path):
    path = entry(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert not list(home.glob("*.part"))


def test_damage_anywhere_is_noticed(home: Path):
    path = entry(home)
    whole = path.read_bytes()
    chosen = random.Random(0)
    places = [*range(0, 88, 5), *(chosen.randrange(88, len(whole)) for _ in range(40))]
    mutants = [whole[:i] + bytes([whole[i] ^ 1 << chosen.randrange(8)]) + whole[i + 1 :] for i in places]
    mutants += [whole[:n] for n in (0, 1, 8, 40, 79, 80, 81, len(whole) - 1)] + [whole + b"\0", whole[:80], whole[40:], b"\0" * len(whole)]
    for mutant in mutants:
        path.write_bytes(mutant)
        assert cache.read(path.stem) is None
    assert not hits()
    assert hits()
    assert path.read_bytes() == whole


def test_an_entry_under_another_name_is_not_taken(home: Path):
    tanh, exponential = entry(home), entry(home, TANH.replace("tanh", "exponential"))
    code = tanh.read_bytes()
    tanh.write_bytes(exponential.read_bytes())
    exponential.write_bytes(code)
    assert not hits()
    assert not hits(TANH.replace("tanh", "exponential"))
    assert hits()


def test_only_regular_files_are_opened(home: Path, tmp_path: Path):
    path = entry(home)
    elsewhere = tmp_path / "elsewhere.o"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert not hits()
    assert not path.is_symlink(), "it was replaced"
    assert hits()
    path.unlink()
    os.mkfifo(path)
    assert not hits()
    assert hits()
    path.unlink()
    path.mkdir()
    assert not hits()
    assert not hits()
    assert not list(home.glob("*.part"))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_taken(home: Path, mode: int):
    path = entry(home)
    path.chmod(mode)
    assert not hits()
    assert hits()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(home: Path, mode: int):
    path = entry(home)
    home.chmod(mode)
    assert cache.distrusted(home) == "others can write to it"
    assert not hits()
    path.unlink()
    assert not hits()
    assert not path.exists()
    assert stat.S_IMODE(home.stat().st_mode) == mode, "the user's own folder stays as it is"


def test_nothing_of_another_user_is_used(home: Path, monkeypatch: pytest.MonkeyPatch):
    path = entry(home)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.distrusted(home) == "it belongs to another user"
    assert not hits()
    monkeypatch.undo()
    monkeypatch.setenv("WENGERT_CACHE", str(home))
    if os.getuid() == 0:  # only then can a file be given away
        os.chown(path, 12345, -1)
        assert not hits()
        assert hits()


def test_the_folder_of_our_own_choice_is_set_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WENGERT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = tmp_path / "wengert"
    home.mkdir()
    home.chmod(0o775)
    assert not hits()
    assert hits()
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


def test_what_was_never_finished_is_removed(home: Path):
    entry(home)
    old, new = home / "1-0-0.part", home / "2-0-0.part"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (time.time() - 3600,) * 2)
    cache.sweep(home)
    assert not old.exists()
    assert new.exists(), "somebody may be writing it"
    cache.sweep(home, 0)
    assert not list(home.iterdir())


@pytest.mark.parametrize("setting", ["many", "-1", "1.5", "1e3", "12 34", "٣"])
def test_a_limit_that_is_no_number_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch, setting: str):
    monkeypatch.setenv("WENGERT_CACHE_MB", setting)
    with pytest.raises(InputError, match="WENGERT_CACHE_MB must be a whole number of megabytes"):
        compile(parse_module(TANH))
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert not hits()


def test_a_file_larger_than_the_cache_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch):
    path = entry(home)
    os.truncate(path, 1 << 40)
    assert not hits()
    monkeypatch.setenv("WENGERT_CACHE_MB", "0")
    assert not hits()
