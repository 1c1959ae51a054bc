"""LLVM for devices, in a process of its own.

The back ends end their process where they meet what they have no code for (``report_fatal_error``), that of SPIR-V writes other, and sometimes wrong, modules
after it has written some, and options of LLVM that the CPU backend sets hold for all of a process. In a process that does nothing else, a failure
is an error like any other, and the same text gives the same bytes whatever was compiled before.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from wengert.ir.pipeline.stages import LOCK
from wengert.transforms.codegen.gpu.device import llvm_worker
from wengert.transforms.schedule.host import llvm_binding


class DeviceCompileError(RuntimeError):
    """LLVM rejected the generated code: a defect of this compiler, or something that a device has not."""


class LLVMProcess:
    """A process that compiles one text after the other.

    Attributes:
        owner, pid: the numbers of the process that started it, and its own.
    """

    def __init__(self) -> None:
        llvmlite = Path(llvm_binding().__file__).parents[2]
        self._said = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it is closed in `end`
        command = [sys.executable, "-I", "-S", llvm_worker.__file__, str(llvmlite)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        self.owner, self.pid = os.getpid(), self._process.pid

    def ask(self, wanted: dict[str, Any], text: str) -> bytes | None:
        """What the process answers; None if it ended."""
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        try:
            llvm_worker.send(requests, json.dumps(wanted).encode() + b"\n" + text.encode())
        except BrokenPipeError:
            return None
        return llvm_worker.receive(replies)

    def said(self) -> str:
        """What was printed since this was asked before."""
        self._said.seek(0)
        text = self._said.read().decode(errors="replace").strip()
        self._said.seek(0)
        self._said.truncate()
        return text

    def end(self) -> int:
        """Ends the process; its exit code, or minus a signal."""
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        if os.getpid() != self.owner:  # a fork of the owner: the process is not its child
            self._process.returncode = 0
        return self._process.wait()


_processes: list[LLVMProcess] = []
"""The process that is there, if one is."""


def compile(wanted: dict[str, Any], text: str) -> bytes:
    """Compiles a text with LLVM, as :func:`wengert.transforms.codegen.gpu.device.llvm_worker.written` describes it.

    Raises:
        DeviceCompileError: LLVM does not accept the text, or ended its process over it; with what it said.
    """
    with LOCK:
        process = _started()
        try:
            reply = process.ask(wanted, text)
            said = process.said()
        except BaseException:  # such as an interrupt: the answer would be taken for that to the next request
            _end()
            raise
        if reply is None:
            reply = llvm_worker.DIED + str(_end()).encode()
        elif wanted["fresh"] and not hasattr(os, "fork"):
            _end()
    kind, data = reply[:1], reply[1:]
    if kind == llvm_worker.OK:
        return data
    if kind == llvm_worker.REJECTED:
        raise DeviceCompileError(f"LLVM rejected generated code: {data.decode()}")
    raise DeviceCompileError(f"LLVM ended its process ({_exit(int(data))}): {_message(said)}")


def _started() -> LLVMProcess:
    if _processes and _processes[0].owner != os.getpid():
        _end()
    if not _processes:
        _processes.append(LLVMProcess())
    return _processes[0]


@atexit.register
def _end() -> int:
    return _processes.pop().end() if _processes else 0


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return signal.strsignal(-code) or f"signal {-code}"


def _message(said: str) -> str:
    """The error in what was printed, or its first line."""
    lines = said.splitlines() or ["without a word"]
    return next((line for line in lines if "error" in line.lower()), lines[0])
