"""``jit``: a Python function traced and compiled once for each combination of shapes, dtypes and static values, then only called.

Calls that repeat the last signature with plain NumPy arrays as positional arguments go straight to the machine code, which checks the
arrays itself; everything else goes through :meth:`Traceable._dispatch`, where arguments are flattened and the program is looked up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

from wengert.frontends.pytrees import TreeSpec, flatten, paths, unflatten
from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.function import Call, call_written, name_of, write_function, write_main
from wengert.frontends.tracing.operands import value_of
from wengert.frontends.tracing.retrace import RetraceReport, TraceRecord
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of
from wengert.frontends.tracing.source_lines import line_here
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.transforms.emission import for_user
from wengert.runtime.arguments import plain_key

if TYPE_CHECKING:
    from wengert.runtime.program import Program

Function = Callable[..., Any]
Stage = Literal["traced", "core", "stablehlo"]
_NUMBERS = (bool, int, float, complex)


def text_at(program: Program, stage: Stage) -> str:
    """A program's text at a stage; see :meth:`Traceable.ir`."""
    from wengert.ir.printing.printer import print_module

    if stage == "traced":
        return print_module(program.module)
    if stage in ("core", "stablehlo"):
        from wengert.runtime.derived.derivation import plain_text, runnable

        module = runnable(program.optimized_module)
        return print_module(module) if stage == "core" else plain_text(module)
    raise type_error(f"there is no stage {stage!r}", "it is one of 'traced', 'core', 'stablehlo'")


class Entry:
    """A program for one signature, and how its results become the function's result."""

    __slots__ = ("_arrays", "_compiled", "dtypes", "out_spec", "program")

    def __init__(self, program: Program, specs: Sequence[ArraySpec], out_spec: TreeSpec):
        self.program = program
        self.dtypes = [spec.dtype for spec in specs]
        self.out_spec = out_spec
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        """The compiled program."""
        if self._compiled is None:
            self._compiled = self.program.compile()
        return self._compiled

    def run(self, arrays: Sequence[Any]) -> Any:
        """The function's result for the arrays among the leaves of its arguments."""
        results = self.compiled(*[np.asarray(x if type(x) is np.ndarray else plain_key(x), dtype) for x, dtype in zip(arrays, self.dtypes, strict=True)])
        return unflatten(self.out_spec, results)


