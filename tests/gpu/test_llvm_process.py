"""LLVM for devices runs in a process of its own: what ends it is an error, and what it writes does not depend on what it wrote before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from wengert.transforms.codegen.gpu.device import llvm_process
from wengert.transforms.codegen.gpu.device.objects import DeviceCompileError, assembly, binary, optimized
from wengert.transforms.codegen.gpu.device.targets import AMDGPU, NVPTX, SPIRV, DeviceTarget


def kernel(target: DeviceTarget, blocks: int, name: str = "k") -> str:
    """A kernel of so many blocks."""
    steps = "\n".join(
        f"b{n}:\n  %x{n} = load float, ptr addrspace(1) %p\n  %c{n} = fcmp olt float %x{n}, {n}.0\n  store float {n}.5, ptr addrspace(1) %p\n"
        f"  br i1 %c{n}, label %b{n + 1}, label %b{blocks}"
        for n in range(blocks)
    )
    return f'target triple = "{target.triple}"\ndefine {target.convention} void @{name}(ptr addrspace(1) %p) {{\n  br label %b0\n{steps}\nb{blocks}:\n  ret void\n}}\n'


FATAL = """define i128 @quotient(i128 %x, i128 %y) {
  %r = sdiv i128 %x, %y
  ret i128 %r
}
"""


def test_what_ends_the_process_is_an_error() -> None:
    before = binary(kernel(SPIRV, 3), SPIRV)
    with pytest.raises(DeviceCompileError, match=r"LLVM ended its process .*: LLVM ERROR: OpTypeInt type with a width other than 8, 16, 32 or 64 bits"):
        binary(f'target triple = "{SPIRV.triple}"\n{FATAL}', SPIRV)
    with pytest.raises(DeviceCompileError, match=r"LLVM ended its process .*: LLVM ERROR: Cannot select: intrinsic %llvm.nvvm"):
        binary(kernel(AMDGPU, 1).replace("br label %b0", "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  br label %b0", 1), AMDGPU, "gfx942")
    assert binary(kernel(SPIRV, 3), SPIRV) == before, "the next one is compiled"


def test_what_is_rejected() -> None:
    with pytest.raises(DeviceCompileError, match=r"(?s)LLVM rejected generated code: .*expected top-level entity"):
        optimized("nonsense", NVPTX)
    with pytest.raises(DeviceCompileError, match="LLVM rejected generated code: "):
        binary(kernel(NVPTX, 1), NVPTX)


@pytest.mark.parametrize("write", [binary, assembly])
def test_what_is_written_does_not_depend_on_what_was_written_before(write: object) -> None:
    """In LLVM 22.1, labels of an earlier module come again, also as numbers that the module gives to other values."""
    assert callable(write)
    texts = [kernel(SPIRV, blocks) + kernel(SPIRV, 2 * blocks, "other").partition("\n")[2] for blocks in (1, 40, 2, 7, 25)]
    first = [write(text, SPIRV) for text in texts]
    assert [write(text, SPIRV) for text in reversed(texts) for _ in range(4)] == [made for made in reversed(first) for _ in range(4)]


def test_an_interrupt_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to what was interrupted is not taken for the answer to what comes next."""
    expected = [assembly(kernel(NVPTX, blocks), NVPTX) for blocks in (1, 2)]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(llvm_process.llvm_worker, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            assembly(kernel(NVPTX, 1), NVPTX)
    assert [assembly(kernel(NVPTX, blocks), NVPTX) for blocks in (1, 2)] == expected


CHILD = """
import os, sys
from wengert.transforms.codegen.gpu.device.objects import assembly
from wengert.transforms.codegen.gpu.device.targets import NVPTX
text = sys.stdin.read()
before = assembly(text, NVPTX)
child = os.fork()
same = assembly(text, NVPTX) == before
if not child:
    sys.exit(0 if same else 7)
_, status = os.waitpid(child, 0)
print(same, os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_forks_of_a_process_that_compiled() -> None:
    made = subprocess.run([sys.executable, "-W", "error", "-c", CHILD], input=kernel(NVPTX, 5), capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout.split(), made.stderr) == (0, ["True", "0"], "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_somebody_else_ends() -> None:
    expected = assembly(kernel(NVPTX, 3), NVPTX)
    (process,) = llvm_process._processes  # pyright: ignore[reportPrivateUsage]
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(DeviceCompileError, match=r"LLVM ended its process \(Killed\): without a word"):
        assembly(kernel(NVPTX, 3), NVPTX)
    assert assembly(kernel(NVPTX, 3), NVPTX) == expected
