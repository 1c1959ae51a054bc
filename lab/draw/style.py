"""The look of each kind of node, in DOT and SVG alike, and its text in the legend."""

from __future__ import annotations

from dataclasses import dataclass

from wengert.lab.draw.graph import Kind

SAVED = "#b03a2e"
"""The border of a value that the backward part uses."""
SAVED_NOTE = "used by the backward part"


@dataclass(frozen=True)
class Look:
    """Colours of a node, whether its corners are round, and what it is called in the legend."""

    fill: str
    border: str
    round: bool = False
    legend: str = ""


LOOKS = {
    Kind.ARGUMENT: Look("#eeeeee", "#888888", True),
    Kind.RESULT: Look("#eeeeee", "#444444", True),
    Kind.CONSTANT: Look("#ffffff", "#bbbbbb", True),
    Kind.CAPTURE: Look("#ffffff", "#888888", True),
    Kind.OP: Look("#e8eefc", "#5b7bc0"),
    Kind.FORWARD: Look("#dce9fb", "#4a78b5", legend="forward"),
    Kind.TANGENT: Look("#dcf3df", "#4b9558", legend="tangent"),
    Kind.BACKWARD: Look("#fde6cf", "#c47a2c", legend="backward"),
}
