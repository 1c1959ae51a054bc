"""The functions with rules in a jaxpr, and the jaxpr with their calls replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from wengert.frontends.jax_functions import callbacks, foreign, linear_solves
from wengert.frontends.jax_functions.activity import Flow, Level, Levels, through
from wengert.frontends.jax_functions.jaxprs import constants_of, jax_module, moving_positions, untraced_rules_of
from wengert.frontends.jax_functions.primitives import call_primitive, inlined_primitive, stop_primitive
from wengert.frontends.jax_functions.rule_traces import PRIMITIVES, Rule, check_closed, evaluation, rule_of, rule_of_call
from wengert.frontends.jax_functions.shard_maps import Around, around, traced_inside
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP

_KINDS = {"custom_jvp_call": CUSTOM_JVP, "custom_vjp_call": CUSTOM_VJP}
_DEPTH = 6
"""The deepest nesting of functions with rules in each other's rules. Some rules call new functions forever (that of ``jnp.sinc``), so
that a text can only say the first few derivatives; asking for more is an error."""
_MANY, _DEPTH_OF_MANY = 24, 3
"""Behind so many functions the depth is less: rules of implicit functions call several new ones for each derivative."""


@dataclass(frozen=True)
class CustomFunction:
    """A function with a rule.

    Attributes:
        rules: ``[jvp]`` or ``[forward, backward]`` as closed jaxprs without equations of that kind, or nothing where it stands too deep in other rules, or
            refuses all tangents.
        refused: what the rule says of the tangent of each operand, if it refuses one.
        linear: a function that is called on tangents is linear in so many of its last operands.
        too_deep: the depth in other rules that it is behind, so that it has none; else 0.
        because: why that has no transpose.
    """

    name: str
    kind: str
    rules: Sequence[Any]
    symbolic_zeros: bool = False
    refused: Sequence[str] = ()
    too_deep: int = 0
    linear: int = 0
    because: str = ""
    maps: tuple[Around, ...] = ()
    """The ``shard_map``s around its calls, the outermost first."""


@dataclass
class CustomFunctions:
    """The functions with rules in the jaxprs treated so far, by the names that their private functions have.

    Attributes:
        by_symbol: the functions.
        stops: whether gradients were stopped anywhere.
        aliases: names that turned out to be those of functions that were there already.
    """

    by_symbol: dict[str, CustomFunction] = field(default_factory=dict[str, CustomFunction])
    stops: bool = False
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[Any, str] = field(default_factory=dict[Any, str])
    _open: dict[Any, str] = field(default_factory=dict[Any, str])
    _treated: dict[Any, tuple[int, str]] = field(default_factory=dict[Any, tuple[int, str]])
    """How deep in other rules a call was treated, and the function it became: a call that is as deep, or deeper, becomes the same one."""
    _count: int = 0
    _maps: tuple[Around, ...] = ()

    def named(self, symbol: str) -> str:
        """The name that a function has, of all that it was given."""
        while symbol in self.aliases:
            symbol = self.aliases[symbol]
        return symbol

    def replaced(self, closed: Any, levels: Levels) -> Any:
        """A closed jaxpr with the calls of functions with rules replaced, whose arguments are active as ``levels`` say; the same object where it holds none."""
        jaxpr = self._replaced(closed.jaxpr, levels)
        return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)

    def _replaced(self, jaxpr: Any, levels: Levels) -> Any:
        flow, (factored, solving) = Flow(jaxpr, levels), linear_solves.solved_by_factors(jaxpr)
        eqns: list[Any] = []
        for eqn in jaxpr.eqns:
            levels = flow.of(eqn.invars)
            if any(id(v) in solving for v in eqn.outvars):
                eqns.append(eqn)
            elif foreign.is_foreign(eqn.primitive):
                eqns += self._foreign(eqn, levels)
            else:
                eqns.append(eqn if id(eqn) in factored else self._equation(eqn, levels))
        same = len(eqns) == len(jaxpr.eqns) and all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=True))
        return jaxpr if same and not callbacks.has_tokens(jaxpr.effects) else callbacks.with_effects(jaxpr, eqns)

    def _foreign(self, eqn: Any, levels: Levels) -> list[Any]:
        """A call of a library's primitive: of a private function with its rule, or on tangents a linear call, or what it computes where it has neither."""
        written, constant = self._inside(lambda: foreign.implementation(eqn)), [Level.CONSTANT] * len(levels)
        if Level.TANGENT in levels and eqn.primitive in jax_module("jax.interpreters.ad").primitive_transposes:
            linear = foreign.LinearCall(eqn, levels)
            others = [v for j, v in enumerate(eqn.outvars) if j not in linear.results]
            params = {"symbol": self._linear_symbol(eqn, linear, levels), "body": self.replaced(linear.body(written), constant)}
            call = eqn.replace(
                primitive=call_primitive(), params=params, invars=[eqn.invars[i] for i in linear.order], outvars=[eqn.outvars[j] for j in linear.results]
            )
            return [self._written_out(eqn, written, constant), call] if foreign.used(others) else [call]
        if Level.TANGENT in levels or not any(levels) or not moving_positions([v.aval for v in eqn.outvars]):
            return [self._written_out(eqn, written, levels)]
        return [self._call(eqn, self.replaced(written, constant), levels)]

    def _written_out(self, eqn: Any, body: Any, levels: Levels) -> Any:
        return eqn.replace(primitive=inlined_primitive(), params={"body": self.replaced(body, levels)})

    def _linear_symbol(self, eqn: Any, linear: foreign.LinearCall, levels: Levels) -> str:
        """The name of the private function for a linear call."""
        call, own = linear.call, [levels[i] for i in linear.order]
        rule = self._inside(lambda: rule_of_call(call, [i for i in moving_positions(call.inputs) if own[i]]))
        transpose, body = self._inside(linear.transpose), linear.body(self._inside(lambda: foreign.implementation(eqn)))
        parts = [*rule.parts, *([] if isinstance(transpose, str) else [transpose])]
        check_closed(call.name, parts)
        at_first = self._maps, _key(foreign.KIND, body, parts, [*rule.refused, str(linear.linear)])
        if same := self._same_call(at_first, own, parts):
            return same
        symbol, self._count = f"wengertcustom{self._count}x", self._count + 1
        rules, too_deep = list[Any](), self._too_deep()
        if not too_deep:
            self._open[at_first] = symbol
            moving = [Level.TANGENT if i in rule.active else Level.CONSTANT for i in moving_positions(call.inputs)]
            others: list[Level] = [min(level, Level.ACTIVE) for level in own]
            rules = [self.replaced(part, [*others, *moving]) for part in rule.parts]
            if not isinstance(transpose, str):
                outputs = [Level.TANGENT] * len(call.outputs)
                rules.append(self.replaced(transpose, [*others[: len(own) - linear.linear], *outputs]))
            del self._open[at_first]
        key = self._maps, _key(foreign.KIND, body, rules, [*rule.refused, str(linear.linear)], symbol)
        if key not in self._known:
            self._known[key] = symbol
            because = transpose if isinstance(transpose, str) else ""
            refused = _refused(call.inputs, rule)
            self.by_symbol[symbol] = CustomFunction(
                _readable(call.name), foreign.KIND, rules, refused=refused, too_deep=too_deep, linear=linear.linear, because=because, maps=self._maps
            )
        return self._finished(at_first, own, parts, symbol, self._known[key])

    def _same_call(self, at_first: Any, levels: Levels, parts: Sequence[Any]) -> str | None:
        """The function for a call with these parts that is treated right now, around this one, or was before, no deeper in rules."""
        if at_first in self._open:
            return self._open[at_first]
        depth, symbol = self._treated.get((at_first, tuple(levels), untraced_rules_of(parts)), (len(self._open) + 1, None))
        return symbol if depth <= len(self._open) else None

    def _finished(self, at_first: Any, levels: Levels, parts: Sequence[Any], symbol: str, known: str) -> str:
        """Notes that a call with these parts, which was to have one name, is one of the function ``known``."""
        self._treated[at_first, tuple(levels), untraced_rules_of(parts)] = len(self._open), known
        if symbol != known:
            self.aliases[symbol] = known
        return known

    def _equation(self, eqn: Any, levels: Levels) -> Any:
        name = eqn.primitive.name
        if name == "custom_jvp_call" and Level.TANGENT in levels:  # linear in tangents by its text; JAX writes it out there too
            return self._written_out(eqn, eqn.params["call_jaxpr"], levels)
        if name in callbacks.NAMES:
            return callbacks.replaced(eqn)
        if name in _KINDS and any(levels) and moving_positions([v.aval for v in eqn.outvars]):
            return self._call(eqn, self.replaced(eqn.params["call_jaxpr"], levels), levels)
        if name in PRIMITIVES:
            call = self._inside(lambda: evaluation(eqn))
            return self._call(eqn.replace(params={"call_jaxpr": call, "num_consts": 0}), call, [Level.ACTIVE] * len(levels))
        if name == linear_solves.NAME:
            return self._call(eqn, self.replaced(linear_solves.solver_of(eqn), levels), levels)
        if name == "stop_gradient" and moving_positions([eqn.outvars[0].aval]):
            self.stops = True
            return eqn.replace(primitive=stop_primitive())
        inner, _ = through(eqn, levels)
        outside = self._maps
        if name == "shard_map":
            self._maps = (*outside, around(eqn))
        params = {key: self._parameter(value, inner) for key, value in eqn.params.items()}
        self._maps = outside
        return eqn if all(params[key] is eqn.params[key] for key in params) else callbacks.without_tokens(eqn.replace(params=params))

    def _inside(self, trace: Callable[[], Any]) -> Any:
        """What a function gives that traces others, in the ``shard_map``s that are open."""
        return traced_inside(trace, self._maps)

    def _call(self, eqn: Any, body: Any, levels: Levels) -> Any:
        """The call of a private function with a rule."""
        return eqn.replace(primitive=call_primitive(), params={"symbol": self._symbol(eqn, body, levels), "body": body})

    def _parameter(self, value: Any, inner: dict[int, list[Level]]) -> Any:
        """A parameter of an equation, whose jaxprs' arguments have these levels."""
        core = jax_module("jax.extend.core")
        if isinstance(value, core.ClosedJaxpr):
            return self.replaced(value, inner[id(value.jaxpr)])
        if isinstance(value, core.Jaxpr):
            return self._replaced(value, inner[id(value)])
        if isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            new = [self._parameter(item, inner) for item in items]
            if any(n is not old for n, old in zip(new, items, strict=True)):
                return type(items)(*new) if hasattr(items, "_fields") else tuple(new)
            return items
        return value

    def _symbol(self, eqn: Any, body: Any, levels: Levels) -> str:
        """The name of the private function for a call."""
        active = [i for i in moving_positions([v.aval for v in eqn.invars]) if levels[i]]
        rule = self._inside(lambda: rule_of(eqn, active, self._maps))
        name = _name(eqn)
        at_first = self._maps, _key(eqn.primitive.name, body, rule.parts, rule.refused)
        if same := self._same_call(at_first, levels, rule.parts):
            return same
        symbol, self._count = f"wengertcustom{self._count}x", self._count + 1
        rules, too_deep = list[Any](), self._too_deep()
        if not too_deep:
            self._open[at_first] = symbol
            rules = self._rules(eqn, rule, levels)
            del self._open[at_first]
        key = self._maps, _key(eqn.primitive.name, body, rules, rule.refused, symbol)
        if key not in self._known:
            self._known[key] = symbol
            kind = linear_solves.KIND if eqn.primitive.name == linear_solves.NAME else _KINDS.get(eqn.primitive.name, CUSTOM_JVP)
            refused = _refused([v.aval for v in eqn.invars], rule) if kind != linear_solves.KIND and eqn.primitive.name not in PRIMITIVES else ()
            self.by_symbol[symbol] = CustomFunction(_readable(name), kind, rules, eqn.primitive.name in PRIMITIVES, refused, too_deep, maps=self._maps)
        return self._finished(at_first, levels, rule.parts, symbol, self._known[key])

    def _too_deep(self) -> int:
        """The depth in other rules at which no more rules are imported, if that is reached; else 0."""
        depth = _DEPTH if self._count <= _MANY else _DEPTH_OF_MANY
        return depth if len(self._open) >= depth else 0

    def _rules(self, eqn: Any, rule: Rule, levels: Levels) -> list[Any]:
        """The parts of a rule with the calls of functions with rules replaced."""
        parts = list[Any]()
        for number, part in enumerate(rule.parts):
            count = len(part.in_avals)
            if eqn.primitive.name == linear_solves.NAME:
                own: list[Level] = [*levels, *[Level.ACTIVE] * count][:count]
            elif number:  # residuals and cotangents
                own = [Level.ACTIVE] * count
            else:  # and tangents
                moving = moving_positions([v.aval for v in eqn.invars])
                own = [*levels, *(Level.TANGENT if i in rule.active else Level.CONSTANT for i in moving)][:count]
            parts.append(self.replaced(part, own))
        return parts


def _name(eqn: Any) -> str:
    if eqn.primitive.name == linear_solves.NAME:
        return "solve"
    return str(eqn.params["call_jaxpr"].jaxpr.debug_info.func_name) if "call_jaxpr" in eqn.params else eqn.primitive.name


def _readable(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") or "f"


def _refused(avals: Sequence[Any], rule: Rule) -> Sequence[str]:
    """What is said of the tangent of each operand that the rule is not for; nothing where it is for all."""
    constant = "was constant where the function was imported"
    said = [rule.refused[i] or constant if i in moving_positions(avals) and i not in rule.active else "" for i in range(len(avals))]
    return said if any(said) else ()


def _key(kind: str, body: Any, rules: Sequence[Any], refused: Sequence[str], own: str = "") -> Any:
    """The key of a function with rules: the texts of all parts, what they refuse, and the arrays in them. Its own name does not count."""
    texts = [str(part.jaxpr) for part in (body, *rules)]
    arrays = [np.asarray(x) for part in (body, *rules) for x in constants_of(part)]
    return kind, *refused, *(t.replace(own, "") if own else t for t in texts), *((a.dtype.str, a.shape, a.tobytes()) for a in arrays)
