"""Dumps: which files there are, what their headers say, and that one can go on from each of them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.dumps import ChangePrinter, Dumper, count_ops
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.translations import Translation
from wengert.ir.printing.printer import print_module
from wengert.lab.opt import main as opt_main
from wengert.transforms.pipelines import parse_pipeline


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers say how to load plug-ins, which other tests may have left."""
    monkeypatch.setattr("wengert.ir.plugins.LOADED", {})


TEXT = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.cosine %x : tensor<f64>
  return %1 : tensor<f64>
}
"""


@dataclass(frozen=True)
class RemoveFirst(ModulePass):
    """Removes the first op of the function, which nothing may use."""

    name = "remove-first"

    times: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(iter(op.ops)).regions[0].block.first_op
        assert first is not None
        first.detach()
        first.erase()


@dataclass(frozen=True)
class Keep(ModulePass):
    """Changes nothing."""

    name = "keep"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Count(Translation):
    """Writes how many ops there are."""

    name = "count"
    reads = "mlir"
    writes = "ll"

    def translate(self, source: ModuleOp | str) -> str:
        assert isinstance(source, ModuleOp)
        return f"{count_ops(source)} ops\n"


@dataclass(frozen=True)
class Shout(Translation):
    """Writes the text in capitals."""

    name = "shout"
    reads = "ll"
    writes = "s"

    def translate(self, source: ModuleOp | str) -> str:
        assert isinstance(source, str)
        return source.upper()


@pytest.fixture
def dumped(tmp_path: Path) -> Path:
    Pipeline((Keep(), RemoveFirst(times=2), Keep())).run(parse_module(TEXT), dump_dir=tmp_path / "d")
    return tmp_path / "d"


def test_one_file_per_change(dumped: Path) -> None:
    assert sorted(p.name for p in dumped.iterdir()) == ["00-input.mlir", "02-remove-first.mlir", "index.md"]


def test_headers_say_how_to_go_on(dumped: Path) -> None:
    lines = (dumped / "02-remove-first.mlir").read_text().splitlines()
    assert lines[:3] == [
        "// stage 02-remove-first.mlir",
        "// pipeline so far: keep,remove-first{times=2}",
        f'// go on with: wengert-opt -p "keep" {dumped}/02-remove-first.mlir',
    ]
    first = (dumped / "00-input.mlir").read_text().splitlines()
    assert first[1] == "// pipeline so far: (none)"
    command = shlex.split(first[2].partition("go on with: ")[2])
    assert command == ["wengert-opt", "-p", "keep,remove-first{times=2},keep", str(dumped / "00-input.mlir")]


def test_files_hold_the_stages(dumped: Path) -> None:
    assert print_module(parse_module((dumped / "00-input.mlir").read_text())) == print_module(parse_module(TEXT))
    after = (dumped / "02-remove-first.mlir").read_text()
    assert "stablehlo.sine" not in after
    assert "stablehlo.cosine" in after


def test_the_index(dumped: Path) -> None:
    rows = [line for line in (dumped / "index.md").read_text().splitlines() if re.match(r"\| \d", line)]
    assert [re.sub(r"\d+\.\d\d", "T", row) for row in rows] == [
        "| 00 | `input` |  | 4 | 16 |  |  | [00-input.mlir](00-input.mlir) |",
        "| 01 | `keep` | 4 | 4 |  |  | T | *no change* |",
        "| 02 | `remove-first{times=2}` | 4 | 3 | 16 |  | T | [02-remove-first.mlir](02-remove-first.mlir) |",
        "| 03 | `keep` | 3 | 3 |  |  | T | *no change* |",
    ]


def test_several_pipelines_and_stages_below_the_ir(tmp_path: Path) -> None:
    dumper = Dumper(tmp_path)
    module = parse_module(TEXT)
    Pipeline((RemoveFirst(),)).run(module, observer=dumper)
    Pipeline((Keep(),)).run(module, observer=dumper)
    Pipeline(translations=(Count(), Shout())).translate(module, observer=dumper)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00-input.mlir", "01-remove-first.mlir", "03-count.ll", "04-shout.s", "index.md"]
    path = tmp_path / "03-count.ll"
    assert path.read_text().splitlines() == [
        "; stage 03-count.ll",
        "; pipeline so far: remove-first,keep,count",
        f'; go on with: wengert-opt -p "shout" {path}',
        "",
        "3 ops",
    ]
    assert (tmp_path / "04-shout.s").read_text().endswith("# the last stage\n\n3 OPS\n")
    assert re.search(r"\| 03 \| `count` \|  \|  \|  \|  \| \d+\.\d\d \| \[03-count\.ll\]\(03-count\.ll\) \|", (tmp_path / "index.md").read_text())


def test_what_an_earlier_run_left_is_removed_and_nothing_else(dumped: Path) -> None:
    (dumped / "notes.txt").write_text("mine")
    Pipeline((Keep(),)).run(parse_module(TEXT), dump_dir=dumped)
    assert sorted(p.name for p in dumped.iterdir()) == ["00-input.mlir", "index.md", "notes.txt"]


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "00-mine.mlir").write_text("mine")
    (tmp_path / "index.md").write_text("# Mine")
    Pipeline((Keep(),)).run(parse_module(TEXT), dump_dir=tmp_path)
    assert (tmp_path / "00-mine.mlir").read_text() == "mine"


def test_locations_on_request(tmp_path: Path) -> None:
    Pipeline((Keep(),)).run(parse_module(TEXT, "f.mlir"), observer=Dumper(tmp_path, locations=True))
    assert 'loc("f.mlir":3:3)' in (tmp_path / "00-input.mlir").read_text()


VJP = "to-core,vjp{wrt=0},simplify,cse,dce"
PRODUCT = """
func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.tanh %x : tensor<4xf64>
  %1 = stablehlo.exponential %x : tensor<4xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf64>
  return %2 : tensor<4xf64>
}
"""


def cells(folder: Path) -> dict[str, list[str]]:
    """The rows of an index by pass."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (folder / "index.md").read_text().splitlines() if re.match(r"\| \d", line)]
    return {row[1].strip("`").partition("{")[0]: row for row in rows}


