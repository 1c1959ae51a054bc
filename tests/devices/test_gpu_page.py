"""The texts that docs/gpu.md shows are those that the compiler makes."""

from __future__ import annotations

import re
from pathlib import Path

import wengert as wg
from wengert.transforms.pipelines import AMDGPU, PTX, SPIRV

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


def test_the_softmax(tmp_path: Path) -> None:
    page = PAGE.read_text()
    (program, *shown) = re.findall(r"(?ms)^```(?:mlir|llvm|text)\n(.*?)^```$", page)
    wg.parse(program, "softmax.mlir").compile("ptx-interpreter", dump_dir=tmp_path)
    made = "".join(path.read_text().expandtabs(8) for path in sorted(tmp_path.glob("[0-9]*")))
    assert len(shown) == 4
    assert [text for text in shown if text not in made] == []


def test_the_targets() -> None:
    page = PAGE.read_text()
    assert [target for target in (PTX, AMDGPU, SPIRV) if f"`{target}`" not in page] == []
