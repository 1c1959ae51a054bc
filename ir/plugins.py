"""Plug-ins: passes, strategies, policies and ops that come from outside of this package.

A plug-in is a Python file or module. Loading it runs it, and what it registers (:func:`wengert.register`) is known by name from then on::

    load_plugin("my_pass.py")          # a file
    load_plugin("package.module")      # a module that Python finds

What an installed package declares in an entry point group of :data:`GROUPS` is found without being loaded: the group is looked at when a name is asked for
that nobody here knows, and when names are listed, so that whoever uses no plug-in does not wait for that.

What goes wrong in a plug-in is its author's to mend and not a defect of ours: :class:`PluginError` names the file, and keeps the traceback from the plug-in on.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import currentframe
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from wengert.ir.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PASS_GROUP, STRATEGY_GROUP, POLICY_GROUP, RULE_GROUP = GROUPS = ("wengert.passes", "wengert.strategies", "wengert.residuals", "wengert.rules")
"""The entry point groups: passes, strategies and residual policies by their names (``mine = "package.module:Mine"``), and dialects with their rules by the
name of the dialect (``mydialect = "package.module"``)."""

_OURS = ("wengert", "xdsl")


class Plugin(Struct, frozen=True):
    """A file or module that was loaded.

    Attributes:
        source: what ``--load`` is given to load it again: the absolute path of a file, or the name of a module.
        module: its name in ``sys.modules``.
        file: its source file, if it has one.
    """

    source: str
    module: str
    file: str = ""


LOADED: dict[str, Plugin] = {}
"""The plug-ins that were loaded in this process, by their sources."""
_CONTENTS: dict[str, str] = {}
"""The hash of the contents that each file was loaded with."""


class UndoneWarning(UserWarning):
    """Warns that what the pass of a plug-in did was undone by a later pass."""


def warn_undone(message: str) -> None:
    """Warns that what a plug-in did is undone, at the line outside of this package that made it run."""
    level, frame = 1, currentframe()
    while frame is not None and frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("wengert", "contextlib", "functools"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UndoneWarning, stacklevel=level)


class PluginNotFoundError(Exception):
    """There is no such file or module."""


class PluginError(Exception):
    """A plug-in raised an exception, or left what is not valid.

    Attributes:
        message: what happened, in which plug-in.
        details: the traceback from the plug-in's first frame on, or the diagnostics of the invalid IR.
        reproducer: a file with the IR and the command that shows it, if there is one.
    """

    def __init__(self, message: str, details: str = "", reproducer: Path | None = None):
        super().__init__(message, details, reproducer)
        self.message, self.details, self.reproducer = message, details, reproducer

    def __str__(self) -> str:
        return "\n".join([part for part in (self.message, self.details.rstrip()) if part])


def load_plugin(source: str | Path) -> Plugin:
    """Loads a plug-in: a file, if the source ends in ``.py``, else a module by its name. One that is loaded already is not run again, unless its file has
    changed.

    The folder of a file is appended to Python's search path, so that the file may import others beside it.

    Raises:
        PluginNotFoundError: there is no such file or module.
        PluginError: it raises an exception; names the place.
    """
    text = str(source)
    return _load_file(Path(text)) if text.endswith(".py") else _load_module(text)


def _load_file(path: Path) -> Plugin:
    if not path.is_file():
        raise PluginNotFoundError(f"there is no file {str(path)!r} to load")
    path = path.resolve()
    contents = sha256(path.read_bytes()).hexdigest()
    known = LOADED.get(str(path))
    if known is not None and _CONTENTS[known.source] == contents:
        return known
    plugin = Plugin(str(path), known.module if known else _module_name(path.stem), str(path))
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = spec_from_file_location(plugin.module, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[plugin.module] = module_from_spec(spec)
    LOADED[plugin.source], _CONTENTS[plugin.source] = plugin, contents
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        _forget(plugin)
        raise _unloadable(path.name, error) from error
    return plugin


def _load_module(name: str) -> Plugin:
    if name in LOADED:
        return LOADED[name]
    plugin = LOADED[name] = Plugin(name, name)  # what it raises is recognised as its own
    try:
        module: ModuleType = import_module(name)
    except Exception as error:
        _forget(plugin)
        if isinstance(error, ModuleNotFoundError) and error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise PluginNotFoundError(f"there is no module {name!r} to load (a file ends in .py)") from None
        raise _unloadable(name, error) from error
    plugin = LOADED[name] = Plugin(name, name, getattr(module, "__file__", None) or "")
    return plugin


def _forget(plugin: Plugin) -> None:
    LOADED.pop(plugin.source, None)
    _CONTENTS.pop(plugin.source, None)
    if plugin.file:
        sys.modules.pop(plugin.module, None)


def _module_name(stem: str) -> str:
    """A name in ``sys.modules`` that nothing else has."""
    name, n = f"wengert_plugin_{stem}", 1
    while name in sys.modules:
        name, n = f"wengert_plugin_{stem}_{n}", n + 1
    return name


def _unloadable(name: str, error: Exception) -> PluginError:
    if isinstance(error, DiagnosticError):  # of a pipeline that it writes, for example
        return PluginError(f"{name} cannot be loaded", error.render())
    return PluginError(f"{name} cannot be loaded: {_described(error)}", frames_of(error))


# -- whose something is


def is_foreign(thing: object) -> bool:
    """Whether a class, a function or an object (by its class) is defined outside of this package and of xDSL."""
    return _is_foreign_module(_module_of(thing))


def owner_of(thing: object) -> str:
    """The file, or the module, that a class, a function or an object (by its class) is defined in: as short as one recognises it."""
    name = _module_of(thing)
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file).name if file and name.startswith("wengert_plugin_") else name


def _module_of(thing: object) -> str:
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else type(thing).__module__


def _is_foreign_module(name: str) -> bool:
    return name.partition(".")[0] not in _OURS


def _is_plugin_module(name: str) -> bool:
    """Whether a module is a loaded plug-in, or of the package of one."""
    return any(name == p.module or ("." in p.module and name.startswith(p.module.partition(".")[0] + ".")) for p in LOADED.values())


# -- what a plug-in raises


def blamed(error: BaseException) -> PluginError | None:
    """The error of a plug-in for an exception that came out of one: which raised it, or called what did. None if no frame of the traceback is a plug-in's."""
    if isinstance(error, PluginError):
        return error
    first = _first_frame(error.__traceback__)
    if first is None:
        return None
    code: CodeType = first.tb_frame.f_code
    return PluginError(f"{Path(code.co_filename).name}:{first.tb_lineno}: {code.co_qualname} raised {_described(error)}", frames_of(error))


