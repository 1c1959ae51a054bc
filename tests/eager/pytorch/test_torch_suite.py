"""``benchmarks.torch_suite``: a test file of PyTorch's kind, run with its names renamed to ours."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's test classes need expecttest")

FILE = """
import torch
from torch.autograd import Function
from torch.testing._internal.common_utils import TestCase, run_tests


class TestSome(TestCase):
    def test_right(self):
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        self.assertEqual(x.grad, torch.full((2,), 2.0))
        self.assertIs(type(x).__module__.startswith("wengert"), EXPECTED)

    def test_wrong(self):
        self.assertEqual(torch.ones(2), torch.zeros(2))

    def test_absent(self):
        torch.sparse_coo_tensor(torch.zeros(1, 1), torch.ones(1))

    def test_process_that_ends(self):
        import os

        os._exit(3)
"""


def test_a_file_runs_on_both_sides(tmp_path: Path) -> None:
    from benchmarks.torch_suite.__main__ import reason, run, table

    path = tmp_path / "test_some.py"
    path.write_text(FILE.replace("EXPECTED", "True"))
    ours = {r.name: r for r in run(path, "ours", [], 30)}
    assert {n.split(".")[1]: r.status for n, r in ours.items()} == {
        "test_absent": "failed",
        "test_process_that_ends": "failed",
        "test_right": "passed",
        "test_wrong": "failed",
    }
    assert reason(ours["TestSome.test_absent"].note) == "torch.sparse_coo_tensor"
    assert ours["TestSome.test_process_that_ends"].note == "the process ended"
    path.write_text(FILE.replace("EXPECTED", "False"))
    theirs = {r.name: r.status for r in run(path, "theirs", ["right", "absent"], 30)}
    assert theirs == {"TestSome.test_right": "passed", "TestSome.test_absent": "passed"}
    text = table(ours.values(), run(path, "theirs", ["right", "absent"], 30))
    assert "| all | 2 | 1 |" in text
    assert "`torch.sparse_coo_tensor` (1)" in text


def test_a_file_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    from benchmarks.torch_suite.__main__ import run

    path = tmp_path / "test_none.py"
    path.write_text("import nothing_of_this_name\n")
    with pytest.raises(ValueError, match="cannot be imported"):
        run(path, "ours", [], 10)
