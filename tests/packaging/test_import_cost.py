"""Importing is cheap: what is slow to import is imported when it is first needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("jax", "jaxlib", "llvmlite", "scipy")
PROGRAM = "import importlib, sys; importlib.import_module(sys.argv[1]); print('\\n'.join(m for m in sys.argv[2:] if m in sys.modules))"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("wengert", (*SLOW, "numpy", "xdsl")),
        ("wengert.transforms.pipelines", (*SLOW, "wengert.dialects.stablehlo")),
        ("wengert.lab.opt", (*SLOW, "wengert.dialects.stablehlo")),
        ("wengert.lab.universe", (*SLOW, "wengert.dialects.stablehlo")),
        ("wengert.__main__", SLOW),
        ("wengert.ir.parsing.parser", SLOW),
        ("wengert.numpy", SLOW),
        ("wengert.frontends.transforms.jit", SLOW),
        ("wengert.eager", SLOW),
        ("wengert.runtime.cpu", ("jax", "scipy", "wengert.runtime.interpreter")),
    ],
)
def test_does_not_import(module: str, absent: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, module, *absent], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_namespace_is_an_attribute_of_the_package() -> None:
    code = "import wengert as wg; print(wg.numpy.__name__, wg.numpy.linalg.det.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["wengert.numpy", "wengert.numpy.linalg"]
