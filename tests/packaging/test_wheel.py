"""The wheel holds every module and what the demonstration needs, and nothing else; installed without a checkout, it demonstrates."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("dialects", "frontends", "ir", "lab", "runtime", "transforms")
EXAMPLES = ("transformer_block.mlir", "transformer_block.npz")
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
    shutil.copytree(ROOT / "examples", copy / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tests").mkdir()
    (copy / "tests" / "test_not_shipped.py").touch()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD, str(copy.parent)], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(copy.parent / done.stdout.split()[-1])


def test_every_source_file_is_shipped_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    expected = {"wengert/__init__.py", "wengert/__main__.py", "wengert/py.typed", *(shipped_as(path) for path in files)}
    expected |= {f"wengert/examples/{name}" for name in EXAMPLES}
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


def test_the_demonstration_of_an_installed_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """In an environment of its own, without an index: what the package depends on is that of this environment."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--disable-pip-version-check",
        str(wheel.filename),
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*command: str) -> str:
        done = subprocess.run([str(home / "bin" / command[0]), *command[1:]], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("python", "-c", "import wengert; print(wengert.__file__)").startswith(str(packages))
    told = run("wengert", "demo", "--dump-dir", "dumps")
    assert "transformer_block.mlir" in told
    assert "reverse  compiled for cpu" in told
    assert (elsewhere / "dumps" / "reverse" / "index.md").is_file()
