"""The incomplete gamma and beta functions, which JAX lowers as masked loops: as functions that declare the derivative of JAX's own rules.

JAX differentiates ``igamma(a, x)`` before it lowers it, by ``exp(-x) x^(a - 1) / Gamma(a)`` in x. Its text has none of that: differentiated op by op,
reverse mode keeps what every iteration computes, and at the ends of the domain and outside of it a zero cotangent is multiplied with the infinite
derivatives of branches that are not selected. What computes one of these functions is known by its fingerprint
(:mod:`~wengert.transforms.core.recognisers.fingerprints`), which only the very same ops have, and moves into a function of its own, op by op. Values do
not change; a lowering that is not in the table below is differentiated as its ops are.

Before and after::

    %y = stablehlo.select %outside, %nan, %inside                         %y = call @igamma(%a, %x)

with ``@igamma`` declaring ``ad.custom_jvp = @igamma_jvp``, which has that formula for the derivative in x, and loops for that in a
(:mod:`~wengert.transforms.core.incomplete_gamma`); the beta function's in a and b are those of its text, forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import ad, chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.construction import copy_op, erase, insert_before, replace_uses
from wengert.ir.elements import splat_value
from wengert.ir.location.locations import rewritten
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, f32, f64
from wengert.ir.traversal import ops_of
from wengert.transforms.core.incomplete_gamma import lower_gamma_by_parameter
from wengert.transforms.core.recognisers.fingerprints import Fingerprint, UnlikeError

OfText = Callable[[int], Value]
"""The derivative of the text of a function by one of its inputs, forward."""

Partial = Callable[[OpBuilder, OfText, Sequence[Value]], Value]
"""Writes a partial derivative of a function of some inputs."""

MOST_TESTS = 64
"""How many ops may say where a function is not defined."""


class Special(Struct, frozen=True):
    """A function that is known.

    Attributes:
        name: the function's.
        partials: what writes its partial derivative by each input, in the order in which the text asks whether these are NaN.
    """

    name: str
    partials: tuple[Partial, ...]


# -- partial derivatives, with the conventions of JAX's rules


def _gamma_by_a(b: OpBuilder, of_text: OfText, inputs: Sequence[Value]) -> Value:
    return lower_gamma_by_parameter(b, inputs[0], inputs[1])


def _gamma_by_x(b: OpBuilder, of_text: OfText, inputs: Sequence[Value]) -> Value:
    """exp(-x) x^(a - 1) / Gamma(a)"""
    a, x = inputs
    power = b.multiply(b.subtract(a, b.full_like(a, 1)), b.log(x))
    return b.exponential(b.subtract(b.add(b.negate(x), power), b.like(chlo.LgammaOp, a)))


def _negated(partial: Partial) -> Partial:
    return lambda b, of_text, inputs: b.negate(partial(b, of_text, inputs))


def _beta_by_parameter(i: int) -> Partial:
    """That of the continued fraction, for which JAX has no rule; 0 at x = 0 and x = 1, where the function is 0 and 1 for all a and b."""

    def partial(b: OpBuilder, of_text: OfText, inputs: Sequence[Value]) -> Value:
        x = inputs[2]
        zero = b.full_like(x, 0)
        at_end = b.or_(b.compare("EQ", x, zero), b.compare("EQ", x, b.full_like(x, 1)))
        return b.select(at_end, zero, of_text(i))

    return partial


def _beta_by_x(b: OpBuilder, of_text: OfText, inputs: Sequence[Value]) -> Value:
    """(1 - x)^(b - 1) x^(a - 1) / B(a, b)"""
    p, q, x = inputs
    one = b.full_like(x, 1)
    lgamma_p, lgamma_q, lgamma_sum = (b.like(chlo.LgammaOp, v) for v in (p, q, b.add(p, q)))
    scale = b.subtract(b.add(lgamma_p, lgamma_q), lgamma_sum)
    powers = b.add(b.multiply(b.subtract(q, one), b.log_plus_one(b.negate(x))), b.multiply(b.subtract(p, one), b.log(x)))
    return b.exponential(b.subtract(powers, scale))


IGAMMA = Special("igamma", (_gamma_by_a, _gamma_by_x))
IGAMMAC = Special("igammac", (_negated(_gamma_by_a), _negated(_gamma_by_x)))
BETAINC = Special("betainc", (_beta_by_parameter(0), _beta_by_parameter(1), _beta_by_x))

KNOWN: dict[str, Special] = {
    # JAX 0.10: f32 (and 16 bits, which are computed in f32), f64
    "790bb7d5328ba7421f3b481571fcc16820afe356bb3277cd1046a09b7e6e5b53": IGAMMA,
    "636d111c9dcf37e72be0d227b9a0566c4ad9eee05ff759455b07f42c765e7220": IGAMMA,
    "e93460dec387072fde04c74ece4c49382da20092fea205acac6ca3a84dbc05cd": IGAMMAC,
    "0927da0e1410422cd857fdfd5eec50d2e1490a034722f87660956bd14c67465e": IGAMMAC,
    # f32 where iterations are counted in i32, in i64; f64
    "bdbcc1d1b914c3af5413af7764c36ef6dfb2e34394792b105328d99fb760a007": BETAINC,
    "452a1438159400720578997509578f4698adc8ad6b3b7bb580b932d0069a9e1b": BETAINC,
    "e97826315d5944cffcadc8eb06dddd9e4cc4f60f523d668b4cdc8dbacf18760b": BETAINC,
}
"""The functions by the fingerprints of the texts that compute them."""


# -- what is recognised


def recognise_incomplete_functions(module: ModuleOp) -> bool:
    """Moves computations of known functions into functions that declare their derivatives, in place; whether there were any."""
    known: dict[tuple[str, Any], str] = {}
    for op in ops_of(module, hlo.SelectOp):
        matched = matching(op) if op.parent is not None else None
        if matched is not None and may_rewrite("incomplete-functions", op):
            special, inputs, computed = matched
            key = computed.digest, inputs[0].type
            if key not in known:
                known[key] = _Outlined(module, special, inputs, op, computed.ops).name
            _call(op, known[key], inputs, computed.ops)
    return bool(known)


def matching(op: hlo.SelectOp) -> tuple[Special, Sequence[SSAValue], Fingerprint] | None:
    """The known function that an op is the result of, its inputs, and the ops between."""
    inputs = inputs_of(op)
    if not inputs:
        return None
    try:
        computed = Fingerprint(op.results[0], inputs)
    except UnlikeError:
        return None
    special = KNOWN.get(computed.digest)
    return None if special is None else (special, inputs, computed)


def inputs_of(op: hlo.SelectOp) -> list[SSAValue]:
    """The inputs of what may be such a function: it is NaN where they are, which its last op selects. Nothing where that is not so."""
    if element(op.on_true) not in (f32, f64) or not _is_nan(op.on_true):
        return []
    inputs: dict[SSAValue, None] = {}
    pending: list[SSAValue] = [op.pred]
    for _ in range(MOST_TESTS):
        if not pending:
            return list(inputs)
        test = pending.pop().owner
        if isinstance(test, hlo.OrOp | hlo.AndOp | hlo.NotOp):
            pending += test.operands[::-1]
        elif isinstance(test, hlo.CompareOp) and test.lhs is test.rhs:
            inputs[test.lhs] = None
    return []


def _is_nan(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, hlo.BroadcastInDimOp):
        owner = owner.operand.owner
    if not isinstance(owner, hlo.ConstantOp):
        return False
    number = splat_value(cast("DenseIntOrFPElementsAttr[Any]", owner.value))
    return number is not None and bool(number != number)


def _call(op: Operation, name: str, inputs: Sequence[SSAValue], computed: Sequence[Operation]) -> None:
    """Puts a call in the place of the last op, and erases what nothing uses then."""
    properties = {"callee": SymbolRefAttr(name)}
    call = CallOp.create(operands=inputs, result_types=[op.results[0].type], properties=properties, location=rewritten(op.location, op.name, "to-core"))
    insert_before(op, call)
    replace_uses(op.results[0], call.results[0])
    for old in reversed(computed):
        if not any(result.uses for result in old.results):
            erase(old)


# -- the functions that are made


class _Outlined:
    """The functions of a computation: its text, the function that is called, and the rule that this declares."""

    def __init__(self, module: ModuleOp, special: Special, inputs: Sequence[SSAValue], last: Operation, ops: Sequence[Operation]):
        self.module = module
        self.special = special
        self.types = [x.type for x in inputs]
        self.result = last.results[0].type
        self.location = rewritten(last.location, last.name, "to-core")
        self.text = self._add(f"{special.name}_text", Block(arg_types=self.types), lambda b, xs: [_copied(b, ops, inputs, xs, last)])
        self.function = self._add(special.name, Block(arg_types=self.types), lambda b, xs: [self._called(b, self.text, xs)])
        rule = self._add(f"{special.name}_jvp", Block(arg_types=[*self.types, *self.types]), self._rule)
        self.function.attributes["ad.custom_jvp"] = SymbolRefAttr(rule.sym_name.data)
        self.function.attributes["ad.symbolic_zeros"] = UnitAttr()

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    def _add(self, base: str, block: Block, write: Callable[[OpBuilder, Sequence[Value]], Sequence[Value]]) -> FuncOp:
        results = write(OpBuilder(block, location=self.location), block.args)
        block.add_op(ReturnOp(*results))
        taken = {op.sym_name.data for op in self.module.ops if isinstance(op, FuncOp)}
        name = next(name for name in (base, *(f"{base}_{i}" for i in range(len(taken) + 1))) if name not in taken)
        function = FuncOp(name, ([x.type for x in block.args], [y.type for y in results]), Region([block]), "private")
        function.location = self.location
        self.module.body.block.add_op(function)
        return function

    def _called(self, b: OpBuilder, function: FuncOp, xs: Sequence[Value]) -> Value:
        return b.create(CallOp, xs, [self.result], {"callee": SymbolRefAttr(function.sym_name.data)})[0]

    def _rule(self, b: OpBuilder, args: Sequence[Value]) -> Sequence[Value]:
        """The value, and the sum of partial derivatives times tangents."""
        xs, x_dots = args[: len(self.types)], args[len(self.types) :]
        partials = [partial(b, lambda i: self._of_text(b, i, xs), xs) for partial in self.special.partials]
        terms = [b.multiply(x_dot, partial) for x_dot, partial in zip(x_dots, partials, strict=True)]
        y_dot = terms[0]
        for term in terms[1:]:
            y_dot = b.add(y_dot, term)
        return [self._called(b, self.function, xs), y_dot]

    def _of_text(self, b: OpBuilder, i: int, xs: Sequence[Value]) -> Value:
        """The partial derivative of the text by one input, element by element."""
        properties = {"callee": SymbolRefAttr(self.text.sym_name.data), "wrt": int_array([i]), "of": int_array([0])}
        return b.create(ad.JvpOp, [*xs, b.full_like(xs[i], 1)], [self.result, self.result], properties)[1]


def _copied(b: OpBuilder, ops: Sequence[Operation], inputs: Sequence[SSAValue], xs: Sequence[Value], last: Operation) -> Value:
    """Copies ops into the function being built; the result of the last one."""
    values = dict(zip(inputs, xs, strict=True))
    for op in ops:
        b.insert(copy_op(op, values))
    return values[last.results[0]]
