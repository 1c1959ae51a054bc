"""The work of a task: a program, what is derived from it and how, and the inputs. Its hash names the task on every machine.

The hash covers the program's normalised text (values and functions renamed, no locations), so that moving a function in its file, or renaming what is
in it, leaves the task what it is, and changing what it computes does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import did_you_mean
from wengert.lab.records.environment import plugin_hashes
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.residuals.policies import POLICIES, is_policy, policy_names
from wengert.transforms.ad.strategies import strategy_names

Array = np.ndarray[Any, np.dtype[Any]]

PLAIN_MODES = ("primal", "forward", "reverse", "jacfwd", "jacrev", "hvp", "hessian")
"""What can be derived from any program; beside these, strategies of reverse mode and policies for residuals are modes by their names."""
SYNONYMS = {"transpose": "reverse"}


@dataclass(frozen=True)
class Work:
    """The work of a task: what is run.

    Attributes:
        program: the hash of the program's normalised text.
        mode: ``primal``, ``forward`` (a JVP), ``reverse`` (a VJP), ``jacfwd``, ``jacrev``, ``hvp`` (the JVP of the VJP), ``hessian``, a strategy of
            reverse mode or a policy for its residuals.
        wrt, of: positions of the arguments and results that are differentiated.
        backend: what runs it.
        pipeline: passes in place of the optimisation; None for the usual ones.
        seed: of the inputs that are drawn.
        given: the hash of the arrays that the first inputs are; empty where all are drawn.
        plugin: the hash of the plug-ins that were loaded where the mode is one of theirs; empty for ours.
    """

    program: str
    mode: str
    wrt: tuple[int, ...] = ()
    of: tuple[int, ...] = ()
    backend: str = "cpu"
    pipeline: str | None = None
    seed: int = 0
    given: str = ""
    plugin: str = ""

    @property
    def task(self) -> str:
        """The name of the task: 32 hexadecimal digits, the same wherever the same is asked for, and for all versions of a plug-in, as for all of ours."""
        return digest(json.dumps({**asdict(self), "plugin": ""}, sort_keys=True))

    @property
    def key(self) -> str:
        """The name of the task with the version of the plug-in: what has this key need not be run again."""
        return f"{self.task} {self.plugin}"

    def derived(self, program: Program) -> Program:
        """The program that is run. Raises what making derivatives raises."""
        return derived(program, self.mode, self.wrt, self.of)


@dataclass(frozen=True)
class Point:
    """A program at certain sizes, and what its inputs are.

    Attributes:
        label: the program's name for people.
        sizes: the sizes by name; the other choices that made it, as text.
        program: the static program.
        given: the first inputs; those that are missing are drawn.
        source: how the program was asked for, for people.
    """

    label: str
    program: Program
    sizes: dict[str, int | str] = field(default_factory=dict[str, "int | str"])
    given: tuple[Array, ...] = ()
    source: str = ""


def modes() -> tuple[str, ...]:
    """The names of all modes: derivatives, strategies, policies."""
    others = [name for name in (*strategy_names(), *policy_names()) if name != "auto" and name not in SYNONYMS]
    return (*PLAIN_MODES, *dict.fromkeys(others))


def check_mode(name: str) -> str:
    """The mode of this name; an InputError, which lists them, where there is none."""
    name = SYNONYMS.get(name, name)
    if name not in modes() and not is_policy(name):
        raise InputError(f"there is no mode {name!r}; {did_you_mean(name, modes()) or 'there are: ' + ', '.join(modes())}")
    return name


def plugin_of(mode: str, pipeline: str | None = None) -> str:
    """The hash of the plug-ins that are loaded, where the mode or a pipeline may be theirs; empty for what is built in."""
    own = (*PLAIN_MODES, *SYNONYMS, "direct", *POLICIES)
    hashes = plugin_hashes()
    return digest(json.dumps(sorted(hashes.values()))) if hashes and (pipeline is not None or mode not in own) else ""


def derived(program: Program, mode: str, wrt: Sequence[int], of: Sequence[int]) -> Program:
    """Derives what a mode makes of a program. Raises InputError for a mode that is not known, and what making derivatives raises."""
    mode = check_mode(mode)
    if mode == "primal":
        return program
    if mode == "forward":
        return program.jvp(wrt, of)
    if mode in ("reverse", *strategy_names()):
        return program.vjp(wrt, of, strategy="transpose" if mode == "reverse" else mode)
    if mode == "hvp":
        return _along(program, wrt, of)
    if mode in PLAIN_MODES:
        return getattr(program, mode)(wrt, of)
    return program.vjp(wrt, of, residuals=mode)


def _along(program: Program, wrt: Sequence[int], of: Sequence[int]) -> Program:
    """The derivative of the VJP in a direction of the same arguments."""
    reverse = program.vjp(wrt, of)
    outputs = len(program.signature.results)
    return reverse.jvp(wrt, range(outputs, outputs + len(wrt)))


# -- hashes


def digest(text: str) -> str:
    """The first 32 hexadecimal digits of the text's SHA-256."""
    return sha256(text.encode()).hexdigest()[:32]


def program_text(program: Program) -> str:
    """The text that is kept of a program: as it is written, without locations."""
    from wengert.ir.printing.printer import print_module

    return print_module(program.module)


def program_hash(program: Program) -> str:
    """The hash of a program's normalised text and entry."""
    return digest(f"@{program.entry}\n{normalised(program.module)}")


def module_hash(module: ModuleOp) -> str:
    """The hash of a module's normalised text."""
    return digest(normalised(module))


_LABELS = re.compile(r' \{(?:jax|wengert)\.\w+ = "(?:[^"\\]|\\.)*"\}')


def normalised(module: ModuleOp) -> str:
    """A module's text in which names that mean nothing are gone: of values, of the module, of arguments and results."""
    from wengert.ir.printing.printer import print_module

    copy = copy_module(module)
    copy.sym_name = None
    copy.attributes.clear()
    for op in copy.walk():
        for value in op.results:
            value.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.name_hint = None
    return _LABELS.sub("", print_module(copy))


def arrays_hash(arrays: Sequence[Array]) -> str:
    """The hash of arrays: types, shapes and elements."""
    if not arrays:
        return ""
    hashed = sha256()
    for array in arrays:
        hashed.update(f"{array.dtype.str}{array.shape};".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:32]
