"""Commands that install what is optional: the packages themselves, which an index has, and not an extra of this one, which it may not have.

>>> command("draw")
"pip install 'grandalf==0.8'"
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires

NAME = "wengert"
_EXTRA = re.compile(r"extra == [\"']([\w.-]+)[\"']")
_OWN = re.compile(rf"{NAME}\[([\w,.-]+)\]")


def command(extra: str) -> str:
    """The command that installs what an extra of this package needs."""
    try:
        declared = requires(NAME) or []
    except PackageNotFoundError:  # run from its sources
        declared = []
    packages = list(dict.fromkeys(_packages(extra, declared)))
    return "pip install " + (" ".join(f"'{package}'" for package in packages) or f"'{NAME}[{extra}]'")


def _packages(extra: str, declared: list[str]) -> Iterator[str]:
    for requirement in declared:
        package, _, marker = requirement.partition(";")
        named = _EXTRA.search(marker)
        if named is None or named[1] != extra or ('sys_platform == "linux"' in marker and sys.platform != "linux"):
            continue
        own = _OWN.fullmatch(package.strip())
        if own is None:
            yield package.strip()
            continue
        for other in own[1].split(","):
            yield from _packages(other, declared)