def test_the_index_has_the_memory_of_each_stage(tmp_path: Path) -> None:
    """Of the vector and its cotangent 64 bytes; tanh, exp and what tanh has as a coefficient are read in the reverse part."""
    parse_pipeline(f"{VJP},fuse,schedule{{target=avx2}},bufferize{{target=avx2}}").run(parse_module(PRODUCT), dump_dir=tmp_path)
    rows = cells(tmp_path)
    assert rows["input"][4:6] == ["128", ""]
    assert rows["vjp"][5] == "96"
    assert int(rows["vjp"][4]) >= 64 + 96
    assert int(rows["bufferize"][4]) >= 4 * 32
    assert rows["bufferize"][5].isdigit()


def test_a_folder_is_pruned(tmp_path: Path) -> None:
    parse_pipeline(f"{VJP},fuse").run(parse_module(PRODUCT), observer=Dumper(tmp_path, prune=True))
    assert "*no change*" not in (tmp_path / "index.md").read_text()
    assert re.search(r"^\d passes changed nothing\.$", (tmp_path / "index.md").read_text(), re.MULTILINE)
    assert {row[-1].partition("]")[0][1:] for row in cells(tmp_path).values()} == {p.name for p in tmp_path.iterdir() if p.name != "index.md"}


def test_only_an_excerpt_counts(tmp_path: Path) -> None:
    def excerpt(module: ModuleOp) -> str:
        return "\n".join(op.name for op in module.walk() if op.name == "stablehlo.tanh")

    parse_pipeline(VJP).run(parse_module(PRODUCT), observer=Dumper(tmp_path, excerpt=excerpt))
    assert [p.name for p in tmp_path.glob("*.mlir")] == ["00-input.mlir"]


def test_changes_are_printed() -> None:
    texts: list[str] = []
    parse_pipeline(VJP).run(parse_module(PRODUCT), observer=ChangePrinter(texts.append))
    headers = [text.splitlines()[0] for text in texts]
    assert re.fullmatch(r"// -----// after vjp\{wrt=0\} \(pass 2 of 5; \d+ ops before, \d+ after\) //----- //", headers[0])
    assert all("after dce" not in header for header in headers)
    assert parse_module(texts[0]) is not None


def test_renaming_is_no_change() -> None:
    texts: list[str] = []

    @dataclass(frozen=True)
    class Rename(ModulePass):
        name = "rename"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            next(iter(op.ops)).regions[0].block.args[0].name_hint = "other"

    Pipeline((Rename(),)).run(parse_module(PRODUCT), observer=ChangePrinter(texts.append))
    assert texts == []


def test_llvm_text_at_the_end_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.mlir"
    program.write_text(
        "func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  %0 = stablehlo.tanh %x : tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n"
    )
    dumps = tmp_path / "dumps"
    assert opt_main([str(program), "-p", "to-core,fuse,schedule,bufferize,emit-llvm{strict=true}", "--dump-dir", str(dumps)]) == 0
    (text,) = dumps.glob("*.ll")
    command = shlex.split(text.read_text().splitlines()[2].partition("go on with: ")[2])
    assert command[:3] == ["wengert-opt", "-p", "optimize-llvm,emit-asm"]
    capsys.readouterr()
    assert opt_main(command[1:]) == 0
    assert ".size\tentry" in capsys.readouterr().out
