"""``wengert explore [p.mlir]``: the page of ``wengert report``, live: edit the program or the passes and see every stage again."""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
import threading
import webbrowser
from typing import Any

from wengert.ir.installation import command
from wengert.ir.parsing.sources import read_standard_input
from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.explore.examples import examples
from wengert.runtime.bytecode import program_text
from wengert.runtime.errors import InputError
from wengert.runtime.loading import read_text

LARGEST = 1 << 20
"""Bytes of a program that can be edited."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("program", nargs="?", metavar="PROGRAM.mlir", help="what to begin with (default: an example); - for stdin. The file is not written to")
    parser.add_argument("-p", "--pass-pipeline", default="", metavar="PIPELINE", help="passes to begin with, behind the derivative")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="the port on 127.0.0.1 (default: one that is free)")
    parser.add_argument("--seconds", type=arguments.positive, default=10, metavar="N", help="what one run of the passes may take (default: 10)")
    parser.add_argument("--memory", type=arguments.byte_amount, default=4 << 30, metavar="4GiB", help="memory that the passes may use (default: 4 GiB)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def execute(options: argparse.Namespace) -> int:
    """Serves until it is interrupted."""
    try:
        import uvicorn

        from wengert.lab.explore.server import HOST, application
    except ImportError:
        raise InputError(f"the explorer's server is starlette and uvicorn, which are not installed: {command('explore')}") from None
    from wengert.lab.explore.process import Explorer

    start = _start(options)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, options.port))
    listening.listen()
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    explorer = Explorer(options.load, seconds=options.seconds, memory=options.memory)
    server = uvicorn.Server(uvicorn.Config(application(explorer, start, port, token), log_level="warning", access_log=False, server_header=False))
    address = f"http://{HOST}:{port}/{token}/"
    print(f"exploring {start['name']} at {address}\nOnly who has this address gets in. Ctrl-C ends it.", flush=True)
    threading.Thread(target=explorer.start, daemon=True).start()  # its imports take a second, in which the page opens
    if not options.no_browser:
        webbrowser.open(address)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        explorer.stop()
    return Exit.OK


def _start(options: argparse.Namespace) -> dict[str, Any]:
    """What the page begins with."""
    from wengert.transforms.ad.residuals.policies import policy_names
    from wengert.transforms.ad.strategies import strategy_names

    listed = examples()
    if options.program is None:
        name, text = "example.mlir", listed[1]["text"]
    elif options.program == "-":
        name, text = "<stdin>", program_text(read_standard_input(), "<stdin>")
    else:
        name, text = options.program, read_text(options.program)
    if len(text.encode()) > LARGEST:
        raise InputError(f"{name} has {len(text.encode())} bytes, and the explorer takes at most {LARGEST}: wengert report shows it")
    choices = {"strategies": list(strategy_names()), "residuals": list(policy_names())}
    return {"live": 1, "name": name, "text": text, "pipeline": options.pass_pipeline, "examples": listed, "choices": choices, "plugins": list(options.load)}


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port, 0 to 65535, found {text!r}")
    return int(text)