def raised_by(what: str, error: BaseException) -> PluginError:
    """The error of a plug-in for what a pass, strategy or policy of it (``what``) raised."""
    return PluginError(f"{what} raised {_described(error)}", frames_of(error))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def frames_of(error: BaseException) -> str:
    """The traceback of an exception from the first frame of a plug-in on; all of it if there is none."""
    first = _first_frame(error.__traceback__)
    return "".join(traceback.format_exception(type(error), error, first or error.__traceback__, chain=False))


def _first_frame(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None:
        name: Any = trace.tb_frame.f_globals.get("__name__", "")
        if _is_plugin_module(name) or name in _REGISTERING:
            return trace
        trace = trace.tb_next
    return None


_REGISTERING: set[str] = set()
"""The modules that have registered something without being loaded as plug-ins: notebooks, scripts, entry points."""


def note_registration(thing: object) -> None:
    """Notes that the module of a class, a function or an object has registered something."""
    if is_foreign(thing):
        _REGISTERING.add(_module_of(thing))


def is_extended() -> bool:
    """Whether anything from outside of this package has changed what it does: a plug-in was loaded, or something registered."""
    return bool(LOADED or _REGISTERING)


# -- entry points


@cache
def _declared(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # here, because it takes as long to import as a small program to compile

    return {point.name: point for point in entry_points(group=group)}


def declared_names(group: str) -> Iterator[str]:
    """The names that installed packages declare in an entry point group."""
    return iter(_declared(group))


def is_declared(group: str, name: str) -> bool:
    """Whether an installed package declares a name in an entry point group."""
    return name in _declared(group)


def load_declared(group: str, name: str) -> Any:
    """Loads what an installed package declares under a name: a class, an object, or a module. Raises PluginError where it cannot be imported."""
    point = _declared(group)[name]
    _REGISTERING.add(point.module)
    try:
        return point.load()
    except Exception as error:
        raise PluginError(f"the entry point {name} = {point.value!r} of {group} cannot be loaded: {_described(error)}", frames_of(error)) from error


def load_options() -> list[str]:
    """The options by which a command loads the plug-ins that are loaded here: ``--load``, a source, and so on."""
    return [word for plugin in LOADED.values() for word in ("--load", plugin.source)]
