"""Strategies: named ways to make the derivatives of a function.

=============  =======================================================================================================
``transpose``  the function is linearized, the linear part transposed, and the two are joined (``linearize,transpose,join``)
``direct``     the adjoint of every op is emitted, in the reverse order (:mod:`wengert.transforms.ad.direct`)
=============  =======================================================================================================

Both have the same results; what they cost may differ. A plug-in adds others by name, in one of two ways: as a pipeline (:class:`PipelineStrategy`), or as a
class with a method that makes a function (:class:`Strategy`). ``vjp{strategy=mine}``, ``p.vjp(strategy="mine")`` and ``--strategy mine`` know them then.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import ClassVar, Literal

from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.plugins import STRATEGY_GROUP
from wengert.ir.registry import Registry
from wengert.transforms.ad.forward.jvp import jvp_function
from wengert.transforms.ad.linear.vjp import vjp_function
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.policies import AUTO, Policy
from wengert.transforms.pipelines import parse_pipeline

Mode = Literal["jvp", "vjp"]


class Strategy(ABC):
    """A named way to make the derivatives of a function. Objects have no state and are used by several threads.

    A subclass has a ``name`` and at least one of :meth:`vjp` and :meth:`jvp`. Both are given a function at core level, without calls (except of functions
    that declare derivatives) and requests for derivatives, and return a new function; that which they are given they may take apart, for it is dropped.
    """

    name: str
    """The name in options and pipelines, in kebab-case."""
    takes_residuals: ClassVar[bool] = False
    """Whether :meth:`vjp` obeys the policy for residuals that it is given; if not, it is given ``auto`` only."""

    def jvp(self, request: Request, name: str) -> FuncOp:
        """The function ``(inputs, tangents of wrt) -> (outputs, tangents of of)``, under this name. By default that of the pass ``jvp``."""
        return jvp_function(request, name)

    def vjp(self, request: Request, name: str, residuals: Policy) -> FuncOp:
        """The function ``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``, under this name. By default that of ``linearize,transpose,join``."""
        return vjp_function(request, name, residuals)

    def pipeline(self, mode: Mode, fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None, residuals: str) -> Pipeline | None:
        """The passes that make the derivative of a module, for a strategy that is a pipeline; the methods are not called then. None: it is not."""
        return None


class _Transpose(Strategy):
    name = "transpose"
    takes_residuals = True


class _Direct(Strategy):
    name = "direct"

    def vjp(self, request: Request, name: str, residuals: Policy) -> FuncOp:
        from wengert.transforms.ad.direct.vjp import direct_vjp_function

        return direct_vjp_function(request, name)


class PipelineStrategy(Strategy):
    """A strategy that is a pipeline, such as ``linearize,eliminate,transpose,join``.

    The first pass with an option ``wrt`` (``linearize``, ``vjp``, ``jvp`` and their like) is given what to differentiate: ``fn``, ``wrt`` and ``of``; and
    the policy for residuals, if it has an option for it that the text leaves open.

    Args:
        name: the name in options and pipelines.
        vjp: the passes from core-level IR to the reverse derivative.
        jvp: those to the forward derivative; by default what the pass ``jvp`` does.

    Raises:
        DiagnosticError: a text is no pipeline; points into it.
        ValueError: none of its passes takes ``wrt``.
    """

    takes_residuals = True

    def __init__(self, name: str, *, vjp: str = "vjp", jvp: str = "jvp"):
        self.name = name
        self._texts: dict[Mode, str] = {"jvp": jvp, "vjp": vjp}
        for text in self._texts.values():
            _asking(text)

    def pipeline(self, mode: Mode, fn: str, wrt: Sequence[int] | None, of: Sequence[int] | None, residuals: str) -> Pipeline | None:
        text = self._texts[mode]
        passes, asking = list(parse_pipeline(text).passes), _asking(text)
        asked: dict[str, object] = {"fn": fn, "wrt": None if wrt is None else tuple(wrt), "of": None if of is None else tuple(of)}
        if residuals != AUTO.name:
            if getattr(passes[asking], "residuals", None) != AUTO.name:
                raise DiagnosticError(Diagnostic(f"residuals={residuals}: the strategy '{self.name}' ({text}) chooses its residuals itself"))
            asked["residuals"] = residuals
        passes[asking] = replace(passes[asking], **asked)
        return Pipeline(tuple(passes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PipelineStrategy) and (self.name, self._texts) == (other.name, other._texts)

    def __hash__(self) -> int:
        return hash((self.name, *self._texts.values()))


def _asking(text: str) -> int:
    """The position of the pass of a pipeline that is told what to differentiate."""
    for position, pass_ in enumerate(parse_pipeline(text).passes):
        if _takes(pass_, "wrt") and _takes(pass_, "fn") and _takes(pass_, "of"):
            return position
    raise ValueError(f"no pass of {text!r} takes fn, wrt and of: a strategy has to be told what to differentiate")


def _takes(pass_: ModulePass, option: str) -> bool:
    return is_dataclass(pass_) and any(field.name == option for field in fields(pass_))


DEFAULT = "transpose"
"""The strategy where none is named."""
STRATEGIES: Registry[Strategy] = Registry("strategy", "strategy", STRATEGY_GROUP, (_Transpose(), _Direct()))
"""All strategies."""
register_strategy, strategy_names, strategy_named = STRATEGIES.register, STRATEGIES.names, STRATEGIES.named
