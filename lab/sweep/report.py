"""The results of a sweep as text: a table, the growth of figures, and where modes cross."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.lab.sweep.series import FIGURES, Cell, Series, SweepReport
from wengert.lab.tables import count, seconds, size, table

TITLES = {"time": "measured", "predicted": "predicted", "flops": "flops", "bytes": "bytes", "peak": "peak"}
BASES = {"time": "measured", "predicted": "predicted", "flops": "by flops"}
_LONGEST_FORMULA = 60


def lines(report: SweepReport) -> Iterator[str]:
    """The report, line by line."""
    yield f"sweep of {report.program}" + ("" if report.pipeline is None else f", pipeline {report.pipeline or '(no pass)'}")
    yield ""
    yield from _cells(report)
    yield from _problems(report)
    yield from _equal_modes(report)
    yield from _values(report)
    yield from _growth(report)
    yield from _crossovers(report)


def _cells(report: SweepReport) -> Iterator[str]:
    header = [axis.name for axis in report.axes] + ["mode", "runs", "flops", "bytes", "peak", "predicted"]
    header += ["measured", "median"] if report.measured else []
    rows = [[*(str(cell.sizes[axis.name]) for axis in report.axes), cell.mode, *_figures(cell, report.measured)] for cell in report.cells]
    yield from table(header, rows)
    notes = "figures of one run; runs: how many a full first derivative takes; flops and bytes are counted before fusion, peak is allocated memory"
    yield from ["", notes + ("; measured: the least sample" if report.measured else "")]
    again = sum(cell.again for cell in report.cells)
    if again:
        yield f"{again} of {len(report.cells)} were recorded before, and not run again"


def _figures(cell: Cell, measured: bool) -> list[str]:
    result = cell.result
    counts = result.counts
    shown = [count(result.directions), *(_count(counts.get("flops")), *(_size(counts.get(name)) for name in ("bytes", "peak")))]
    shown.append("-" if result.predicted is None else seconds(result.predicted))
    if not measured:
        return shown if result.status == "ok" else [*shown[:-1], result.status]
    if result.status != "ok":
        return [*shown, result.status, ""]
    return [*shown, *("-" if time is None else seconds(time) for time in (result.minimum, result.median))]


def _count(value: int | None) -> str:
    return "-" if value is None else count(value)


def _size(value: int | None) -> str:
    return "-" if value is None else size(value)


def _problems(report: SweepReport) -> Iterator[str]:
    """Why modes have no figures: each reason once, with the sizes."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in report.cells:
        if cell.result.status != "ok":
            sizes = " ".join(f"{name}={value}" for name, value in cell.sizes.items())
            reasons.setdefault((cell.result.status, cell.result.reason), {}).setdefault(sizes, []).append(cell.mode)
    for (status, reason), where in reasons.items():
        modes = list(dict.fromkeys(mode for names in where.values() for mode in names))
        which = "all modes" if len(modes) == len(report.modes) > 1 else ", ".join(modes)
        first = next(iter(where))
        at = f" at {first}" + (f" and {len(where) - 1} more sizes" if len(where) > 1 else "") if first else ""
        yield f"{which}{at}: {status}: {reason}"


def _equal_modes(report: SweepReport) -> Iterator[str]:
    """Which modes give the same program as another one before them, so that their times differ by noise."""
    for number, series in enumerate(report.series):
        mine = [cell.result.derived for cell in series.cells.values()]
        for other in report.series[:number]:
            if other.others == series.others and all(mine) and mine == [cell.result.derived for cell in other.cells.values()]:
                yield f"{series.name}: no effect after clean-up, the program is that of {other.name} at all sizes"
                break


def _values(report: SweepReport) -> Iterator[str]:
    """What symbols stood for in the counts: iterations and branches, which only a run tells."""
    known: dict[str, dict[str, int]] = {}
    for cell in report.cells:
        for symbol, value in cell.result.values.items():
            known.setdefault(symbol, {})[" ".join(f"{name}={size}" for name, size in cell.sizes.items())] = value
    for symbol, values in sorted(known.items()):
        if len(set(values.values())) == 1:
            yield f"{symbol} (iterations, or branches taken) is {next(iter(values.values()))} in these runs, as the interpreter counts"
        else:
            yield f"{symbol} (iterations, or branches taken) is {', '.join(f'{value} at {sizes}' for sizes, value in values.items())}"


def _growth(report: SweepReport) -> Iterator[str]:
    fitted = [one for one in report.series if one.growths]
    if report.main is None or not fitted:
        return
    figures = [name for name in FIGURES if any(name in one.growths for one in fitted)]
    rows = [[one.name, *(str(one.growths[name]) if name in one.growths else "-" for name in figures), _formula(report, one)] for one in fitted]
    name = report.main.name
    yield ""
    yield f"growth: the power of {name} that each figure grows with, and its standard error; least squares on logarithms over the larger half of the sizes"
    yield f"({_sizes(fitted, name)})"
    titled = table(["", *(TITLES[figure] for figure in figures)], [row[:-1] for row in rows])
    width = max(map(len, titled))
    has_formulas = any(row[-1] for row in rows)
    yield from (
        f"{line:{width}}  {last}".rstrip() for line, last in zip(titled, ["flops, exactly" if has_formulas else "", *(row[-1] for row in rows)], strict=True)
    )


def _sizes(fitted: list[Series], name: str) -> str:
    """Which sizes were fitted, where all series have the same; else that they differ."""
    used = {one.sizes for series in fitted for one in series.growths.values()}
    if len(used) == 1:
        (sizes,) = used
        return f"{name} = {', '.join(f'{size:g}' for size in sizes)}"
    longest = max(used, key=len)
    return f"of those that each has, such as {name} = {', '.join(f'{size:g}' for size in longest)}"


def _formula(report: SweepReport, series: Series) -> str:
    formula = report.formulas.get(series.name)
    if formula is None or formula.flops is None:
        return ""
    text = str(formula.flops)
    return text if len(text) <= _LONGEST_FORMULA else f"{text[: _LONGEST_FORMULA - 3]}..."


def _crossovers(report: SweepReport) -> Iterator[str]:
    crossing = {pair: by for pair, by in report.crossovers().items() if any(one.ratios for one in by.values())}
    if not crossing or report.main is None:
        return
    yield ""
    name = report.main.name
    yield f"crossover: the {name} at which a full first derivative takes the same by both, between swept sizes along straight lines on logarithms"
    for pair, by in crossing.items():
        yield f"{pair}:"
        width = max(len(BASES[basis]) for basis in by)
        yield from (f"  {BASES[basis]:{width}}  {one}" for basis, one in by.items())
