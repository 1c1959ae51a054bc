"""The reader of the standard's sentences on special values, and functions that are held against some of them."""

from __future__ import annotations

import math

import pytest
from benchmarks.array_api.special_cases import agreement, sections
from benchmarks.array_api.special_conditions import UnreadError, read

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("text", "operands", "applies", "right", "wrong"),
    [
        ("If ``x_i`` is ``-0``, the result is ``-0``.", {"x_i": -0.0}, True, -0.0, 0.0),
        ("If ``x_i`` is ``-0``, the result is ``-0``.", {"x_i": 0.0}, False, -0.0, 0.0),
        ("If either ``x1_i`` or ``x2_i`` is ``NaN``, the result is ``NaN``.", {"x1_i": 1.0, "x2_i": NAN}, True, NAN, 1.0),
        ("If ``abs(x1_i)`` is less than ``1`` and ``x2_i`` is ``+infinity``, the result is ``+0``.", {"x1_i": -0.5, "x2_i": INF}, True, 0.0, -0.0),
        (
            "If ``x1_i`` is less than ``0``, ``x1_i`` is a finite number, and ``x2_i`` is ``+infinity``, the result is ``-0``.",
            {"x1_i": -INF, "x2_i": INF},
            False,
            -0.0,
            0.0,
        ),
        ("If ``x_i`` is ``+infinity``, the result is an implementation-dependent approximation to ``+π/2``.", {"x_i": INF}, True, 1.5707963, 1.5),
        (
            "If ``a`` is ``NaN`` and ``b`` is ``+infinity``, the result is ``±0 + πj/2`` (sign of the real component is unspecified).",
            {"a": NAN, "b": INF},
            True,
            complex(-0.0, math.pi / 2),
            complex(1.0, math.pi / 2),
        ),
        (
            "If ``a`` is ``+infinity`` and ``b`` is a nonzero finite number, the result is ``+infinity * cis(b)``.",
            {"a": INF, "b": -0.5},
            True,
            complex(INF, -INF),
            complex(INF, INF),
        ),
        (
            "If ``x1_i`` is ``+infinity`` and ``x2_i`` is ``1``, the result is ``+infinity``. (**note**: libraries may return ``NaN`` to match Python behavior.)",
            {"x1_i": INF, "x2_i": 1.0},
            True,
            NAN,
            1.0,
        ),
    ],
)
def test_a_sentence_is_a_condition_and_a_result(text: str, operands: dict[str, float], applies: bool, right: complex, wrong: complex):
    sentence = read(text)
    assert sentence.applies(operands) == applies
    assert sentence.accepts(operands, complex(right))
    assert not sentence.accepts(operands, complex(wrong))


def test_what_cannot_be_read_is_not_guessed():
    for text in (
        "In the remaining cases, the sum must be rounded.",
        "If ``x_i`` is green, the result is ``NaN``.",
        "If ``x_i`` is ``NaN``, the result is a surprise.",
    ):
        with pytest.raises(UnreadError):
            read(text)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_functions_are_held_against_sentences(backend: str):
    right = ["If ``x1_i`` is ``-0`` and ``x2_i`` is less than ``0``, the result is an implementation-dependent approximation to ``-π``."]
    checked = agreement("atan2", False, right, backend)
    assert (checked.sentences, checked.at_once, checked.traced, checked.failures) == (1, 1, 1, [])
    parts = ["If ``a`` is ``+infinity`` and ``b`` is ``+0``, the result is ``+infinity + 0j``."]  # NumPy gives NaN
    checked = agreement("expm1", True, parts, backend)
    assert (checked.sentences, checked.at_once, checked.traced) == (1, 0, 1)
    assert all("complex" in line and "at once" in line for line in checked.failures)
    wrong = agreement("sin", False, ["If ``x_i`` is ``-0``, the result is ``+0``."], backend)
    assert (wrong.sentences, wrong.at_once, wrong.traced, len(wrong.failures)) == (1, 0, 0, 4)


def test_sentences_are_taken_from_declarations():
    text = (
        "type Alias[T] = list[T]\n"
        "class exp[TArray](Protocol):\n"
        '    """The exponential.\n\n    **Special cases**\n\n    For real-valued floating-point operands,\n\n    - If ``x_i`` is ``-0``, the result is ``1``.\n\n'
        '    For complex floating-point operands, let ``a = real(x_i)``, and\n\n    - If ``a`` is ``NaN`` and ``b`` is ``NaN``, the result is ``NaN + NaN j``.\n    """\n'
    )
    assert list(sections(text)) == [
        ("exp", False, ["If ``x_i`` is ``-0``, the result is ``1``."]),
        ("exp", True, ["If ``a`` is ``NaN`` and ``b`` is ``NaN``, the result is ``NaN + NaN j``."]),
    ]
