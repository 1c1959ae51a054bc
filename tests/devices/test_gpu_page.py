"""The texts that docs/gpu.md shows are those that the compiler makes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from wengert.transforms.pipelines import AMDGPU, PTX, SPIRV

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


def test_the_softmax(tmp_path: Path) -> None:
    page = PAGE.read_text().partition("## From StableHLO to PTX")[2].partition("\n## ")[0]
    (program, *shown) = re.findall(r"(?ms)^```(?:mlir|llvm|text)\n(.*?)^```$", page)
    (tmp_path / "softmax.mlir").write_text(program)
    # in a process of its own, as on the page: options of LLVM that the CPU backend sets back count as set, and reorder instructions
    command = [sys.executable, "-m", "wengert", "run", "softmax.mlir", "--random", "0", "--backend", "ptx-interpreter", "--dump-dir", "dumps"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = "".join(path.read_text().expandtabs(8) for path in sorted((tmp_path / "dumps").glob("[0-9]*")))
    assert len(shown) == 4
    assert [text for text in shown if text not in made] == []


def test_the_targets() -> None:
    page = PAGE.read_text()
    assert [target for target in (PTX, AMDGPU, SPIRV) if f"`{target}`" not in page] == []