class Traceable:
    """A function that is traced when it is called: what ``jit``, ``grad``, ``vmap`` and the others return.

    Outside of any trace it compiles and runs; inside, it becomes part of what is traced.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__", "_entries", "_function", "_records", "_static_names", "_static_numbers")
    __call__: Function
    # A slot of this name makes calls of the object calls of what the slot holds.

    def __init__(self, function: Function, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()):
        self._function = function
        self._static_numbers, self._static_names = _static(function, static_argnums, static_argnames)
        self._entries: dict[Any, Entry] = {}
        self._records: list[TraceRecord] = []
        if hasattr(function, "__dict__") or callable(function):
            update_wrapper(cast(Any, self), function, updated=())
        self.__call__ = self._dispatch

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(cast(Any, self), instance)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {name_of(self._function)}>"

    # -- asking

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program for these arguments (arrays, or anything with a shape and a dtype, such as :class:`wengert.ArraySpec`)."""
        return self._entry(args, kwargs)[0].program

    def ir(self, *args: Any, stage: Stage = "stablehlo", **kwargs: Any) -> str:
        """The IR for these arguments: as it was "traced", with requests for derivatives in it; in "core" form, expanded and
        optimised; or as plain "stablehlo"."""
        return text_at(self.program(*args, **kwargs), stage)

    def costs(self, *args: Any, **kwargs: Any) -> Any:
        """The costs of the program for these arguments and of its derivatives: a report, see :meth:`wengert.Program.costs`."""
        return self.program(*args, **kwargs).costs()

    def explain_retrace(self) -> RetraceReport:
        """Explains why the function was traced as often as it was."""
        return RetraceReport(name_of(self._function), tuple(self._records))

    @property
    def traces(self) -> int:
        """The number of times that the function was traced for calls from outside."""
        return len(self._records)

    def clear_cache(self) -> None:
        """Forgets all programs."""
        self._entries.clear()
        self._records.clear()
        self.__call__ = self._dispatch

    # -- calling

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        """A call with any arguments."""
        if current_trace() is not None:
            return self._inside(args, kwargs)
        entry, leaves = self._entry(args, kwargs)
        arrays = [leaf for leaf in leaves if is_array_leaf(leaf)]
        result = entry.run(arrays)
        if not kwargs and not self._static_numbers and len(arrays) == len(args) and all(type(x) is np.ndarray for x in args):
            self._use_fast_path(entry)
        return result

    def _use_fast_path(self, entry: Entry) -> None:
        """From now on, calls with arrays of this entry's types are calls of its machine code; others are dispatched."""
        executable = entry.compiled.executable
        guarded = getattr(executable, "guarded", None)
        if guarded is None:
            return
        dispatch, spec = self._dispatch, entry.out_spec
        if spec.is_leaf():

            def dispatched_one(*args: Any) -> Any:
                return (dispatch(*args),)

            call = guarded(dispatched_one)
            if call is not None:

                def one(*args: Any, **kwargs: Any) -> Any:
                    return dispatch(*args, **kwargs) if kwargs else call(*args)[0]

                self.__call__ = one
            return

        def dispatched(*args: Any) -> Any:
            return _Dispatched((dispatch(*args),))

        call = guarded(dispatched)
        if call is None:
            return
        flat = spec.type is tuple and spec.num_children == spec.num_leaves == spec.num_nodes - 1

        def several(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                return dispatch(*args, **kwargs)
            results = call(*args)
            if type(results) is _Dispatched:
                return results[0]
            return results if flat else unflatten(spec, results)

        self.__call__ = several

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
        """The program for a call, which is traced if there is none yet, and the leaves of the arguments."""
        function, args, kwargs, static = self._bound(args, kwargs)
        leaves, spec = flatten((args, kwargs))
        key: Any = (spec, tuple([(name, _class(value), value) for name, value in static]), tuple([_key(leaf) for leaf in leaves]))
        try:
            entry = self._entries.get(key)
        except TypeError:
            raise type_error(f"an argument of {name_of(self._function)} that is no array cannot be hashed", "pass arrays, or hashable static values") from None
        if entry is None:
            entry = self._traced(function, args, kwargs, static)
            self._entries[key] = entry
        return entry, leaves

    def _traced(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], static: tuple[Any, ...]) -> Entry:
        from wengert.runtime.program import Program

        call = Call(function, args, kwargs)
        names = _leaf_names(self._function, self._static_numbers, args, kwargs)
        described = [(name, str(spec_of(leaf)) if is_array_leaf(leaf) else repr(leaf)) for name, leaf in zip(names, call.leaves, strict=True)]
        record = TraceRecord(line_here(), (*described, *((f"static {name}", repr(value)) for name, value in static)), str(call.spec))
        self._records.append(record)
        try:
            module, main = write_main(call.body, call.specs)
        except Exception:
            with suppress(ValueError):  # another thread may have cleared them
                self._records.remove(record)
            raise
        main.arg_attrs = ArrayAttr([DictionaryAttr({"jax.arg_info": StringAttr(names[i])}) for i in call.positions])
        assert call.out_spec is not None
        results = paths(call.result(range(len(call.results))), "result")
        main.res_attrs = ArrayAttr([DictionaryAttr({"jax.result_info": StringAttr(name)}) for name in results])
        return Entry(Program(module.module, name=name_of(self._function)), call.specs, call.out_spec)

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as a part of what is being traced."""
        function, args, kwargs, _ = self._bound(args, kwargs)
        return function(*args, **kwargs)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Function, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """The function of what is not static, its arguments, and the static values by name."""
        if not self._static_numbers and not self._static_names:
            return self._function, args, kwargs, ()
        inner = self._function
        fixed = {i: args[i] for i in self._static_numbers if i < len(args)}
        named = {k: v for k, v in kwargs.items() if k in self._static_names}
        rest = tuple(a for i, a in enumerate(args) if i not in fixed)

        def function(*given: Any, **options: Any) -> Any:
            pending = iter(given)
            return inner(*[fixed[i] if i in fixed else next(pending) for i in range(len(args))], **options, **named)

        parameters = _parameter_names(inner)
        by_name = [(parameters[i] if i < len(parameters) else f"args[{i}]", v) for i, v in fixed.items()]
        static = (*by_name, *sorted(named.items(), key=lambda item: item[0]))
        for name, value in static:
            if isinstance(value, TracedArray):
                raise type_error(f"the static argument {name} of {name_of(inner)} is traced", "pass a Python value, or do not name it static")
        return update_wrapper(function, inner), rest, {k: v for k, v in kwargs.items() if k not in named}, static


class Jit(Traceable):
    """A compiled function: see :func:`jit`."""

    __slots__ = ()

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function, args, kwargs, _ = self._bound(args, kwargs)
        call = Call(function, args, kwargs)
        written = write_function(call.body, name_of(self._function), call.specs)
        return call.result(for_user(call_written(written, call.operands())))


class _Dispatched(tuple[Any]):
    """The result of a call that did not go to the machine code, as one thing."""

    __slots__ = ()


@overload
def jit(function: Function, *, static_argnums: int | Sequence[int] = ..., static_argnames: str | Iterable[str] = ...) -> Jit: ...
@overload
def jit(*, static_argnums: int | Sequence[int] = ..., static_argnames: str | Iterable[str] = ...) -> Callable[[Function], Jit]: ...
def jit(
    function: Function | None = None, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()
) -> Jit | Callable[[Function], Jit]:
    """A function of arrays that is traced and compiled at its first call, and again when a shape, a dtype or a static value is new.

    Args:
        function: takes and returns trees of arrays and numbers, and does with them what :mod:`wengert.numpy` offers. Arguments that
            are neither (strings, functions, None) are static by themselves. It should have no side effects: they happen when it is traced.
        static_argnums: positions of arguments to pass as they are; a new value (by ``==``) traces again.
        static_argnames: the same for arguments passed by name.

    Returns:
        A callable with the methods ``ir``, ``costs``, ``program`` and ``explain_retrace``. Results are NumPy arrays.

    Raises (when called):
        TracingError: at the user's line, for what cannot be traced.
    """
    if function is None:
        return partial(Jit, static_argnums=static_argnums, static_argnames=static_argnames)
    return Jit(function, static_argnums=static_argnums, static_argnames=static_argnames)


def explain_retrace(function: Traceable) -> RetraceReport:
    """Explains why a function was traced as often as it was; print the report."""
    return function.explain_retrace()


def _class(value: Any) -> Any:
    return value.__class__


def _key(leaf: Any) -> Any:
    """The part of one leaf that the program for a call depends on."""
    kind = _class(leaf)
    if kind is np.ndarray:
        return leaf.dtype, leaf.shape
    if kind in _NUMBERS:
        return kind
    if isinstance(leaf, TracedArray):
        value_of(leaf)  # raises: nothing is traced, so it has leaked
    if is_array_leaf(leaf):
        spec = spec_of(leaf)
        return (spec.dtype, spec.shape, True) if spec.weak else (spec.dtype, spec.shape)
    return kind, leaf


def _static(function: Function, numbers: int | Sequence[int], names: str | Iterable[str]) -> tuple[tuple[int, ...], frozenset[str]]:
    """Static positions, and names of the arguments at these positions together with those given."""
    positions = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    chosen = {names} if isinstance(names, str) else set(names)
    if not positions and not chosen:
        return (), frozenset()
    parameters = _parameter_names(function)
    positions = tuple(
        sorted({i % len(parameters) if i < 0 and parameters else i for i in positions} | {parameters.index(n) for n in chosen if n in parameters})
    )
    return positions, frozenset(chosen | {parameters[i] for i in positions if i < len(parameters)})


def _parameter_names(function: Function) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _leaf_names(function: Function, static: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """The Python expression of each leaf of the arguments."""
    names = [name for i, name in enumerate(_parameter_names(function)) if i not in static]
    named = [(names[i] if i < len(names) else f"args[{i}]", a) for i, a in enumerate(args)]
    return [path for name, tree in [*named, *sorted(kwargs.items())] for path in paths(tree, name)]
