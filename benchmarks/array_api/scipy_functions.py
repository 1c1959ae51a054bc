"""``python -m benchmarks.array_api.scipy_functions [NAMES] [--json] [--write]``: which of SciPy's functions take traced arrays.

SciPy's functions that take any namespace (SCIPY_ARRAY_API=1, which is set here) are called at once, traced, and differentiated in both modes
beside central differences. What a function is refused for is grouped by the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.array_api.agreement import leaves
from benchmarks.array_api.checks import gradient_difference

import wengert as wg
import wengert.numpy as wnp

DOCUMENT = Path(__file__).parents[2] / "docs" / "array_api.md"
BEGIN, END = "<!-- scipy -->\n", "<!-- end of scipy -->\n"
RIGHT = "values and gradients"
REASONS = {
    "a function of NumPy (or np.asarray) needs": "compiled code of SciPy, which takes NumPy's arrays (`np.asarray`)",
    "a condition (if, while": "a branch that looks at elements (`if`)",
    "the shape of x[mask]": "elements chosen by a mask (`x[mask]`)",
    "int() needs": "a number that is needed while tracing (`int(x)`)",
    "Multiple namespaces": "coefficients that are NumPy's arrays beside traced ones",
}


@dataclass(frozen=True)
class Outcome:
    """What came of one function: right, wrong, or refused and why."""

    name: str
    status: str
    note: str = ""


def _rows(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 0.9, shape)


ROW, OTHER, X, Y = _rows(0, 8), _rows(1, 8), _rows(2, 4, 6), _rows(3, 4, 6)
_SPECIAL = (
    "cbrt cosm1 ellipk entr erf erfc erfcx erfinv exp1 exp2 exp10 expit exprel gamma gammaln gammasgn i0 i0e i1 i1e j0 j1 k0 log_expit log_ndtr logit loggamma "
    "ndtr ndtri psi rgamma sinc"
)
_SPECIAL_OF_TWO = "betaln binom boxcox chdtr chdtrc gammainc gammaincc huber kl_div poch pseudo_huber rel_entr stdtr xlog1py xlogy"
_STATISTICS = (
    "gmean hmean skew kurtosis sem zscore gzscore gstd variation tmean tvar tstd tsem entropy differential_entropy circmean circvar circstd iqr "
    "median_abs_deviation mode describe"
)
_TESTS = "skewtest kurtosistest normaltest jarque_bera wilcoxon"
_TESTS_OF_TWO = "pearsonr ttest_ind ttest_rel f_oneway bartlett mannwhitneyu"


def _tested(result: Any) -> Any:
    return result.statistic, result.pvalue


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The functions by name, each with a call of it and operands."""
    from scipy import cluster, constants, differentiate, fft, integrate, linalg, ndimage, optimize, signal, special, stats
    from scipy.spatial.transform import Rotation

    calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    calls.update({f"special.{n}": (getattr(special, n), (ROW,)) for n in _SPECIAL.split()})
    calls.update({f"special.{n}": (getattr(special, n), (ROW, OTHER)) for n in _SPECIAL_OF_TWO.split()})
    calls["special.zeta"] = (lambda x, q: special.zeta(x + 2, q), (ROW, OTHER))
    calls["special.betainc"] = (special.betainc, (ROW, OTHER, OTHER))
    for n in ("logsumexp", "softmax", "log_softmax"):
        calls[f"special.{n}"] = (lambda x, n=n: getattr(special, n)(x, axis=1), (X,))
    for n in _STATISTICS.split():
        calls[f"stats.{n}"] = (lambda x, n=n: getattr(stats, n)(x, axis=1), (X,))
    calls |= {
        "stats.moment": (lambda x: stats.moment(x, 3, axis=1), (X,)),
        "stats.pmean": (lambda x: stats.pmean(x, 2.5, axis=1), (X,)),
        "stats.kstat": (lambda x: stats.kstat(x, 2, axis=1), (X,)),
        "stats.kstatvar": (lambda x: stats.kstatvar(x, 2, axis=1), (X,)),
        "stats.trim_mean": (lambda x: stats.trim_mean(x, 0.2, axis=1), (X,)),
        "stats.quantile": (lambda x: stats.quantile(x, 0.3, axis=1), (X,)),
        "stats.lmoment": (lambda x: stats.lmoment(x, axis=1), (X,)),
        "stats.zmap": (lambda x, y: stats.zmap(x, y, axis=1), (X, Y)),
        "stats.directional_stats": (lambda x: tuple(vars(stats.directional_stats(x)).values()), (X,)),
        "stats.boxcox_llf": (lambda x: stats.boxcox_llf(0.5, x), (ROW,)),
        "stats.yeojohnson_llf": (lambda x: stats.yeojohnson_llf(0.5, x), (ROW,)),
        "stats.wasserstein_distance": (stats.wasserstein_distance, (ROW, OTHER)),
        "stats.ttest_1samp": (lambda x: _tested(stats.ttest_1samp(x, 0.4)), (ROW,)),
        "stats.chisquare": (lambda x: _tested(stats.chisquare(x)), (ROW,)),
        "stats.Normal.logpdf": (lambda x: stats.Normal(mu=0.3, sigma=2.0).logpdf(x), (ROW,)),
        "stats.norm.logpdf": (stats.norm.logpdf, (ROW,)),
    }
    calls.update({f"stats.{n}": (lambda x, n=n: _tested(getattr(stats, n)(x, axis=0)), (_rows(4, 20, 3),)) for n in _TESTS.split()})
    calls.update({f"stats.{n}": (lambda x, y, n=n: _tested(getattr(stats, n)(x, y, axis=-1)), (X, Y)) for n in _TESTS_OF_TWO.split()})
    calls.update(
        {
            f"integrate.{n}": (lambda y, n=n: getattr(integrate, n)(y, dx=0.1), (_rows(5, 9),))
            for n in ["trapezoid", "cumulative_trapezoid", "simpson", "cumulative_simpson", "romb"]
        }
    )
    calls |= {
        "integrate.fixed_quad": (lambda a: integrate.fixed_quad(lambda x: wnp.sin(a[0] * x), 0.0, 1.0, n=4)[0], (ROW,)),
        "integrate.tanhsinh": (lambda a: integrate.tanhsinh(wnp.sin, a * 0, a).integral, (ROW,)),
        "integrate.cubature": (lambda a: integrate.cubature(lambda x: wnp.sin(x[..., 0]), a[:1] * 0, a[:1]).estimate, (ROW,)),
        "differentiate.derivative": (lambda a: differentiate.derivative(wnp.sin, a).df, (ROW,)),
        "optimize.rosen": (optimize.rosen, (ROW,)),
        "optimize.rosen_der": (optimize.rosen_der, (ROW,)),
        "optimize.rosen_hess": (optimize.rosen_hess, (ROW,)),
        "optimize.rosen_hess_prod": (optimize.rosen_hess_prod, (ROW, OTHER)),
        "fft.irfft": (lambda x: fft.irfft(x * (1 + 0j)), (X,)),
        "signal.convolve2d": (signal.convolve2d, (X, Y[:2, :2])),
        "signal.lfilter": (lambda b, x: signal.lfilter(b, np.array([1.0, 0.5]), x), (OTHER[:3], ROW)),
        "signal.envelope": (lambda x: signal.envelope(x, (None, None)), (ROW,)),
        "signal.resample": (lambda x: signal.resample(x, 5), (ROW,)),
        "signal.medfilt": (lambda x: signal.medfilt(x, 3), (ROW,)),
        "signal.savgol_filter": (lambda x: signal.savgol_filter(x, 5, 2), (ROW,)),
        "signal.welch": (lambda x: signal.welch(x, nperseg=4)[1], (ROW,)),
        "signal.periodogram": (lambda x: signal.periodogram(x)[1], (ROW,)),
        "signal.freqz": (lambda b: signal.freqz(b, worN=8)[1], (OTHER[:3],)),
        "signal.gausspulse": (lambda t: signal.gausspulse(t, 2.0), (ROW,)),
        "signal.chirp": (lambda t: signal.chirp(t, 1.0, 1.0, 3.0), (ROW,)),
        "ndimage.gaussian_filter": (lambda x: ndimage.gaussian_filter(x, 1.0), (X,)),
        "ndimage.convolve": (ndimage.convolve, (X, Y[:3, :3])),
        "cluster.vq.whiten": (cluster.vq.whiten, (X,)),
        "cluster.vq.vq": (lambda x, y: cluster.vq.vq(x, y)[1], (X, Y[:2])),
        "linalg.block_diag": (linalg.block_diag, (X, Y)),
        "linalg.fiedler": (linalg.fiedler, (ROW,)),
        "linalg.expm": (linalg.expm, (X[:3, :3],)),
        "linalg.solve": (linalg.solve, (X[:3, :3], Y[:3])),
        "spatial.transform.Rotation.from_quat": (lambda q: Rotation.from_quat(q).as_matrix(), (X[:, :4],)),
        "spatial.transform.Rotation.from_rotvec": (lambda q: Rotation.from_rotvec(q).as_matrix(), (X[:, :3],)),
        "spatial.transform.Rotation.from_euler": (lambda q: Rotation.from_euler("xyz", q).as_matrix(), (X[:, :3],)),
        "spatial.transform.Rotation.as_euler": (lambda q: Rotation.from_rotvec(q).as_euler("xyz"), (X[:, :3],)),
        "spatial.transform.Rotation.apply": (lambda q, y: Rotation.from_rotvec(q).apply(y), (X[:, :3], Y[:, :3])),
        "constants.convert_temperature": (lambda x: constants.convert_temperature(x, "C", "K"), (ROW,)),
    }
    calls.update({f"fft.{n}": (getattr(fft, n), (X,)) for n in ["fft", "ifft", "rfft", "hfft", "fftn", "rfftn", "fft2", "fftshift", "dct", "dst"]})
    calls.update(
        {
            f"signal.{n}": (lambda x, y, n=n: getattr(signal, n)(x, y, mode="same"), (ROW, OTHER[:3]))
            for n in ["convolve", "correlate", "fftconvolve", "oaconvolve"]
        }
    )
    calls.update({f"signal.{n}": (getattr(signal, n), (ROW,)) for n in ["detrend", "hilbert", "sawtooth", "czt"]})
    return dict(sorted(calls.items()))


