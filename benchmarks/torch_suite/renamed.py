"""Modules under PyTorch's names that are made of ours: what ``import torch`` means in a file that is run by :func:`load`.

Only what a file imports by itself is renamed. PyTorch as it is stays importable for everything else, its test classes included, whose comparisons
take our tensors (:mod:`benchmarks.torch_suite.comparing`).
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.torch_suite import comparing, helpers

import wengert.eager as eager
import wengert.nn as nn
import wengert.optim as optim
from wengert.eager import gradient_check, gradient_jacobians
from wengert.eager.profiling.events import format_time
from wengert.eager.recording.function_record import FunctionRecord
from wengert.eager.recording.kept_values import SavedTensor
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.record import AccumulateGrad
from wengert.nn import functional as nn_functional

NAME = "renamed_torch_test"


class Absent:
    """Something of PyTorch's that there is not here: imports of it work, uses raise."""

    def __init__(self, name: str):
        self.__name__ = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"there is no {self.__name__}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)


HIDDEN = frozenset(("library", "operations", "recording", "compilation", "function"))
"""Modules of ours that only happen to have a name of PyTorch's."""


HIDING = frozenset(("torch.autograd.gradcheck",))
"""Modules of PyTorch whose name means a function where it is an attribute."""


class Renamed(ModuleType):
    """A module of ours under a name of PyTorch's.

    Args:
        name: PyTorch's.
        places: where names are looked up, in this order.
        names: what stands in front of that.
    """

    def __init__(self, name: str, places: Sequence[Any] = (), names: dict[str, Any] | None = None):
        super().__init__(name)
        self.__dict__.update(names or {})
        self._places = places

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = MODULES.get(f"{self.__name__}.{name}")
        if inner is not None and inner.__name__ not in HIDING:
            return inner
        for place in self._places:
            value = getattr(place, name, None)
            if value is not None and not (isinstance(value, ModuleType) and name in HIDDEN):
                return value
        return Absent(f"{self.__name__}.{name}")


def _modules() -> dict[str, Any]:
    autograd = eager.autograd
    progress = autograd.progress
    tasks = {
        "_set_fwd_grad_enabled": lambda mode: setattr(STATE, "pushes_forward", mode),
        "_current_graph_task_id": progress.current_task_id,
        "_current_graph_task_execution_order": progress.execution_order,
        "_current_autograd_node": progress.current_node,
        "_will_engine_execute_node": progress.will_execute,
    }
    table: dict[str, tuple[Sequence[Any], dict[str, Any]]] = {
        "torch": ((eager,), {"Size": tuple}),
        "torch._C": ((eager,), {"_WeakTensorRef": helpers.WeakTensorRef, **tasks}),
        "torch._C._autograd": (
            (),
            {
                "_saved_tensors_hooks_is_enabled": lambda: STATE.no_saved_hooks is None,
                "_get_current_graph_task_keep_graph": progress.current_task_keeps_graph,
                "SavedTensor": SavedTensor,
            },
        ),
        "torch._C._nn": ((), {"_test_warn_in_autograd": helpers.warn_in_autograd}),
        "torch.ops": ((), {}),
        "torch.ops.profiler": ((), {"_record_function_enter": helpers.record_function_enter, "_record_function_exit": helpers.record_function_exit}),
        "torch.autograd._functions": ((), {"Resize": helpers.Resize}),
        "torch._C._functions": ((), {"UndefinedGrad": helpers.UndefinedGrad, "DelayedError": helpers.DelayedError, "AccumulateGrad": AccumulateGrad}),
        "torch.nn": ((nn,), {}),
        "torch.nn.functional": ((nn_functional,), {}),
        "torch.optim": ((optim,), {}),
        "torch.autograd": (
            (autograd,),
            {"kineto_available": lambda: False, "_profiler_enabled": autograd.profiler.profiler_enabled, "SavedTensor": SavedTensor},
        ),
        "torch.autograd.function": ((autograd,), {"BackwardCFunction": FunctionRecord, "InplaceFunction": autograd.Function}),
        "torch.autograd.functional": ((autograd.functional,), {}),
        "torch.autograd.profiler": ((autograd.profiler,), {}),
        "torch.autograd.profiler_util": ((autograd.profiler,), {"_format_time": format_time}),
        "torch.autograd.forward_ad": ((autograd.forward_ad,), {}),
        "torch.autograd.graph": ((autograd.graph,), {"allow_mutation_on_saved_tensors": helpers.allow_mutation_on_saved_tensors}),
        "torch.autograd.grad_mode": ((autograd,), {}),
        "torch.autograd.gradcheck": ((gradient_check, gradient_jacobians), {}),
        "torch.utils": ((), {}),
        "torch.utils.checkpoint": ((eager,), {}),
        "torch.autograd.variable": ((autograd,), {}),
        "torch.testing": ((), {"make_tensor": comparing.make_tensor}),
    }
    return {name: Renamed(name, places, names) for name, (places, names) in table.items()}


MODULES: dict[str, Any] = _modules()
AS_THEY_ARE = ("torch.testing._internal", "torch.cuda", "torch.backends", "torch.xpu", "torch.version", "torch.profiler")
"""Modules of PyTorch that are taken as they are: of tests and of the machine."""


def module(name: str) -> Any:
    """What a file that imports this gets."""
    if name.startswith(AS_THEY_ARE):
        made = Renamed(name, (importlib.import_module(name),), comparing.names(name))
        return MODULES.setdefault(name, made)
    return MODULES.setdefault(name, Renamed(name))


def _importer(original: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level or not (globals or {}).get("__name__", "").startswith(NAME):
            return original(name, globals, locals, fromlist, level)
        beside = folder / f"{name.replace('.', '/')}.py"
        if fromlist and beside.is_file():
            return load(beside, folder)
        if name != "torch" and not name.startswith("torch."):
            return original(name, globals, locals, fromlist, level)
        inner = module(name)
        return inner if fromlist else MODULES["torch"]

    return imported


def load(path: Path, folder: Path | None = None) -> ModuleType:
    """A file of PyTorch's tests as a module, in which ``torch`` is ours; what it imports from its own folder too.

    Raises:
        OSError: the file cannot be read.
    """
    for name in ("torch.cuda", "torch.backends", "torch.xpu", "torch.profiler"):
        module(name)
    made = ModuleType(f"{NAME}_{path.stem}")
    made.__file__ = str(path)
    made.__dict__["__builtins__"] = {**vars(builtins), "__import__": _importer(builtins.__import__, folder or path.parent)}
    sys.modules[made.__name__] = made
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)
    return made
