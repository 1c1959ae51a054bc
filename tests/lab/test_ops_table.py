"""The table of ops: the page holds what is tried, every op that is known has its example, and the list of ops is StableHLO's."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.main import main
from wengert.lab.ops.attempt import FAILS, NO, NOTHING, Row, attempt, is_known
from wengert.lab.ops.example import example
from wengert.lab.ops.names import CHLO, OPS, STABLEHLO
from wengert.lab.ops.table import EXAMPLES, markdown, markdown_line, row_of

PAGE = (Path(__file__).parents[2] / "docs" / "stablehlo.md").read_text()
KNOWN = [name for name in OPS if is_known(name)]


@pytest.fixture(scope="module")
def tried() -> dict[str, Row]:
    """Every row, tried now."""
    return {name: row_of(name) for name in OPS}


def test_every_known_op_has_an_example() -> None:
    assert [name for name in KNOWN if name not in EXAMPLES] == []


def test_every_example_is_of_an_op() -> None:
    assert [name for name in EXAMPLES if name not in OPS] == []


def test_nothing_fails(tried: dict[str, Row]) -> None:
    """A wrong value or an internal error is never what can be said of an op."""
    assert [(row.op, row.cells, row.notes) for row in tried.values() if FAILS in row.cells.values()] == []


def test_every_known_op_is_read_and_verified(tried: dict[str, Row]) -> None:
    assert [name for name in KNOWN if NO in (tried[name].cells["parse"], tried[name].cells["verify"])] == []


def test_what_is_not_done_has_a_reason(tried: dict[str, Row]) -> None:
    assert [row.op for row in tried.values() if not set(row.cells.values()) <= {"yes", NOTHING, "called"} and not row.notes] == []


def test_the_page_says_what_is_tried(tried: dict[str, Row]) -> None:
    """After a change: ``wengert ops --markdown -o docs/stablehlo.md``."""
    wrong = [line for row in tried.values() if (line := markdown_line(row)) not in PAGE]
    assert wrong == []
    assert markdown(list(tried.values())) == PAGE


@pytest.mark.parametrize("text", ["example", "parse"])
def test_an_op_without_the_one_or_the_other_can_do_nothing(text: str) -> None:
    row = attempt("stablehlo.add", None) if text == "example" else attempt("stablehlo.no_such_op", example("stablehlo.no_such_op", "f64 -> f64"))
    assert set(row.cells.values()) == {NO}
    assert row.notes == ["no example" if text == "example" else "not known here"]


def test_an_example_that_does_not_hold_its_op_is_a_failure() -> None:
    wrong = example("stablehlo.sine", "f64 -> f64")
    with pytest.raises(Exception, match=r"the example of stablehlo\.cosine does not hold it"):
        attempt("stablehlo.cosine", wrong)


def test_the_command_tries_one_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "gather", "chlo.erf"]) == Exit.OK
    shown = capsys.readouterr().out
    assert re.search(r"stablehlo\.gather\n  parse +yes\n", shown)
    assert '"chlo.erf"(%0)' in shown


def test_an_unknown_op_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "gathr"]) == Exit.DIAGNOSTIC
    assert "neither StableHLO nor CHLO has an op 'gathr'; did you mean 'gather'?" in capsys.readouterr().err


# -- against StableHLO's own bindings, parser and verifier


@pytest.mark.oracle
@pytest.mark.parametrize(("dialect", "listed"), [("stablehlo", STABLEHLO), ("chlo", CHLO)])
def test_the_list_is_that_of_the_bindings(dialect: str, listed: tuple[str, ...]) -> None:
    bindings = pytest.importorskip(f"jaxlib.mlir.dialects._{dialect}_ops_gen")
    assert sorted(listed) == sorted(set(re.findall(r'OPERATION_NAME = "([^"]*)"', Path(str(bindings.__file__)).read_text())))


@pytest.mark.oracle
def test_upstream_accepts_the_examples_as_they_are_written_and_printed() -> None:
    pytest.importorskip("jax")
    mlir, ir = import_module("jax._src.interpreters.mlir"), import_module("jaxlib.mlir.ir")
    with mlir.make_ir_context():
        for name, example in EXAMPLES.items():
            if "!quant." in example.text:
                continue  # jaxlib comes without the dialect of these types
            ir.Module.parse(example.text).operation.verify()
            if is_known(name):
                ir.Module.parse(print_module(parse_module(example.text))).operation.verify()
