"""Mistakes in passes that rewrite core-level IR: laws that do not hold, sharing of what differs, removal of what is needed, recognised constructs."""

from __future__ import annotations

from mutations.mutation import Mutation
from mutations.programs import ARRANGED, CARRIED, PRODUCTS, REPEATED, SIMPLIFIABLE, SQUARES

_OPTIMIZE = "wengert.transforms.optimize."


def _law(name: str, function: str, old: str, new: str, program: str, rewrite: str = "") -> Mutation:
    """A law of ``simplify`` that does not hold."""
    rewrite = rewrite or function.partition(":")[2].replace("_", "-")
    return Mutation(name, _OPTIMIZE + function, old, new, program, "simplify", ("rewrite", rewrite))


MUTATIONS = (
    _law("-(-x) = -x", "algebra:double_negation", "inner.operand", "op.operand", SIMPLIFIABLE),
    _law("x - (-y) = x - y", "algebra:subtract_negated", "b.add(op.lhs, negated.operand)", "b.subtract(op.lhs, negated.operand)", SIMPLIFIABLE),
    _law("x * -1 = x", "algebra:multiply_by_minus_one", "b.negate(x)", "x", SIMPLIFIABLE),
    _law("x / c = x * c", "algebra:divide_by_power_of_two", "1.0 / float(c)", "float(c)", SIMPLIFIABLE),
    _law("x ** 2 = x + x", "algebra:power_of_constant_exponent", "b.multiply(op.lhs, op.lhs)", "b.add(op.lhs, op.lhs)", SIMPLIFIABLE),
    _law("(x + c) + d = x + c", "algebra:add_integer_constants", "b.add(y, b.add(c, d))", "b.add(y, c)", SIMPLIFIABLE),
    _law(
        "slice of a slice: strides of the inner one forgotten", "movement:slice_of_slice", "start + outer_start * stride", "start + outer_start", SIMPLIFIABLE
    ),
    _law(
        "reverse of a reverse: dimensions kept twice",
        "movement:reverse_of_reverse",
        "dims ^=",
        "dims &=",
        SIMPLIFIABLE.replace("dims = [1] : tensor<4x6xf64>", "dims = [0, 1] : tensor<4x6xf64>"),
    ),
    _law(
        "transpose of a transpose: composed the other way",
        "shapes:transpose_of_transpose",
        "[first[q] for q in ints(op.permutation)]",
        "[ints(op.permutation)[q] for q in first]",
        ARRANGED.replace("%0, dims = [1, 2, 0]", "%0, dims = [1, 2, 0]"),
    ),
    _law("sum of equal elements: their number forgotten", "reductions:sum_of_broadcast", "b.full_like(y, count)", "b.full_like(y, 1)", ARRANGED),
    _law(
        "contraction of a transpose: dimensions not renumbered",
        "contractions:dot_of_transpose",
        "new_contracting[side] = tuple(permutation[d] for d in contracting[side])",
        "new_contracting[side] = tuple(permutation.index(0) for d in contracting[side])",
        ARRANGED,
    ),
    _law("broadcast of a broadcast: dimensions not renumbered", "shapes:broadcast_of_broadcast", "[outer[d] for d in", "[outer[-1 - d] for d in", SQUARES),
    Mutation(
        "cse: attributes ignored",
        _OPTIMIZE + "cse:_Sharer._key",
        "self._named(op.properties) if op.properties else ()",
        "()",
        REPEATED,
        "cse",
        ("rewrite", "share-equal-op"),
    ),
    Mutation(
        "cse: what a region knows is known behind it",
        _OPTIMIZE + "cse:_Sharer.share",
        "({}, *around)",
        "(tables[0], *around)",
        REPEATED,
        "cse",
        ("rewrite", "share-equal-op"),
        pipeline="cse",
    ),
    Mutation(
        "dce: carried values that only the loop uses",
        _OPTIMIZE + "dce:_Needed._need_source",
        "self._need(flow.passed[argument.index - flow.own_arguments] if result is None else parent.results[result])",
        "self._need(flow.passed[argument.index - flow.own_arguments]) if result is None else None",
        CARRIED,
        "dce",
    ),
    Mutation(
        "licm: the first carried value taken for a constant",
        _OPTIMIZE + "licm:_hoist",
        "constants = block.args[first : first + fixed]",
        "constants = block.args[first : first + fixed + 1]",
        CARRIED,
        "licm",
        ("rewrite", "hoist"),
    ),
    Mutation(
        "to-core: the initial value of a reduction forgotten",
        "wengert.transforms.core.recognisers.reductions:recognise_reduce",
        "combine_with_scalar(b, kind, reduced, b.convert(initial, element(result)))",
        "reduced",
        PRODUCTS.replace("%5 init: %zero", "%5 init: %five").replace("  %low =", "  %five = stablehlo.constant dense<5.0> : tensor<f64>\n  %low ="),
        "to-core",
        ("rewrite", "recognise-reduce"),
    ),
)
