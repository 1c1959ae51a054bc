"""The program of the process in which LLVM compiles for devices (:mod:`wengert.transforms.codegen.gpu.device.llvm_process` starts it).

It is run by its path and imports nothing but llvmlite, so that it starts quickly. Requests come on the standard input, replies go to the standard output; both
are a length and so many bytes. A request is a line of JSON and LLVM text.

LLVM's back end for SPIR-V remembers the numbers of labels from one module to the next, by addresses that come again (in LLVM 22.1, a table of its
SPIRVModuleAnalysis that is not cleared). So where a request says ``fresh``, a child of this process, which has written nothing before, writes the module; where
there are no forks, this process ends after it.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import IO, Any

LENGTH = struct.Struct("<Q")
OK, REJECTED, DIED = b"+", b"-", b"!"
"""What a reply begins with: what was asked for follows; LLVM's message; what the process ended with, that is its exit code, or minus a signal."""


def send(pipe: IO[bytes], data: bytes) -> None:
    """Writes a message."""
    pipe.write(LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """The next message; None where there is no whole one."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = pipe.read(length)
    return data if len(data) == length else None


def loaded() -> Any:
    """llvmlite's binding, ready for all targets."""
    from llvmlite import binding

    llvm: Any = binding
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # without it an atomic sum of floats ends the process
    llvm.set_option("wengert", "--spirv-ext=+SPV_EXT_shader_atomic_float_add")
    # it looks for checksums in loops of 8, 16, 24, ... iterations, along every path through their bodies: seconds for one of a hundred ops
    llvm.set_option("wengert", "--disable-loop-idiom-hashrecognize")
    return llvm


def machine(llvm: Any, wanted: dict[str, Any]) -> Any:
    """LLVM's description of the device, which writes one module: a second one for SPIR-V ends the process."""
    return llvm.Target.from_triple(wanted["triple"]).create_target_machine(cpu=wanted["chip"], features=wanted["features"], opt=wanted["emission"])


def prepared(llvm: Any, wanted: dict[str, Any], text: str) -> Any:
    """The module of a text, after LLVM's passes of the level that is wanted; a RuntimeError if LLVM does not accept it."""
    target = machine(llvm, wanted)
    module = llvm.parse_assembly(text)
    module.data_layout = str(target.target_data)
    module.verify()
    if wanted["level"]:
        options = llvm.create_pipeline_tuning_options(speed_level=wanted["level"])
        options.slp_vectorization = options.loop_vectorization = False  # a thread is one lane
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    return module


def written(llvm: Any, wanted: dict[str, Any], module: Any) -> bytes:
    """What is wanted of a module: its ``optimized`` text, ``bitcode``, ``assembly`` or a ``binary``; a RuntimeError if LLVM has no such thing."""
    what = wanted["what"]
    if what == "optimized":
        return str(module).encode()
    if what == "bitcode":
        return module.as_bitcode()
    writer = machine(llvm, wanted)
    return writer.emit_assembly(module).encode() if what == "assembly" else writer.emit_object(module)


def reply(pipe: IO[bytes], work: Callable[[], bytes]) -> None:
    """Writes what the work makes, or LLVM's message."""
    try:
        data = OK + work()
    except RuntimeError as error:
        data = REJECTED + str(error).encode()
    send(pipe, data)


def in_a_child(replies: IO[bytes], work: Callable[[], bytes]) -> None:
    """Lets a child of this process do the work and reply, or says what it ended with."""
    child = os.fork()
    if not child:
        reply(replies, work)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        send(replies, DIED + str(code).encode())


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answers until no request comes."""
    llvm = loaded()
    while (request := receive(requests)) is not None:
        head, _, text = request.partition(b"\n")
        wanted = json.loads(head)
        try:
            module = prepared(llvm, wanted, text.decode())
        except RuntimeError as error:
            send(replies, REJECTED + str(error).encode())
            continue
        write = partial(written, llvm, wanted, module)
        if not wanted["fresh"]:
            reply(replies, write)
        elif hasattr(os, "fork"):
            in_a_child(replies, write)
        else:
            reply(replies, write)
            return


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that asks
    sys.path.append(sys.argv[1])
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever LLVM prints is no reply
    serve(sys.stdin.buffer, replies)
