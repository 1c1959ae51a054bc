"""Locations of ops that came from several: what they list, in which order, and how they are bounded."""

from __future__ import annotations

from xdsl.dialects.builtin import UNKNOWN_LOC, FusedLoc, LocationAttr

from wengert.dialects import stablehlo
from wengert.ir.location.fused import MOST_SOURCES, MOST_TOGETHER, absorbing, merged, merged_all, together
from wengert.ir.location.locations import Certainty, Role, at, called_from, derived, left_off, provenance, rewritten, sources, written_op
from wengert.ir.location.places import origin
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import f64, tensor
from wengert.ir.traversal import all_ops

SCALAR = tensor((), f64)


def sine(location: LocationAttr) -> stablehlo.SineOp:
    return stablehlo.SineOp.create(operands=[], result_types=[SCALAR], location=location)


def merging(location: LocationAttr) -> str:
    assert isinstance(location, FusedLoc)
    return str(location.metadata)


def place(line: int) -> LocationAttr:
    return at("f.mlir", line, 3)


def test_an_op_that_is_two_lists_both() -> None:
    location = merged(place(1), place(2), "cse", "stablehlo.sine")
    assert [(s.place, s.op_name, s.certainty) for s in sources(location, "stablehlo.sine")] == [
        (place(1), "stablehlo.sine", Certainty.EXACT),
        (place(2), "stablehlo.sine", Certainty.EXACT),
    ]
    assert merging(location) == '"cse"'
    assert origin(location) == place(1)


def test_equal_and_unknown_locations_add_nothing() -> None:
    one = place(1)
    assert merged(one, one, "cse") is one
    assert merged(one, place(1), "cse") is one
    assert merged(one, UNKNOWN_LOC, "cse") is one
    assert merged(UNKNOWN_LOC, one, "cse") is one
    twice = merged(merged(one, place(2), "cse"), place(1), "cse")
    assert [s.place for s in sources(twice)] == [place(1), place(2)]


def test_what_is_left_off_is_counted() -> None:
    location = merged_all((place(line) for line in range(1, MOST_SOURCES + 6)), "vjp")
    assert len(sources(location)) == MOST_SOURCES
    assert left_off(location) == 5
    assert merging(location) == '"vjp +5"'
    assert left_off(merged(location, place(99), "cse")) == 6


def test_ops_of_the_program_come_before_derived_ones() -> None:
    coefficient = derived(sine(place(1)), Role.COEFFICIENT, "vjp")
    location = merged(coefficient, place(2), "vjp", "stablehlo.cosine")
    assert provenance(location) is None
    assert [s.role for s in sources(location, "stablehlo.cosine")] == [None, Role.COEFFICIENT]
    assert [s.op_name for s in sources(location, "stablehlo.cosine")] == ["stablehlo.cosine", "stablehlo.sine"]


def test_each_source_keeps_the_name_that_was_written() -> None:
    """Of a rewritten op and one that is as it was written, each has its own name."""
    recognised = rewritten(place(1), "stablehlo.reduce", "to-core")
    assert [s.op_name for s in sources(merged(recognised, place(2), "cse", "core.reduce"))] == ["stablehlo.reduce", "core.reduce"]
    assert [s.op_name for s in sources(merged(place(2), recognised, "cse", "core.reduce"))] == ["core.reduce", "stablehlo.reduce"]


def test_derived_ops_name_the_op_as_it_was_written() -> None:
    recognised = sine(called_from(rewritten(place(1), "stablehlo.while", "to-core"), place(9)))
    assert written_op(recognised) == "stablehlo.while"
    known = provenance(derived(recognised, Role.COTANGENT, "vjp"))
    assert known is not None
    assert known.op_name == "stablehlo.while"
    (source,) = sources(derived(recognised, Role.COTANGENT, "vjp"))
    assert source.callers == (place(9),)


def test_a_rewrite_keeps_what_is_known_of_a_derived_op() -> None:
    cotangent = derived(sine(place(1)), Role.COTANGENT, "vjp")
    assert rewritten(cotangent, "stablehlo.multiply", "simplify") == cotangent


def test_ops_that_were_looked_through_are_inferred_sources() -> None:
    location = absorbing(place(1), sine(place(2)), "simplify")
    exact, inferred = sources(location, "stablehlo.multiply")
    assert exact.certainty is Certainty.EXACT
    assert (inferred.certainty, inferred.op_name, inferred.passes) == (Certainty.INFERRED, "stablehlo.sine", ("simplify",))
    assert [s.place for s in sources(absorbing(place(1), sine(place(1)), "simplify"))] == [place(1)]


def test_kernels_list_what_they_are_put_together_of() -> None:
    location = together([sine(place(line)) for line in range(1, MOST_TOGETHER + 3)], "fuse")
    assert len(sources(location)) == MOST_TOGETHER
    assert left_off(location) == 2
    assert {s.op_name for s in sources(location)} == {"stablehlo.sine"}
    assert together([sine(place(1))], "fuse") == rewritten(place(1), "stablehlo.sine", "fuse")


def test_a_location_that_nobody_has_looked_at_is_the_same() -> None:
    def make() -> LocationAttr:
        return merged(merged(place(1), place(2), "vjp"), place(3), "cse")

    looked_at = make()
    assert sources(looked_at)
    assert make() == looked_at
    assert looked_at == make()
    assert hash(make()) == hash(looked_at)
    assert isinstance(make(), FusedLoc)
    assert make() != merged(place(1), place(2), "vjp")


def test_an_unknown_source_is_said_to_be_unknown() -> None:
    (source,) = sources(UNKNOWN_LOC, "stablehlo.sine")
    assert source.certainty is Certainty.UNKNOWN


def test_fused_locations_are_read_back_as_they_are_printed() -> None:
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64>\n  return %0 : tensor<f64>\n}"
    module = parse_module(text, "p.mlir")
    op = next(op for op in all_ops(module) if isinstance(op, stablehlo.SineOp))
    op.location = absorbing(merged_all((place(line) for line in range(1, MOST_SOURCES + 6)), "vjp"), sine(place(50)), "simplify")
    again = parse_module(print_module(module, locations=True), "q.mlir")
    (copied,) = (op for op in all_ops(again) if isinstance(op, stablehlo.SineOp))
    assert copied.location == op.location
    assert sources(copied.location) == sources(op.location)
