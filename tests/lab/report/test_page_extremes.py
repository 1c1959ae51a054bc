"""The page of programs out of the ordinary: hostile names, ten thousand ops, locations in LLVM text, a pipeline that stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.long_program import long_program
from browser import Browser, chromium, needs_browser
from report_page import quiet, row, written

import wengert as wg
from wengert.lab.report.assemble import Wanted, assemble
from wengert.lab.report.page import page, parts_of
from wengert.lab.report.source_texts import SourceText
from wengert.lab.report.stages import Stage

pytestmark = [needs_browser, pytest.mark.browser]
HOSTILE = """\
module @"<script>window.pwned=1</script>" attributes {note = "</script><img src=x onerror=window.pwned=2>"} {
  func.func @main(%x: tensor<2xf64> {name = "<b>bold</b>\\01\\1B[31m"}) -> tensor<2xf64> {
    %0 = stablehlo.sine %x : tensor<2xf64> loc("<svg onload=window.pwned=3>":1:1)
    return %0 : tensor<2xf64>
  }
}
// \u202e reversed \u0007 <!-- ]]> </style>
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_hostile_names_are_text(browser: Browser, tmp_path: Path):
    name = "<img src=x onerror=window.pwned=4>.mlir"
    path = written(tmp_path, HOSTILE, name)
    with browser.page(path) as (shown, seen):
        for tab in ("memory", "kept", "diff", "costs", "graph", "checks", "reproduce"):
            shown.click(f'[data-tab="{tab}"]')
        row(shown, "derivative", "stablehlo.cosine").click()
        explained = shown.locator(".explanation").inner_text()
        assert "<svg onload=window.pwned=3>:1:1" in explained
        assert shown.locator("h1").inner_text() == name
        assert "<script>window.pwned=1</script>" in row(shown, "source", "module").inner_text()
        assert "\\u202e reversed \\u0007" in row(shown, "source", "reversed").inner_text()
        assert shown.evaluate("window.pwned") is None
        assert shown.locator("#page script, #page img, #page svg[onload]").count() == 0
        quiet(seen)


def test_ten_thousand_ops_have_few_elements(browser: Browser, tmp_path: Path):
    path = written(tmp_path, long_program(10000), "long.mlir", Wanted(None, "cse"), ())
    with browser.page(path) as (shown, seen):
        assert shown.evaluate("wengert.model.views[0].lines.length") > 10000
        assert shown.locator(".row").count() < 400
        shown.keyboard.press("2")
        shown.keyboard.press("End")
        assert shown.locator('.pane[data-slot="primal"] .row.selected').count() == 1
        assert shown.locator(".row").count() < 400
        shown.click('[data-tab="memory"]')
        assert "peak" in shown.locator(".memory .lead").inner_text()
        shown.click('[data-tab="diff"]')
        assert shown.locator(".line").count() < 100
        shown.click('[data-tab="graph"]')
        shown.wait_for_selector(".node")
        assert shown.locator(".node").count() <= 500
        quiet(seen)


LLVM = """\
define void @main_k0(ptr %x) !dbg !4 {
  %1 = load double, ptr %x, !dbg !5
  %2 = call double @sin(double %1), !dbg !5
  ret void, !dbg !7
}
!1 = !DIFile(filename: "p.mlir", directory: "/somewhere/models")
!2 = !DIFile(filename: "q.mlir", directory: "/somewhere/models")
!4 = distinct !DISubprogram(name: "main_k0", scope: !1, file: !1, line: 1, unit: !9)
!5 = !DILocation(line: 2, column: 3, scope: !4)
!6 = !DILexicalBlockFile(scope: !4, file: !2, discriminator: 0)
!7 = !DILocation(line: 2, column: 3, scope: !6)
"""


def test_debug_locations_of_llvm_text_are_links(browser: Browser, tmp_path: Path):
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64>\n  return %0 : tensor<f64>\n}\n"
    document = assemble(wg.parse(text, "p.mlir"), [SourceText("p.mlir", "mlir", text)], Wanted(None, "to-core"), "p.mlir", ())
    code = Stage("emit-llvm", "emit-llvm", "code", "ll", LLVM)
    path = tmp_path / "report.html"
    path.write_text(page("p", *parts_of(replace(document, stages=(*document.stages, code)))))
    with browser.page(path) as (shown, seen):
        shown.click('.toggles [data-slot="lowered"]')
        row(shown, "source", "stablehlo.sine").click()
        linked = shown.locator('.pane[data-slot="lowered"] .row.linked .number').all_inner_texts()
        assert linked == ["2", "3"], "another file of the same line and column is not linked"
        row(shown, "lowered", "call double @sin").locator(".number").click()
        assert shown.locator('.pane[data-slot="source"] .row.linked').count() == 1
        quiet(seen)


def test_a_pipeline_that_stopped_says_so(browser: Browser, tmp_path: Path):
    text = "func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  %0 = stablehlo.custom_call @other(%x) : (tensor<4xf64>) -> tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n"
    with browser.page(written(tmp_path, text, "p.mlir"), fragment="#tab=reproduce") as (shown, seen):
        assert "stopped here" in shown.locator(".strip").inner_text()
        assert "p.mlir:2:" in shown.locator(".diagnostic").inner_text()
        shown.click('[data-tab="costs"]')
        quiet(seen)
