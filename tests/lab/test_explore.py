"""The explorer: whom its server lets in, what its process does with texts, and the page in a real browser."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from browser import Browser, chromium, needs_browser

from wengert.lab.cli.main import main
from wengert.lab.explore.answering import answer
from wengert.lab.explore.examples import examples
from wengert.lab.explore.process import Explorer
from wengert.lab.explore.requests import MOST_BYTES, Posted, read_posted
from wengert.lab.explore.server import application

PORT, TOKEN = 4321, "a-token-of-the-test"
ORIGIN = {"origin": f"http://127.0.0.1:{PORT}"}
SINE = "func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  %0 = stablehlo.sine %x : tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n"
START = {"live": 1, "name": "p.mlir", "text": SINE, "pipeline": "", "examples": examples(), "choices": {"strategies": ["transpose"], "residuals": ["auto"]}}


class Recorded:
    """What would run passes: it notes that it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def ask(self, data: bytes) -> bytes:
        self.asked.append(data)
        return b'{"document":null,"diagnostics":[]}'


class Client:
    """Sends requests to an application without a network."""

    def __init__(self, explorer: Any = None):
        self._application = application(explorer or Recorded(), START, PORT, TOKEN)

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self._send("GET", path))

    def post(self, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._send("POST", path, **options))

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self._application)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as sender:
            return await sender.request(method, path, **options)


def posted(**fields: Any) -> bytes:
    return json.dumps({"text": SINE, **fields}).encode()


JSON = {"content-type": "application/json"}


def test_the_page_is_for_who_has_the_token():
    assert Client().get(f"/{TOKEN}/").status_code == 200
    for path in ("/", "/x/", "/favicon.ico", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"/{TOKEN}", f"//{TOKEN}/"):
        assert Client().get(path).status_code == 404, path


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}", ""])
def test_other_hosts_are_refused(host: str):
    recorded = Recorded()
    response = Client(recorded).post(f"/{TOKEN}/run", content=posted(), headers={**JSON, **ORIGIN, "host": host})
    assert response.status_code == 421
    assert not recorded.asked


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}", "http://localhost", None])
def test_other_origins_are_refused(origin: str | None):
    recorded = Recorded()
    headers = JSON | ({} if origin is None else {"origin": origin})
    assert Client(recorded).post(f"/{TOKEN}/run", content=posted(), headers=headers).status_code == 403
    assert not recorded.asked


def test_only_requests_of_the_known_form_are_answered():
    recorded = Recorded()
    served, address = Client(recorded), f"/{TOKEN}/run"
    assert served.post(address, content=posted(), headers={**ORIGIN, "content-type": "text/plain"}).status_code == 415
    for wrong in (b"{", b"[]", b'{"text": 1}', posted(path="/etc/passwd"), posted(mode="run"), posted(analyses=["check"])):
        assert served.post(address, content=wrong, headers=JSON | ORIGIN).status_code == 400, wrong
    assert served.post(address, content=posted(text="x" * MOST_BYTES), headers=JSON | ORIGIN).status_code == 413
    assert served.get(address).status_code == 405
    assert not recorded.asked
    assert served.post(address, content=posted(), headers=JSON | ORIGIN).status_code == 200
    assert len(recorded.asked) == 1


def test_what_is_sent_is_for_this_page_alone():
    response = Client().get(f"/{TOKEN}/")
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert "connect-src 'self'" in response.text.replace("&#39;", "'")


@pytest.mark.parametrize("example", examples(), ids=lambda e: e["title"])
@pytest.mark.parametrize("mode", ["vjp", "jvp", "primal"])
def test_examples_go_all_the_way(example: dict[str, str], mode: Any):
    made = answer(Posted(example["text"], mode=mode))
    assert made.diagnostics == ()
    assert made.document is not None
    assert json.loads(bytes(made.document))["stages"][-1]["name"] == "optimize-llvm"


def test_mistakes_are_diagnostics():
    (diagnostic,) = answer(Posted(SINE.replace("sine", "sign_of"))).diagnostics
    assert (diagnostic["line"], diagnostic["file"]) == (2, "program.mlir")
    (diagnostic,) = answer(Posted(SINE, pipeline="simplfy")).diagnostics
    assert "simplify" in str(diagnostic["hint"])
    assert "argument" in str(
        answer(msgspec.structs.replace(Posted(SINE), positions=read_posted(posted(positions={"wrt": [7]})).positions)).diagnostics[0]["message"]
    )


def test_a_text_does_not_reach_files(tmp_path: Path):
    secret = tmp_path / "secret.py"
    secret.write_text("do-not-copy")
    made = answer(Posted(SINE.replace("tensor<4xf64>\n  return", f'tensor<4xf64> loc("{secret}":1:1)\n  return')))
    assert made.document is not None
    assert b"do-not-copy" not in bytes(made.document)


