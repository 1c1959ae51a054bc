"""Plots of a sweep as SVG: figures over the size, both on logarithmic axes, a marker and a colour for each mode."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from wengert.ir.installation import command
from wengert.lab.sweep.fit import growth
from wengert.lab.sweep.series import Series, SweepReport
from wengert.runtime.errors import InputError

PANELS = {
    "time": "time of one run (s)",
    "full": "time of the full derivative (s)",
    "flops": "floating-point operations of one run",
    "bytes": "bytes read and written, before fusion",
    "peak": "memory (bytes)",
}
"""What may be plotted, with the title of its axis."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which people with any colour vision can tell apart (Color Universal Design, 2008)."""
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "wengert", "font.size": 10}
"""Text stays text, and the same figure is the same file."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")


def check_panels(names: Sequence[str]) -> tuple[str, ...]:
    """The panels of these names; an InputError for another one."""
    for name in names:
        if name not in PANELS:
            raise InputError(f"there is no figure {name!r} to plot; there are: {', '.join(PANELS)}")
    return tuple(names)


def default_panels(modes: Sequence[str]) -> tuple[str, ...]:
    """The time of a run, and that of the full derivative where several modes give one."""
    return ("time", "full") if sum(mode not in ("primal", "hvp", "hessian") for mode in modes) > 1 else ("time",)


def matplotlib() -> Any:
    """The plotting library. Raises InputError with a hint where it is not installed."""
    try:
        library = import_module("matplotlib")
    except ImportError:
        raise InputError(f"plots are drawn by matplotlib, which is not installed: {command('plot')}") from None
    return library


def draw(report: SweepReport, panels: Sequence[str]) -> Any:
    """The figure, one panel beside the other. Raises InputError where there is nothing to plot, or no library.

    Measured times are markers on lines, predicted ones dashed lines of the same colour; the exponents that were fitted stand in the legend.
    """
    if report.main is None:
        raise InputError("there is nothing to plot: give a size several values, as in --over n=2..4096")
    with matplotlib().rc_context(_STYLE):
        figure: Any = import_module("matplotlib.figure").Figure(figsize=(6.4 * len(panels), 4.6), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)
        for panel, name in zip(axes[0], panels, strict=True):
            _panel(panel, report, name)
        figure.suptitle(report.program, fontsize=11)
    return figure


@dataclass(frozen=True)
class Plot:
    """A plot of a sweep: notebooks show it as SVG, ``figure`` is matplotlib's."""

    figure: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plot in the format that the file's name says: ``.svg``, ``.png``, ``.pdf`` and others."""
        is_svg = os.fspath(path).endswith(".svg")
        with matplotlib().rc_context(_STYLE):
            self.figure.savefig(path, metadata={"Date": None} if is_svg else None, dpi=150)

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        with matplotlib().rc_context(_STYLE):
            self.figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()


def save(report: SweepReport, panels: Sequence[str], path: str) -> None:
    """Writes the plot of a sweep."""
    Plot(draw(report, panels)).save(path)


def _panel(panel: Any, report: SweepReport, name: str) -> None:
    assert report.main is not None
    plotted = 0
    for number, series in enumerate(report.series):
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        for basis, style in _styles(report, name):
            values = series.values(basis, total=name == "full")
            if not values or (name == "full" and not _is_first(series)):
                continue
            plotted += 1
            label = _label(series, values) if basis != "predicted" or not report.measured else None
            line = {"color": colour, "label": label, **style}
            panel.plot(list(values), list(values.values()), **line, **({"marker": marker, "markersize": 6} if "marker" not in line else {}))
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel(f"size {report.main.name} (elements)")
    panel.set_ylabel(PANELS[name] + ("" if report.measured or name not in ("time", "full") else ", predicted"))
    panel.grid(visible=True, which="major", color="#dddddd")
    if name == "full":
        _mark_crossovers(panel, report)
    if not plotted:
        panel.text(0.5, 0.5, "nothing is known", ha="center", va="center", transform=panel.transAxes)
    else:
        panel.legend(title="dashed: predicted" if report.measured and name in ("time", "full") else None, fontsize=9)


def _styles(report: SweepReport, name: str) -> list[tuple[str, dict[str, Any]]]:
    """What is drawn for a panel, and how."""
    if name not in ("time", "full"):
        return [(name, {"linestyle": "-"})]
    if not report.measured:
        return [("predicted", {"linestyle": "-"})]
    return [("time", {"linestyle": "-"}), ("predicted", {"linestyle": "--", "linewidth": 1, "marker": ""})]


def _label(series: Series, values: dict[float, float]) -> str:
    """``reverse: power 1.02 ± 0.01``, of what is plotted."""
    fitted = growth(list(values), list(values.values()))
    return series.name if fitted is None else f"{series.name}: power {fitted}"


def _is_first(series: Series) -> bool:
    """Whether a mode gives first derivatives."""
    return series.mode not in ("primal", "hvp", "hessian")


def _mark_crossovers(panel: Any, report: SweepReport) -> None:
    """A line where two modes take the same time; those that are close to each other share one label."""
    sizes = sorted(crossing.size for by in report.crossovers().values() for crossing in by[report.bases[0]].crossings)
    labelled = 0.0
    for size in sizes:
        panel.axvline(size, color="#888888", linestyle=":", linewidth=1)
        if size > 1.3 * labelled:
            labelled = size
            panel.annotate(f" {size:.3g}", (size, 0.02), xycoords=("data", "axes fraction"), color="#555555", fontsize=9)
