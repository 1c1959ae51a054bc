"""A function at once beside the standard's reference, traced beside at once, and its derivative beside differences."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.array_api.agreement import difference, leaves
from benchmarks.array_api.entries import Call, DType, Entry, Static

import wengert as wg
import wengert.numpy as wnp

STEP = 1e-6


@dataclass
class Tally:
    """How many of the calls passed, what went wrong, what differs as it is known to, and what was refused."""

    passed: int = 0
    failures: list[str] = field(default_factory=list[str])
    known: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])

    @property
    def total(self) -> int:
        """All calls, refused ones too."""
        return self.passed + len(self.failures) + len(self.known) + len(self.refused)

    def add(self, other: Tally) -> None:
        """Takes over the counts of another tally."""
        self.passed += other.passed
        self.failures += other.failures
        self.known += other.known
        self.refused += other.refused


def resolved(namespace: Any, name: str) -> Callable[..., Any]:
    """The function of a namespace by its name with its extension."""
    if name.startswith("__"):
        return getattr(operator, name)
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def shown(entry: Entry, call: Call) -> str:
    """A call in words, for messages."""
    words = [f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a.array if isinstance(a, Static) else a) for a in call.arguments]
    return f"{entry.name}({', '.join([*words, *(f'{k}={v!r}' for k, v in call.options.items())])})"


def substituted(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments with each array replaced; static ones become plain arrays."""
    if isinstance(tree, Static):
        return tree.array
    if isinstance(tree, np.ndarray):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)(substituted(x, change) for x in tree)
    return {k: substituted(v, change) for k, v in tree.items()} if isinstance(tree, dict) else tree


def arrays_of(call: Call) -> list[Any]:
    """The arrays of a call that are traced, in order."""
    taken: list[Any] = []
    substituted([call.arguments, call.options], lambda x: taken.append(x) or x)
    return taken


def applied(function: Callable[..., Any], call: Call, given: Iterable[Any] | None = None) -> Any:
    """The function's result, on other arrays if there are."""
    pending = iter(arrays_of(call) if given is None else given)
    arguments, options = substituted([call.arguments, call.options], lambda x: next(pending))
    with np.errstate(all="ignore"):
        return function(*arguments, **options)


# -- at once


def at_once(entry: Entry, dtype: DType, strict: Any) -> Tally:
    """Calls on NumPy arrays beside array-api-strict."""
    tally = Tally()
    for call in entry.calls(dtype):
        try:
            expected = _strict(entry, call, strict)
        except Exception:
            continue  # the standard does not say what it is, as of a partial subscript
        try:
            mismatch = difference(applied(resolved(wnp, entry.name), call), expected, entry)
        except Exception as error:
            mismatch = f"{type(error).__name__}: {error}"
        count(tally, entry, dtype, call, mismatch)
    return tally


def count(tally: Tally, entry: Entry, dtype: DType, call: Call, mismatch: str) -> None:
    """Counts a call of which this differs (nothing, where it is empty)."""
    if not mismatch:
        tally.passed += 1
        return
    known = entry.complex_specials and dtype.kind == "c" and not all(np.isfinite(x).all() and (x.real * x.imag).all() for x in arrays_of(call))
    (tally.known if known else tally.failures).append(f"{shown(entry, call)}: {mismatch}")


def _strict(entry: Entry, call: Call, strict: Any) -> Any:
    """The reference's result with NumPy's arrays and dtypes."""

    def theirs(x: Any) -> Any:
        if isinstance(x, Static):
            x = x.array
        if isinstance(x, np.ndarray):
            return strict.asarray(x)
        if isinstance(x, np.dtype):
            return getattr(strict, x.name)
        if isinstance(x, list | tuple):
            return type(x)(theirs(y) for y in x)
        return x

    with np.errstate(all="ignore"):
        result = resolved(strict, entry.name)(*[theirs(a) for a in call.arguments], **{k: theirs(v) for k, v in call.options.items()})
    return _ours(result, strict)


def _ours(result: Any, strict: Any) -> Any:
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_ours(x, strict) for x in result])
    if isinstance(result, tuple | list):
        return type(result)(_ours(x, strict) for x in result)
    return np.asarray(result) if hasattr(result, "__array_namespace__") else result


# -- traced


