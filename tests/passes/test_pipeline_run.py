"""Running pipelines: order, times, observers, and who is told what when a pass fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.observers import PassRun, PassTimes
from wengert.ir.pipeline.passes import InternalError, Pipeline
from wengert.ir.printing.printer import print_module

TEXT = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  return %0 : tensor<f64>
}
"""


@dataclass(frozen=True)
class Mark(ModulePass):
    """Writes down on the module that it ran."""

    name = "mark"

    label: str = "x"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        before = op.attributes.get("marks", StringAttr(""))
        assert isinstance(before, StringAttr)
        op.attributes["marks"] = StringAttr(before.data + self.label)


@dataclass(frozen=True)
class Refuse(ModulePass):
    """Finds fault with the program."""

    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise DiagnosticError(Diagnostic("stablehlo.sine has no rule", "f.mlir", 3, 8))


@dataclass(frozen=True)
class RefuseAsXdsl(ModulePass):
    """Finds fault with the program as passes of xDSL do."""

    name = "refuse-as-xdsl"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("cannot do it")


@dataclass(frozen=True)
class Break(ModulePass):
    """Has a defect."""

    __module__ = "wengert.of_ours"  # a pass of a plug-in is its author's to mend (tests/lab/plugins)
    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["half_done"] = IntegerAttr(1, i64)
        raise KeyError("lost")


@dataclass(frozen=True)
class Spoil(ModulePass):
    """Leaves IR in which a value is used before it is defined."""

    __module__ = "wengert.of_ours"  # a pass of a plug-in is its author's to mend (tests/lab/plugins)
    name = "spoil"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = next(iter(op.ops)).regions[0].block
        sine, last = block.ops
        sine.detach()
        block.insert_op_after(sine, last)


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(TEXT, "f.mlir")


@pytest.fixture
def reproducers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WENGERT_REPRODUCER_DIR", str(tmp_path / "crashes"))
    return tmp_path / "crashes"


def marks(module: ModuleOp) -> str:
    left = module.attributes["marks"]
    assert isinstance(left, StringAttr)
    return left.data


def test_passes_run_in_order_in_place(module: ModuleOp) -> None:
    assert Pipeline((Mark("a"), Mark("b"), Mark("c"))).run(module) is module
    assert marks(module) == "abc"


def test_the_empty_pipeline_does_nothing(module: ModuleOp) -> None:
    before = print_module(module)
    Pipeline().run(module)
    assert print_module(module) == before


def test_times(module: ModuleOp) -> None:
    times = PassTimes()
    Pipeline((Mark("a"), Mark("b"))).run(module, time_passes=times)
    assert [r.pass_ for r in times.runs] == [Mark("a"), Mark("b")]
    table = str(times).splitlines()
    assert [line.split()[-1] for line in table] == ["pass", "mark{label=a}", "mark{label=b}", "total"]


def test_observers_see_every_stage(module: ModuleOp) -> None:
    seen: list[tuple[str, str]] = []

    class Watch:
        def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
            seen.append(("begin", str(pipeline)))

        def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
            seen.append((f"{run.position}", marks(module)))

    Pipeline((Mark("a"), Mark("b"))).run(module, observer=Watch())
    assert seen == [("begin", "mark{label=a},mark{label=b}"), ("1", "a"), ("2", "ab")]


def test_a_diagnostic_names_the_pass(module: ModuleOp) -> None:
    with pytest.raises(DiagnosticError) as error:
        Pipeline((Mark("a"), Refuse())).run(module)
    rendered = error.value.render()
    assert rendered.startswith("f.mlir:3:8: error: stablehlo.sine has no rule")
    assert "note: in pass 'refuse' (2 of 2)" in rendered


def test_a_failure_in_the_manner_of_xdsl_is_a_diagnostic_too(module: ModuleOp) -> None:
    with pytest.raises(DiagnosticError, match="cannot do it") as error:
        Pipeline((RefuseAsXdsl(),)).run(module)
    assert "in pass 'refuse-as-xdsl' (1 of 1)" in error.value.render()


def test_a_defect_leaves_a_reproducer(module: ModuleOp, reproducers: Path) -> None:
    with pytest.raises(InternalError, match=r"internal error in pass 'break' \(2 of 3\): KeyError: 'lost'") as error:
        Pipeline((Mark("a"), Break(), Mark("b"))).run(module)
    path = error.value.reproducer
    assert path is not None
    assert path.parent == reproducers
    text = path.read_text()
    first = text.splitlines()[0]
    assert first == f'// wengert-opt -p "break,mark{{label=b}}" {path}'
    assert "// KeyError: 'lost'" in text
    again = parse_module(text, str(path))
    assert marks(again) == "a"
    assert "half_done" not in again.attributes, "the reproducer holds the IR before the pass"


def test_verify_each_blames_the_pass(module: ModuleOp, reproducers: Path) -> None:
    with pytest.raises(InternalError, match=r"in pass 'spoil' \(1 of 1\): it left invalid IR") as error:
        Pipeline((Spoil(),)).run(module, verify_each=True)
    path = error.value.reproducer
    assert path is not None
    assert print_module(parse_module(path.read_text())) == print_module(parse_module(TEXT))


def test_a_reproducer_is_a_private_file_with_a_name_that_nobody_foresees(module: ModuleOp, reproducers: Path) -> None:
    left: list[Path] = []
    for _ in range(2):
        with pytest.raises(InternalError) as error:
            Pipeline((Break(),)).run(module)
        assert error.value.reproducer is not None
        left.append(error.value.reproducer)
    assert left[0] != left[1]
    assert all(path.stat().st_mode & 0o777 == 0o600 and not path.is_symlink() for path in left)


def test_a_reproducer_that_cannot_be_written_hides_nothing(module: ModuleOp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WENGERT_REPRODUCER_DIR", str(tmp_path / "file" / "below"))
    with pytest.raises(InternalError, match="KeyError") as error:
        Pipeline((Break(),)).run(module)
    assert error.value.reproducer is None
