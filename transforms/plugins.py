"""Registers what plug-ins bring: passes, translations, strategies, policies for residuals, and dialects.

    @wg.register
    class Mine(wg.Pass):
        \"\"\"Does nothing yet.\"\"\"

        name = "mine"
        times: int = 2

        def run(self, module: ModuleOp) -> None: ...

From then on ``mine`` is a pass like any other, in pipelines, on the command line and in Python.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from wengert.ir.pipeline.passes import PASSES
from wengert.ir.pipeline.translations import Translation
from wengert.ir.plugins import note_registration
from wengert.transforms.ad.residuals.policies import Policy, register_policy
from wengert.transforms.ad.strategies import Strategy, register_strategy

T = TypeVar("T")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Pass(ModulePass):
    """Base class of a pass: a class attribute ``name`` in kebab-case, options as annotated fields with defaults, and :meth:`run`.

    The first sentence of its docstring is what ``wengert-opt --list-passes`` says of it. The options may be of type ``int``, ``float``, ``bool``, ``str``, a
    ``Literal`` of words, or tuples of these (``wrt: tuple[int, ...] = ()``); pipelines write ``mine{times=3}``.

    A pass is given a module that is valid and has to leave it so, which is checked behind a pass of a plug-in. What is wrong with a program is said by
    ``raise wengert.ir.location.places.error_at(op, "...")``.
    """

    @abstractmethod
    def run(self, module: ModuleOp) -> None:
        """Changes the module in place."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(op)


def register(thing: T) -> T:
    """Makes something known by its name, and returns it, so that it is a decorator of classes too.

    Args:
        thing: the class of a pass (:class:`Pass`, or any ``ModulePass`` of xDSL) or of a translation; a strategy, or its class
            (:class:`wengert.Strategy`, :class:`wengert.PipelineStrategy`); a policy for residuals, or its class (:class:`wengert.ResidualPolicy`); a
            dialect of xDSL, with ops that declare their ``FACTS``.

    Raises:
        ValueError: the name is another one's, or not in kebab-case.
        TypeError: it is none of these.
    """
    note_registration(thing)
    if isinstance(thing, type) and issubclass(cast("type[object]", thing), ModulePass | Translation):
        return cast(T, _register_pass(cast(Any, thing)))
    made = _object_of(thing)
    if isinstance(made, Strategy):
        register_strategy(_named(made))
    elif isinstance(made, Policy):
        register_policy(_named(made))
    elif isinstance(made, Dialect):
        from wengert.dialects.registry import register_dialect

        register_dialect(made)
    else:
        raise TypeError(f"{thing!r} is no pass, translation, strategy, policy or dialect")
    return thing


def _object_of(thing: object) -> object:
    """A strategy or policy of a class of them; what is no such class, itself."""
    cls = cast("type[object]", thing)
    return cls() if isinstance(thing, type) and issubclass(cls, Strategy | Policy) else thing


def _register_pass(cls: type[ModulePass | Translation]) -> type[ModulePass | Translation]:
    if "__dataclass_fields__" not in cls.__dict__:
        cls = dataclass(frozen=True)(cls)
    PASSES.register(_named(cls))
    return cls


def _named(thing: T) -> T:
    name: Any = getattr(thing, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{thing!r} needs a name in kebab-case, such as name = 'my-pass'; found {name!r}")
    return thing
