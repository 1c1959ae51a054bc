"""LLVM's options are as they were after an object was made, and are set where no file can be written too."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

from wengert.transforms.codegen.cpu import idle_passes
from wengert.transforms.codegen.cpu.idle_passes import DISABLED, DISABLED_X86, ENABLED, ENABLED_X86, LIMITS, without_idle_passes
from wengert.transforms.codegen.cpu.machine_code import emit_object
from wengert.transforms.schedule.host import host

LOOP = """define void @f(ptr %x, ptr %y) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %xi = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %xi
  %w = fmul double %v, %v
  %yi = getelementptr double, ptr %y, i64 %i
  store double %w, ptr %yi
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %loop, label %end
end:
  ret void
}"""


class Recorder:
    """Takes down what is set, from files too."""

    def __init__(self) -> None:
        self.options: list[str] = []
        self.calls = 0

    def set_option(self, name: str, option: str) -> None:
        assert name == "wengert"
        self.calls += 1
        self.options += Path(option[1:]).read_text().splitlines() if option.startswith("@") else [option]


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
@pytest.mark.parametrize("place", ["memory", "closed", "folder", "nowhere"])
def test_every_option_is_set_and_set_back(triple: str, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    idle_passes.settings.cache_clear()
    if place == "closed":  # as daemons do, which open other files under the same numbers
        with (tmp_path / "other").open("w") as other:
            for options in idle_passes.settings(triple.startswith("x86")):
                assert options.kept is not None
                os.dup2(other.fileno(), options.kept)
    elif place != "memory":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    if place == "nowhere":
        monkeypatch.setattr(tempfile, "tempdir", "/nonexistent/folder")
    x86 = triple.startswith("x86")
    disabled, enabled = DISABLED + DISABLED_X86 * x86, ENABLED + ENABLED_X86 * x86
    off = {f"-{n}=true" for n in disabled} | {f"-{n}=false" for n in enabled} | {f"-{n}={ours}" for n, ours, _ in LIMITS}
    on = {f"-{n}=false" for n in disabled} | {f"-{n}=true" for n in enabled} | {f"-{n}={own}" for n, _, own in LIMITS}
    recorder = Recorder()
    with without_idle_passes(recorder, triple):
        assert set(recorder.options) == off
        assert recorder.calls == (len(off) if place == "nowhere" else 1)
        recorder.options.clear()
    idle_passes.settings.cache_clear()
    assert set(recorder.options) == on


def test_other_users_of_llvm_notice_nothing() -> None:
    def compiled() -> bytes:
        this_host = host()
        machine: Any = llvm.Target.from_triple(this_host.triple).create_target_machine(cpu=this_host.cpu, features=this_host.features, opt=2, jit=True)
        module = llvm.parse_assembly(LOOP)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        return machine.emit_object(module)

    before = compiled()
    ours = emit_object(LOOP)
    assert compiled() == before
    assert ours != before