def test_what_takes_too_long_is_ended_and_the_next_request_is_answered(tmp_path: Path):
    plugin = tmp_path / "slow.py"
    plugin.write_text(
        "import time\nfrom dataclasses import dataclass\nfrom xdsl.passes import ModulePass\nimport wengert as wg\n\n\n"
        "@wg.register\n@dataclass(frozen=True)\nclass Slow(ModulePass):\n    '''Waits.'''\n    name = 'slow'\n\n"
        "    def apply(self, ctx, op):\n        time.sleep(600)\n"
    )
    explorer = Explorer([str(plugin)], seconds=3.0)
    try:
        explorer.start()
        begin = time.monotonic()
        told = json.loads(explorer.ask(posted(pipeline="slow", mode="primal")))
        assert "took longer than 3 s" in told["diagnostics"][0]["message"]
        assert time.monotonic() - begin < 60
        assert json.loads(explorer.ask(posted(code=False)))["document"]["stages"]
    finally:
        explorer.stop()


def test_what_needs_too_much_memory_is_refused():
    explorer = Explorer(seconds=120.0, memory=64 << 20)
    try:
        constants = "\n".join(f"  %c{n} = stablehlo.iota dim = 0 : tensor<4xf64>" for n in range(40000))
        told = json.loads(explorer.ask(posted(text=SINE.replace("{\n", "{\n" + constants + "\n", 1), mode="primal")))
        assert "memory" in told["diagnostics"][0]["message"]
    finally:
        explorer.stop()


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["explore", "--port", "70000"]) == 2
    assert "0 to 65535" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["explore", "nothing.mlir"]) == 1
    assert "nothing.mlir" in capsys.readouterr().err


# -- in a browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that runs, with its process."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    port, token, explorer = listening.getsockname()[1], secrets.token_urlsafe(16), Explorer(seconds=60.0)
    server = uvicorn.Server(uvicorn.Config(application(explorer, START, port, token), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/{token}/"
    finally:
        server.should_exit = True
        thread.join(30)
        explorer.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def settled(shown: Any, state: str = "whole") -> None:
    shown.wait_for_selector(f"html[data-fresh={state}]")


@needs_browser
@pytest.mark.browser
def test_a_program_is_edited_and_every_stage_follows(browser: Browser, address: str):
    with browser.page(address) as (shown, seen):
        settled(shown)
        derivative = '.pane[data-slot="derivative"]'
        assert "stablehlo.cosine" in shown.locator(derivative).inner_text()
        shown.evaluate("document.documentElement.dataset.fresh = 'no'")
        shown.locator(".cm-content").click()
        shown.keyboard.press("Control+a")
        shown.keyboard.insert_text(SINE.replace("sine", "exponential"))
        settled(shown)
        assert "stablehlo.exponential" in shown.locator(derivative).inner_text()
        assert "stablehlo.cosine" not in shown.locator(derivative).inner_text()
        shown.locator(".cm-line", has_text="exponential").click()
        shown.wait_for_selector(f"{derivative} .row.linked")
        shown.wait_for_selector(".cm-line.selected")
        assert not seen.outside
        assert not seen.errors


@needs_browser
@pytest.mark.browser
def test_mistakes_show_where_they_are(browser: Browser, address: str):
    with browser.page(address) as (shown, seen):
        settled(shown)
        shown.locator(".cm-content").click()
        shown.keyboard.press("Control+a")
        shown.keyboard.insert_text(SINE.replace("sine", "sin"))
        settled(shown, "failed")
        assert "2:" in shown.locator(".problems").inner_text()
        assert "sine" in shown.locator(".problems").inner_text()
        assert shown.locator(".cm-lintRange-error").count() == 1
        assert shown.locator('.pane[data-slot="derivative"] .row').count() > 0, "the last stages stay"
        shown.select_option('[aria-label="start from an example"]', label="A loop")
        settled(shown)
        assert not shown.locator(".problems").is_visible()
        assert "while" in shown.locator(".cm-content").inner_text()
        shown.fill(".pipeline", "simplfy")
        settled(shown, "failed")
        assert "simplify" in shown.locator(".problems").inner_text()
        assert not seen.outside


@needs_browser
@pytest.mark.browser
def test_the_request_is_edited_too(browser: Browser, address: str):
    with browser.page(address, fragment="#tab=costs") as (shown, seen):
        settled(shown)
        shown.locator("#dock-panel", has_text=re.compile("Use|tie")).wait_for()  # what was shown before may still be there
        shown.evaluate("document.documentElement.dataset.fresh = 'no'")
        shown.select_option('[aria-label="derivative"]', "jvp")
        settled(shown)
        shown.locator(".request", has_text="JVP of result 0").wait_for()
        shown.evaluate("document.documentElement.dataset.fresh = 'no'")
        shown.fill('[aria-label^="arguments"]', "7")
        settled(shown, "failed")
        assert "7" in shown.locator(".problems").inner_text()
        assert not seen.outside
        assert not seen.errors
