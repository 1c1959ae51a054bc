"""The page in a real browser: everything is clicked and typed, nothing leaves, and names are text whatever they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium, needs_browser
from report_page import quiet, row, until, written

from wengert.lab.report.assemble import Wanted

pytestmark = [needs_browser, pytest.mark.browser]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("block"), (EXAMPLES / "transformer_block.mlir").read_text(), "block.mlir")


def test_nothing_is_asked_for_beside_the_file(browser: Browser, block: Path):
    with browser.page(block) as (shown, seen):
        for tab in ("memory", "kept", "diff", "costs", "strategies", "graph", "checks", "reproduce"):
            shown.click(f'[data-tab="{tab}"]')
            shown.wait_for_selector(f'[data-tab="{tab}"][aria-selected="true"]')
        shown.click('[data-tab="graph"]')
        shown.wait_for_selector(".node")
        assert [url for url in seen.requests if not url.startswith(("blob:", "data:"))] == [block.resolve().as_uri()]
        quiet(seen)


def test_the_policy_lets_no_request_leave(browser: Browser, block: Path):
    with browser.page(block) as (shown, seen):
        outcome = shown.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => 'refused')")
        assert outcome == "refused"
        assert any("Content Security Policy" in error for error in seen.errors)
        assert not [url for url in seen.requests if url.startswith("http")]


def test_pointing_at_a_line_lights_what_it_became(browser: Browser, block: Path):
    with browser.page(block) as (shown, seen):
        row(shown, "source", "stablehlo.rsqrt").hover()
        shown.wait_for_selector('.pane[data-slot="derivative"] .row.hovered')
        for slot in ("source", "primal", "derivative"):
            lit = shown.locator(f'.pane[data-slot="{slot}"] .row.hovered').all_inner_texts()
            assert any("rsqrt" in line for line in lit), slot
            assert all("○" in line for line in lit), "a mark beside the colour"
        quiet(seen)


def test_a_click_selects_explains_and_is_kept_in_the_address(browser: Browser, block: Path):
    with browser.page(block) as (shown, seen):
        row(shown, "source", "stablehlo.rsqrt").click()
        assert "stablehlo.rsqrt" in shown.locator(".explanation").inner_text()
        linked = shown.locator('.pane[data-slot="derivative"] .row.linked')
        assert linked.count() >= 2
        linked.last.click()
        explained = shown.locator(".explanation").inner_text()
        assert re.search(r"block\.mlir:\d+:\d+", explained)
        assert "Derived" in explained
        assert "stablehlo.rsqrt" in explained
        assert "rule of stablehlo.rsqrt, transforms/ad/rules/elementwise.py:" in explained
        address = shown.url
        assert "sel=" in address
    with browser.page(block, fragment="#" + address.partition("#")[2]) as (again, seen):
        again.wait_for_selector('.pane[data-slot="derivative"] .row.selected')
        assert again.locator(".explanation").inner_text() == explained
        quiet(seen)


def test_any_op_is_two_clicks_away(browser: Browser, block: Path):
    with browser.page(block) as (shown, _):
        shown.click('[data-stage="5"]')
        shown.locator('.pane[data-slot="derivative"] .row').nth(8).click()
        assert "sel=5%3A9" in shown.url
        assert "Uses" in shown.locator(".explanation").inner_text()


def test_values_lead_to_what_defines_and_uses_them(browser: Browser, block: Path):
    with browser.page(block) as (shown, _):
        row(shown, "derivative", "stablehlo.rsqrt").click()
        used = shown.locator(".explanation .values button").first
        name = used.locator("code").inner_text()
        used.click()
        assert shown.locator(".explanation h3").inner_text().startswith(name)
        selected = shown.locator('.pane[data-slot="derivative"] .row.selected').inner_text()
        assert name in selected


def test_stages_are_chosen_in_the_strip(browser: Browser, block: Path):
    with browser.page(block) as (shown, _):
        assert shown.locator("button.stage").count() < 15
        shown.click(".fold")
        assert shown.locator("button.stage").count() > 25
        assert re.search(r"\d m?s\s+191 \+107\s+413 KiB", shown.locator("button.stage", has_text="vjp").first.inner_text())
        bufferize = shown.locator("button.stage", has_text="bufferize")
        bufferize.click()
        pane = shown.locator('.pane[data-slot="lowered"]')
        assert pane.is_visible()
        assert pane.locator(".picker option:checked").inner_text().endswith("bufferize")
        shown.locator("button.stage", has_text="emit-llvm").first.click()
        assert "define" in row(shown, "lowered", "define").inner_text()


def test_everything_goes_by_the_keyboard(browser: Browser, block: Path):
    with browser.page(block) as (shown, seen):
        keys = shown.keyboard
        keys.press("3")
        keys.press("Home")
        for _ in range(12):
            keys.press("j")
        shown.locator('.pane[data-slot="derivative"] .row.selected .number', has_text=re.compile("^13$")).wait_for()  # lines are drawn after the keys
        keys.press("ArrowLeft")
        assert shown.evaluate("document.activeElement.closest('.pane').dataset.slot") == "primal"
        assert shown.locator('.pane[data-slot="primal"] .row.selected').count() == 1
        keys.press("]")
        keys.press("[")
        keys.press("/")
        keys.type("dot_general")
        keys.press("Enter")
        assert "dot_general" in shown.locator(".row.selected").inner_text()
        keys.press("Escape")
        keys.press("?")
        assert "line by line" in shown.locator("dialog").inner_text()
        keys.press("Escape")
        shown.wait_for_selector("dialog", state="detached")
        before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        keys.press("t")
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
        keys.press("0")
        assert shown.locator("#dock-panel").is_visible()
        keys.press(".")
        assert shown.locator('[role="tab"][aria-selected="true"]').inner_text() == "Kept"
        keys.press("z")
        keys.press("0")
        assert not shown.locator("#dock-panel").is_visible()
        keys.press("Escape")
        shown.wait_for_url(lambda url: "sel=" not in url)  # the address follows the keys
        quiet(seen)


def test_the_timeline_of_memory_is_clicked(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=memory") as (shown, _):
        caption = shown.locator(".memory .lead")
        assert "at the peak" in caption.inner_text()
        peak = shown.evaluate("wengert.model.views[7].stage.peak")
        assert abs(int(caption.inner_text().split(" KiB")[0]) - peak / 1024) <= 0.5
        box = shown.locator(".timeline").bounding_box()
        shown.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.93 * box["height"])
        assert "op " in caption.inner_text()
        shown.locator(".timeline").focus()
        shown.keyboard.press("p")
        assert "at the peak" in caption.inner_text()
        shown.keyboard.press("ArrowRight")
        assert "at the peak" not in caption.inner_text()
        shown.locator(".live tbody tr").nth(3).click()
        assert "sel=" in shown.url


def test_memory_is_shown_as_compiled_too(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=memory") as (shown, seen):
        shown.select_option('[aria-label="what is drawn"]', "compiled")
        assert "allocated as predicted" in shown.locator(".memory .plot").inner_text()
        assert "kept for the reverse part 138 KiB" in shown.locator(".shares").inner_text()
        shown.locator(".live tbody tr", has_text="matmul").first.click()
        assert "dot_general" in shown.locator('.pane[data-slot="source"] .row.selected').inner_text()
        quiet(seen)


def test_kept_values_are_listed_and_lead_to_their_ops(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=kept") as (shown, _):
        rows = shown.locator(".panel.kept tbody tr")
        assert rows.count() > 10
        rows.first.focus()
        shown.keyboard.press("Enter")
        assert "kept" in shown.locator(".explanation").inner_text()


def test_any_two_stages_are_compared(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=diff") as (shown, _):
        tallies = shown.locator(".tallies").inner_text()
        added, removed = (int(n) for n in re.findall(r"[+−](\d+)", tallies))
        assert added > 90
        assert removed == 0
        shown.select_option('[aria-label="to stage"]', label="5 · vjp")
        assert shown.locator(".tallies").inner_text() != tallies
        assert "b=5" in shown.url
        shown.click("text=swap")
        assert int(re.findall(r"−(\d+)", shown.locator(".tallies").inner_text())[0]) > 90
        assert "matched by lines" in shown.locator(".difference").inner_text(), "an earlier stage after a later one has no figures"
        shown.locator(".line.kremoved").first.click()
        assert "sel=" in shown.url


def test_differences_have_the_figures_of_diff(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=diff") as (shown, seen):
        figures = shown.locator(".weights").inner_text()
        assert all(name in figures for name in ("ops", "flops", "kept", "peak"))
        assert shown.locator(".line.from").count() > 2
        shown.locator(".line.kadded").first.click()
        assert "sel=" in shown.url
        assert shown.locator(".explanation h3").inner_text()
        quiet(seen)


def test_lines_that_are_only_numbered_otherwise_are_alike(browser: Browser, tmp_path: Path):
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %c = stablehlo.constant dense<2.0> : tensor<f64>\n  %0 = stablehlo.multiply %x, %x : tensor<f64>\n  %1 = stablehlo.add %x, %x : tensor<f64>\n  %2 = stablehlo.sine %1 : tensor<f64>\n  return %2 : tensor<f64>\n}\n"
    path = written(tmp_path, text, "p.mlir", Wanted(None, "dce"), ())
    with browser.page(path, fragment="#tab=diff&a=0&b=1") as (shown, _):
        assert shown.locator(".tallies").inner_text().startswith("+0 −2 ~0")


def test_the_graph_is_drawn_folded_opened_and_walked(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=graph") as (shown, seen):
        shown.wait_for_selector(".node")
        folded = shown.locator(".node").count()
        assert folded <= 60
        assert shown.locator(".edge.kept").count() > 5
        group = shown.locator(".node.group").nth(2)
        group.dispatch_event("dblclick")
        until(shown, f"document.querySelectorAll('.node').length > {folded}")
        shown.locator("svg.graph").focus()
        shown.keyboard.press("ArrowDown")
        shown.keyboard.press("ArrowDown")
        assert "sel=" in shown.url
        assert shown.locator(".node.chosen").count() == 1
        shown.click("text=fold all")
        until(shown, f"document.querySelectorAll('.node').length === {folded}")
        shown.select_option('[aria-label="fold by"]', "ops")
        until(shown, "document.querySelectorAll('.node').length > 150")
        before = shown.locator(".drawing").get_attribute("transform")
        box = shown.locator("svg.graph").bounding_box()
        shown.mouse.move(box["x"] + 200, box["y"] + 100)
        shown.mouse.wheel(0, -400)
        until(shown, f"document.querySelector('.drawing').getAttribute('transform') !== '{before}'")
        quiet(seen)


def test_costs_strategies_checks_and_commands_are_shown(browser: Browser, block: Path):
    with browser.page(block, fragment="#tab=costs") as (shown, _):
        panel = shown.locator("#dock-panel")
        assert "Use reverse" in panel.inner_text()
        shown.locator(".costs .clickable").first.click()
        assert shown.locator('.pane[data-slot="source"] .row.selected').count() == 1
        shown.click('[data-tab="strategies"]')
        assert shown.locator(".scatter circle").count() > 5
        assert shown.locator(".data .chosen").count() == 1
        shown.click('[data-tab="checks"]')
        assert "✓ ok" in panel.inner_text()
        shown.click('[data-tab="reproduce"]')
        assert "wengert report block.mlir --vjp -o report.html" in panel.inner_text()


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_shows_one_pane(browser: Browser, block: Path, dark: bool):
    with browser.page(block, width=420, height=800, dark=dark) as (shown, seen):
        assert shown.locator(".pane:visible").count() == 1
        shown.click('.toggles [data-slot="source"]')
        assert shown.locator(".pane:visible").get_attribute("data-slot") == "source"
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        row(shown, "source", "stablehlo.rsqrt").click()
        assert "rsqrt" in shown.locator(".explanation").inner_text()
        quiet(seen)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_what_is_behind_it(browser: Browser, block: Path, dark: bool):
    """Contrast of at least 4.5 for the colours of text, as WCAG 2 asks for."""
    with browser.page(block, dark=dark) as (shown, _):
        ratios = shown.evaluate(
            """() => {
              const probe = document.body.appendChild(document.createElement('i'));
              const channels = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number); };
              const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
              const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
              const texts = ['text', 'dim', 'accent', 'good', 'bad', 'primal', 'coefficient', 'tangent', 'cotangent', 'accumulation', 'w-operation', 'w-value', 'w-type', 'w-string', 'w-symbol', 'w-attribute', 'w-number'];
              return Object.fromEntries(texts.map((name) => [name, ratio(channels('--' + name), channels('--panel'))]));
            }"""
        )
        assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