def run(name: str, call: Callable[..., Any], operands: tuple[Any, ...]) -> Outcome:
    """A function at once, traced and differentiated."""

    def arrays(*given: Any) -> list[Any]:
        return [wnp.asarray(x) * 1.0 for x in leaves(call(*given))]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = arrays(*operands)
        try:
            actual = wg.jit(arrays)(*operands)
            difference = gradient_difference(arrays, list(operands))
        except Exception as error:
            message = str(error).split("error: ", 1)[-1].splitlines()[0]
            return Outcome(name, "refused", next((why for part, why in REASONS.items() if part in message), message))
    if len(actual) != len(expected) or not all(np.allclose(x, y, rtol=1e-9, atol=1e-11, equal_nan=True) for x, y in zip(actual, expected, strict=True)):
        return Outcome(name, "wrong", "the values differ")
    return Outcome(name, "wrong", f"gradient {difference}") if difference else Outcome(name, RIGHT)


def markdown(outcomes: list[Outcome]) -> str:
    """The table: what is right by SciPy's modules, what is refused by the reason."""
    lines = ["| | functions |", "|---|---|"]
    groups: dict[str, list[str]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.status if outcome.status == RIGHT else f"{outcome.status}: {outcome.note}", []).append(outcome.name)
    for status in sorted(groups, key=lambda s: (s != RIGHT, s)):
        modules: dict[str, list[str]] = {}
        for name in groups[status]:
            module, _, function = name.partition(".")
            modules.setdefault(module, []).append(function)
        shown = "; ".join(f"`{module}`: {', '.join(f'`{f}`' for f in functions)}" for module, functions in modules.items())
        lines.append(f"| {status} ({len(groups[status])}) | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the functions and prints the table; 1 where one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.array_api.scipy_functions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions (special.erf), all by default")
    parser.add_argument("--json", action="store_true", help="one object for each function")
    parser.add_argument("--write", action="store_true", help="put the table into docs/array_api.md")
    options = parser.parse_args()
    known = cases()
    if unknown := set(options.names) - set(known):
        parser.error(f"no call of {', '.join(sorted(unknown))} is written down here")
    if options.write and options.names:
        parser.error("--write takes no names: the page has all functions")
    outcomes = [run(name, *case) for name, case in known.items() if not options.names or name in options.names]
    print(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) if options.json else markdown(outcomes))
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + markdown(outcomes) + END + rest.partition(END)[2])
    return 1 if any(outcome.status == "wrong" for outcome in outcomes) else 0


if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"  # which SciPy reads when it is imported
    sys.exit(main())
