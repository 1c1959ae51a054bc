"""The wheel holds every module and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("dialects", "frontends", "ir", "lab", "runtime", "transforms")
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


def shipped_as(path: Path) -> str:
    """Where the wheel holds a source file; some packages lie in folders of other names."""
    module_path = re.sub("^frontends/(?=(eager|nn|optim)/)", "", path.relative_to(ROOT).as_posix())
    return "wengert/" + module_path.replace("frontends/numpy_namespace/", "numpy/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from a copy of the sources, so that no build folder is left in the checkout."""
    copy = tmp_path_factory.mktemp("wheel") / "source"
    copy.mkdir()
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("*.py", "*.toml", "*.md", "LICENSE", "py.typed"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, copy)
    (copy / "tests").mkdir()
    (copy / "tests" / "test_not_shipped.py").touch()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD, str(copy.parent)], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(copy.parent / done.stdout.split()[-1])


def test_every_source_file_is_shipped_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    expected = {"wengert/__init__.py", "wengert/__main__.py", "wengert/py.typed", *(shipped_as(path) for path in files)}
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == expected


def test_metadata(wheel: zipfile.ZipFile) -> None:
    folder = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist: xdsl==" in metadata
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()
    scripts = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "wengert = wengert.__main__:main" in scripts
    assert "wengert-opt = wengert.lab.opt:main" in scripts
    assert "[xdsl.universe]" in scripts
