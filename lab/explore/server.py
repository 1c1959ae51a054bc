"""The explorer's server: one page, and one address that answers programs with documents, for this user's browser alone.

It listens on 127.0.0.1 only. Every address begins with a token that nobody can guess, so that other users of the machine do not get in. Requests whose ``Host``
is another name are refused (a site may let its name point here: DNS rebinding), and so are those whose ``Origin`` is another page (which a
browser sends with whatever a page posts). Nothing that is posted names a file or is executed; passes run in a process of their own, with limits.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from wengert.lab.explore.process import Explorer
from wengert.lab.explore.requests import MOST_BYTES, read_posted
from wengert.lab.report.page import packed, page

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Scope = dict[str, Any]
Call = Callable[..., Awaitable[Any]]


class Guard:
    """Lets in who has the token, under the names of this machine's loopback, from no other page."""

    def __init__(self, app: Call, port: int, token: str):
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Call, send: Call) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        refused = self._refusal(Request(scope)) if scope["type"] == "http" else PlainTextResponse("not found\n", 404)
        if refused is not None:
            return await refused(scope, receive, send)
        return await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts:
            return PlainTextResponse("this host is not served here\n", 421, HEADERS)
        token = request.url.path.split("/")[1] if request.url.path.count("/") > 1 else ""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("not found\n", 404, HEADERS)
        allowed = {f"http://{name}" for name in self._hosts}
        if (origin is not None and origin not in allowed) or (request.method == "POST" and origin is None):
            return PlainTextResponse("requests of other pages are refused\n", 403, HEADERS)
        return None


def application(explorer: Explorer, start: dict[str, Any], port: int, token: str) -> Starlette:
    """The server as an ASGI application.

    Args:
        explorer: what answers.
        start: what the page begins with: a program's text and name, and the examples.
        port: where it listens, for the check of ``Host``.
        token: the first part of every address.
    """
    html = page(str(start["name"]), packed(start), live=True)

    def show(request: Request) -> Response:
        return HTMLResponse(html, headers=HEADERS)

    async def run(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return PlainTextResponse("expected JSON\n", 415, HEADERS)
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > MOST_BYTES:
                return PlainTextResponse(f"a request has at most {MOST_BYTES} bytes\n", 413, HEADERS)
        try:
            read_posted(bytes(data))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400, HEADERS)
        return Response(await run_in_threadpool(explorer.ask, bytes(data)), media_type="application/json", headers=HEADERS)

    routes = [Route(f"/{token}/", show, methods=["GET"]), Route(f"/{token}/run", run, methods=["POST"])]
    return Starlette(routes=routes, middleware=[Middleware(Guard, port=port, token=token)])
