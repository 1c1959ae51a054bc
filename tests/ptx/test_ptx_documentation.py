"""The page on the interpreter: its table is that of the code, and its program runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ptx_programs import applied, launched

from wengert.runtime import ptx
from wengert.runtime.ptx.instructions import TABLE, markdown
from wengert.runtime.ptx.special import SPECIAL

PAGE = (Path(__file__).parents[2] / "docs" / "ptx_interpreter.md").read_text()


def test_the_table_is_that_of_the_code() -> None:
    """After a change: the text of ``wengert.runtime.ptx.instructions.markdown()``."""
    assert markdown() in PAGE


def test_the_program_of_the_page_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(program, names)
    np.testing.assert_array_equal(names["result"], np.arange(1000, dtype=np.float32) * 2)


def test_special_registers_are_listed() -> None:
    listed = re.search(r"Special registers: (.*?)\.\n", PAGE, re.DOTALL)
    assert listed is not None
    names = set(re.findall(r"%\w+|WARP_SZ", listed[1]))
    assert names == {name.split(".")[0] for name in SPECIAL} - {f"%lanemask_{w}" for w in ("lt", "le", "gt", "ge")}


@pytest.mark.parametrize(
    "opcode",
    [
        "wgmma.fence.sync.aligned",
        "mbarrier.init.shared.b64",
        "tex.1d.v4.f32.f32",
        "cp.async.bulk.commit_group",
        "setmaxnreg.inc.sync.aligned.u32",
        "fance.sc.gpu",
    ],
)
def test_everything_else_is_refused(opcode: str) -> None:
    with pytest.raises(ptx.UnsupportedError, match=r"test\.ptx:\d+:\d+: error: '.*' is not modelled"):
        launched(f"{opcode}; ret;")


@pytest.mark.parametrize("opcode", [name for name in TABLE if name not in ("nanosleep", "prefetch", "prefetchu", "applypriority")])
def test_no_instruction_takes_a_modifier_that_it_does_not_know(opcode: str) -> None:
    """A modifier that nobody looks at would be silently wrong."""
    with pytest.raises((ptx.UnsupportedError, ptx.ParseError)):
        applied(f"{opcode}.unheard_of.b32", np.uint32, [np.arange(4, dtype=np.uint32)] * 2)
