"""Files of the disk cache with mistakes in them: other bytes, more or fewer of them, another file's contents, another kind of file, another mode.

Whatever becomes of them, a program gives its results.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from npz_mutants import damaged

import wengert as wg

TEXT = """func.func public @main(%x: tensor<3x5xf64>, %w: tensor<5xf64>) -> tensor<3xf64> {{
  %c = stablehlo.constant dense<{factor}> : tensor<5xf64>
  %0 = stablehlo.multiply %w, %c : tensor<5xf64>
  %1 = stablehlo.tanh %x : tensor<3x5xf64>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<3x5xf64>, tensor<5xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}}"""
FACTORS = (1.5, -2.0)
X, W, Y_BAR = np.linspace(-1, 1, 15).reshape(3, 5), np.linspace(0, 1, 5), np.array([1.0, -2.0, 0.5])


def run_all() -> int:
    """Runs the programs and their derivatives, whose results are right; how many came from the cache."""
    hits = 0
    for factor in FACTORS:
        program = wg.parse(TEXT.format(factor=factor))
        plain, derived = program.compile(), program.vjp().compile()
        t = np.tanh(X)
        np.testing.assert_allclose(plain(X, W)[0], t @ W * factor, rtol=1e-14)
        y, x_bar, w_bar = derived(X, W, Y_BAR)
        np.testing.assert_allclose(y, t @ W * factor, rtol=1e-14)
        np.testing.assert_allclose(x_bar, np.outer(Y_BAR, W * factor) * (1 - t**2), rtol=1e-14)
        np.testing.assert_allclose(w_bar, (Y_BAR @ t) * factor, rtol=1e-14)
        hits += plain.stats.cache_hit + derived.stats.cache_hit
    return hits


def other_bytes(path: Path, others: list[Path], choose: random.Random) -> None:
    """Some bytes are others."""
    path.write_bytes(damaged(path.read_bytes(), choose))


def other_contents(path: Path, others: list[Path], choose: random.Random) -> None:
    """The contents are those of another entry, or the beginning of them."""
    data = choose.choice(others).read_bytes()
    path.write_bytes(data if choose.random() < 0.7 else data[: choose.randrange(len(data) + 1)] + path.read_bytes()[len(data) :])


def another_kind(path: Path, others: list[Path], choose: random.Random) -> None:
    """No regular file is there."""
    kind = choose.randrange(4)
    path.unlink()
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(choose.choice([*others, path, Path("/dev/zero"), path.parent]))


def another_mode(path: Path, others: list[Path], choose: random.Random) -> None:
    """Others may write to it, or nobody may read it."""
    path.chmod(choose.choice((0o000, 0o200, 0o400, 0o620, 0o602, 0o666, 0o777)))


def another_length(path: Path, others: list[Path], choose: random.Random) -> None:
    """It is empty, cut short, or larger than memory."""
    os.truncate(path, choose.choice((0, 1, 79, 80, path.stat().st_size - 1, path.stat().st_size + 1, 1 << 40)))


CHANGES: tuple[Callable[[Path, list[Path], random.Random], None], ...] = (
    *(other_bytes,) * 4,
    other_contents,
    another_kind,
    another_mode,
    another_length,
)


def check_cache(seed: int, folder: Path) -> str:
    """Changes files of a cache in a folder as a seed says, and runs what they were kept for; what is kept again is right, too."""
    choose, home, whole = random.Random(seed), folder / "cache", folder / "whole"
    before = os.environ.get("WENGERT_CACHE")
    os.environ["WENGERT_CACHE"] = str(home)
    try:
        if not whole.exists():
            run_all()
            shutil.copytree(home, whole)
        shutil.rmtree(home)
        shutil.copytree(whole, home)
        files = sorted(path for path in home.iterdir() if path.is_file())
        for path in choose.sample(files, choose.choice((1, 1, 2, len(files)))):
            choose.choice(CHANGES)(path, [whole / other.name for other in files if other != path], choose)  # as they were: others may be damaged too
        hits = run_all()
        assert run_all() == 2 * len(FACTORS) or any(not path.is_file() for path in home.iterdir())
    finally:
        if before is None:
            del os.environ["WENGERT_CACHE"]
        else:
            os.environ["WENGERT_CACHE"] = before
    return f"{hits} of {2 * len(FACTORS)} from the cache"
