"""Guards of the layout: the top-level folders are the package, and setuptools knows them only by an explicit list."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("dialects", "frontends", "ir", "lab", "runtime", "transforms")
ELSEWHERE = {
    Path("frontends/numpy_namespace"): "wengert.numpy",
    **{Path(f"frontends/{name}"): f"wengert.{name}" for name in ("eager", "nn", "optim")},
}
"""Packages that lie in folders of other names."""


def package_name(folder: Path) -> str:
    for home, name in ELSEWHERE.items():
        if folder.is_relative_to(home):
            return ".".join((name, *folder.relative_to(home).parts))
    return ".".join(("wengert", *folder.parts))


def package_folders() -> list[Path]:
    """Every folder that holds modules, relative to the root."""
    folders = {path.parent.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    return sorted(folders)


def test_packages_are_listed() -> None:
    """A folder that is missing from the list is dropped from the wheel without a word."""
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert listed == sorted(["wengert", *map(package_name, package_folders())])
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {"wengert": ".", **{name: str(folder) for folder, name in ELSEWHERE.items()}}


@pytest.mark.parametrize(("folder", "name"), ELSEWHERE.items(), ids=str)
def test_a_package_has_one_name(folder: Path, name: str) -> None:
    """Under a second name its classes would exist twice."""
    assert import_module(name).__name__ == name
    with pytest.raises(ImportError, match=f"import it as {name}"):
        import_module(".".join(("wengert", *folder.parts)))


def test_packages_have_an_init() -> None:
    assert [str(folder) for folder in package_folders() if not (ROOT / folder / "__init__.py").is_file()] == []


def test_nothing_else_lies_in_the_root() -> None:
    """Any module in the root would be shipped as a part of the package."""
    assert sorted(path.name for path in ROOT.glob("*.py")) == ["__init__.py", "__main__.py"]


@pytest.mark.parametrize("name", [*FOLDERS, "__init__.py", "__main__.py"])
def test_tools_see_the_package_through_links(name: str) -> None:
    link = ROOT / "typings" / "wengert" / name
    assert link.is_symlink()
    assert link.resolve() == ROOT / name
    assert f"typings/wengert/{name}" in PROJECT["tool"]["pyright"]["include"]


@pytest.mark.parametrize(("folder", "name"), ELSEWHERE.items(), ids=str)
def test_tools_see_packages_of_other_names(folder: Path, name: str) -> None:
    link = ROOT / "typings" / Path(*name.split("."))
    assert link.is_symlink()
    assert link.resolve() == ROOT / folder
    assert str(link.relative_to(ROOT)) in PROJECT["tool"]["pyright"]["include"]


def test_compilers_are_pinned_exactly() -> None:
    pinned = {name: version for name, _, version in (d.partition("==") for d in PROJECT["project"]["dependencies"]) if version}
    assert set(pinned) == {"llvmlite", "xdsl"}


def test_test_files_have_unique_names() -> None:
    """Without packages in tests/, equal names are easily mistaken for one another in reports."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
    assert list((ROOT / "tests").rglob("__init__.py")) == []