def traced(entry: Entry, dtype: DType, backend: str = "interpreter") -> Tally:
    """Calls in one traced program beside the same calls at once."""
    tally, pending = Tally(), list[tuple[Call, Any]]()
    function = resolved(wnp, entry.name)
    for call in entry.calls(dtype):
        expected = applied(function, call)
        if refusal := _refusal(function, call):
            tally.refused.append(f"{shown(entry, call)}: {refusal}")
        else:
            pending.append((call, expected))
    for (call, expected), actual in zip(pending, _run(function, [c for c, _ in pending], backend), strict=True):
        count(tally, entry, dtype, call, difference(actual, expected, entry))
    return tally


def _refusal(function: Callable[..., Any], call: Call) -> str:
    """Why a call cannot be traced; empty where it can."""
    try:
        wg.jit(lambda *given: _arrays(applied(function, call, given))).program(*arrays_of(call))
    except wg.TracingError as error:
        return str(error).splitlines()[0].split("error: ")[-1]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _arrays(result: Any) -> Any:
    """What of a result a traced function may return."""
    return [x for x in leaves(result) if _is_array(x)]


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and not isinstance(x, np.dtype)


def _run(function: Callable[..., Any], calls: list[Call], backend: str) -> list[Any]:
    """The results of all calls, from one program."""
    operands = [arrays_of(call) for call in calls]
    kept: list[Any] = []

    def everything(*given: Any) -> list[Any]:
        pending = iter(given)
        kept[:] = [applied(function, call, [next(pending) for _ in own]) for call, own in zip(calls, operands, strict=True)]
        return [_arrays(result) for result in kept]

    flat = [x for own in operands for x in own]
    if not flat:
        return [applied(function, call) for call in calls]
    values = iter(wg.jit(everything).program(*flat).compile(backend)(*flat))
    return [_filled(result, values) for result in kept]


def _filled(result: Any, values: Any) -> Any:
    """A result with the values of a run in the places of what was traced."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_filled(x, values) for x in result])
    if isinstance(result, tuple | list):
        return type(result)(_filled(x, values) for x in result)
    return next(values) if _is_array(result) else result


# -- gradients


def gradient(entry: Entry, dtype: DType) -> Tally:
    """Gradients in reverse and in forward mode beside central differences in a random direction."""
    tally = Tally()
    function = resolved(wnp, entry.name)
    for call in entry.smooth(dtype) if entry.smooth else []:
        given = arrays_of(call)
        try:
            mismatch = gradient_difference(lambda *a, call=call: _determined(entry, function, call, a), given)
        except wg.TracingError as error:
            tally.refused.append(f"{shown(entry, call)}: {str(error).splitlines()[0].split('error: ')[-1]}")
            continue
        except Exception as error:
            mismatch = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        tally.failures.append(f"gradient of {shown(entry, call)}: {mismatch}") if mismatch else None
        tally.passed += not mismatch
    return tally


def _determined(entry: Entry, function: Callable[..., Any], call: Call, given: tuple[Any, ...]) -> Any:
    """What is differentiated: the result, or what of it is determined, of operands that are made symmetric where only a part of them is read."""
    result = applied(function, call, [entry.prepared(x) for x in given] if entry.prepared else given)
    return entry.result(result) if entry.result and hasattr(result, "_fields") else result


def gradient_difference(function: Callable[..., Any], given: list[Any]) -> str:
    rng = np.random.default_rng(1)

    def draw(x: Any) -> Any:
        return rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)

    direction = [np.asarray(draw(x)) for x in given]
    weights = [draw(np.asarray(y)) for y in leaves(function(*given))]

    def loss(*a: Any) -> Any:
        return sum(wnp.sum(wnp.real(w * y)) for w, y in zip(weights, leaves(function(*a)), strict=True))

    moved = [loss(*[x + sign * STEP * v for x, v in zip(given, direction, strict=True)]) for sign in (1, -1)]
    expected = float(moved[0] - moved[1]) / (2 * STEP)
    bars = wg.grad(loss, argnums=tuple(range(len(given))))(*given)
    reverse = float(sum(np.sum(np.real(g * v)) for g, v in zip(bars, direction, strict=True)))
    forward = float(wg.jit(lambda *a: wg.jvp(loss, a[: len(given)], a[len(given) :])[1])(*given, *direction))
    scale = 1 + abs(expected) + sum(float(np.abs(w).sum()) for w in weights)
    if not abs(reverse - forward) <= 1e-10 * scale:
        return f"reverse mode gives {reverse}, forward mode {forward}"
    return "" if abs(reverse - expected) <= 1e-6 * scale else f"{reverse}, differences give {expected}"
