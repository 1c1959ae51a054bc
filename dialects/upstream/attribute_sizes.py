"""How many numbers the attributes of upstream ops hold, and which, as their operands, results and each other say.

All attributes are there and of their kinds (:mod:`wengert.dialects.upstream.attribute_kinds`), and groups of operands have the sizes that are said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.upstream.arities import group_sizes
from wengert.dialects.upstream.attribute_kinds import list_of, nested_of, numbers_of
from wengert.dialects.upstream.named_linalg import CONTRACTIONS, CONVOLUTIONS, POOLINGS
from wengert.dialects.upstream.scalar_forms import CMPF, CMPI
from wengert.ir.tensor_types import DYNAMIC

Check = Callable[[Operation], str]


def wrong_size(op: Operation) -> str:
    """Which attribute of an op has the wrong numbers, or too many or too few, or nothing."""
    check = _CHECKS.get(op.name)
    return "" if check is None else check(op)


def _numbers(op: Operation, name: str) -> Sequence[int]:
    return numbers_of(op.attributes.get(name)) or ()


def _rank(value: SSAValue) -> int | None:
    """The rank of a tensor or buffer; None for a scalar, and where it is not known."""
    return len(value.type.get_shape()) if isinstance(value.type, ShapedType) else None


def _group(op: Operation, number: int) -> int:
    """How many operands a group has."""
    sizes = group_sizes(op)
    return 0 if sizes is None else sizes[number]


def _long(name: str, numbers: Sequence[int], count: int | None) -> str:
    """A complaint about an array that is not of this length; None is any."""
    return "" if count is None or len(numbers) == count else f"attribute '{name}' must have {count} number{'s' * (count != 1)}, found {list(numbers)}"


def _open(name: str, numbers: Sequence[int], count: int) -> str:
    """A complaint about an array that leaves open more or fewer numbers than there are operands for."""
    given = sum(n == DYNAMIC for n in numbers)
    return "" if given == count else f"attribute '{name}' leaves {given} number{'s' * (given != 1)} to operands, of which there are {count}"


def _places(name: str, numbers: Sequence[int], rank: int | None) -> str:
    """A complaint about numbers that are not different dimensions of a tensor of a rank."""
    if rank is None or (len(set(numbers)) == len(numbers) and all(0 <= n < rank for n in numbers)):
        return ""
    return f"attribute '{name}' must have different dimensions of rank {rank}, found {list(numbers)}"


def _first(*problems: str) -> str:
    return next(filter(None, problems), "")


def _mixed(op: Operation, names: Sequence[str], first: int, counts: Sequence[int | None]) -> str:
    """Arrays of these lengths, whose open numbers are groups of operands from a first one on."""
    given = [_numbers(op, name) for name in names]
    lengths = [_long(name, numbers, count) for name, numbers, count in zip(names, given, counts, strict=True)]
    return _first(*lengths, *[_open(name, numbers, _group(op, first + k)) for k, (name, numbers) in enumerate(zip(names, given, strict=True))])


_SLICE = ("static_offsets", "static_sizes", "static_strides")


def _slice_of(operand: int, first: int) -> Check:
    return lambda op: _mixed(op, _SLICE, first, [_rank(op.operands[operand])] * 3)


def _reinterpreted(op: Operation) -> str:
    return _mixed(op, _SLICE, 1, [1, *[_rank(op.results[0])] * 2])


def _pad(op: Operation) -> str:
    return _mixed(op, ("static_low", "static_high"), 1, [_rank(op.operands[0])] * 2)


def _forall(op: Operation) -> str:
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    steps = _numbers(op, names[2])
    wrong = _mixed(op, names, 0, [len(_numbers(op, names[0]))] * 3)
    return wrong or ("" if all(step > 0 or step == DYNAMIC for step in steps) else f"steps must be positive, found {list(steps)}")


def _packed(packs: bool) -> Check:
    def check(op: Operation) -> str:
        rank = _rank(op.operands[0 if packs else 1])
        dims, tiles, order = (_numbers(op, name) for name in ("inner_dims_pos", "static_inner_tiles", "outer_dims_perm"))
        permuted = _long("outer_dims_perm", order, rank) if order else ""
        small = "" if all(n > 0 or n == DYNAMIC for n in tiles) else f"attribute 'static_inner_tiles' must have positive numbers, found {list(tiles)}"
        mixed = _mixed(op, ("static_inner_tiles",), 3 if packs else 2, [len(dims)])
        return _first(mixed, _places("inner_dims_pos", dims, rank), permuted, _places("outer_dims_perm", order, rank), small)

    return check


def _groups(parts: int | None, whole: int | None, groups: Sequence[Sequence[int]]) -> str:
    """A complaint about groups of dimensions that are not, one after the other, those of the finer of two shapes."""
    covers = whole is None or [d for group in groups for d in group] == list(range(whole))
    if covers and (parts is None or len(groups) == parts):
        return ""
    return f"attribute 'reassociation' must have {parts} groups of the dimensions of rank {whole}, found {[list(group) for group in groups]}"


def _expand(op: Operation) -> str:
    source, result = _rank(op.operands[0]), _rank(op.results[0])
    problem = _groups(source, result, nested_of(op.attributes["reassociation"]) or [])
    if problem or "static_output_shape" not in op.attributes:
        return problem
    static = _numbers(op, "static_output_shape")
    return _first(_long("static_output_shape", static, result), _open("static_output_shape", static, len(op.operands) - 1) if op.operands[1:] else "")


def _collapse(op: Operation) -> str:
    return _groups(_rank(op.results[0]), _rank(op.operands[0]), nested_of(op.attributes["reassociation"]) or [])


def _basis(op: Operation) -> str:
    """A base for each digit, that of the first of which may be left out."""
    lists = op.name == "affine.linearize_index"
    digits, dynamic = (_group(op, 0), _group(op, 1)) if lists else (len(op.results), len(op.operands) - 1)
    basis = _numbers(op, "static_basis")
    wrong = "" if len(basis) in (digits, digits - 1) else f"attribute 'static_basis' must have {digits} numbers, or one fewer, found {list(basis)}"
    return wrong or _open("static_basis", basis, dynamic)


def _affine_for(op: Operation) -> str:
    maps = [cast(AffineMapAttr, op.attributes[name]).data for name in ("lowerBoundMap", "upperBoundMap")]
    step = cast("IntegerAttr[Any]", op.attributes["step"]).value.data
    counts = [
        f"its bound takes {map.num_dims + map.num_symbols} operands, found {_group(op, k)}"
        for k, map in enumerate(maps)
        if map.num_dims + map.num_symbols != _group(op, k)
    ]
    return _first(*counts, "" if all(map.results for map in maps) else "a bound has no value", "" if step > 0 else f"the step must be positive, found {step}")


def _affine_parallel(op: Operation) -> str:
    steps = [entry.value.data for entry in list_of(op.attributes["steps"], IntegerAttr) or []]
    for side in ("lower", "upper"):
        name, groups = f"{side}BoundsGroups", _numbers(op, f"{side}BoundsGroups")
        values = len(cast(AffineMapAttr, op.attributes[f"{side}BoundsMap"]).data.results)
        if min(groups, default=1) < 1 or sum(groups) != values:
            return f"attribute '{name}' must split {values} bounds, found {list(groups)}"
        if len(groups) != len(steps):
            return f"expected a step for each of {len(groups)} dimensions, found {len(steps)}"
    return "" if min(steps, default=1) > 0 else f"steps must be positive, found {steps}"


def _indexing(op: Operation) -> str:
    """Maps of one iteration space, one for each operand, to as many dimensions as it has."""
    given = op.attributes.get("indexing_maps")
    if given is None:
        return ""
    maps = [entry.data for entry in list_of(given, AffineMapAttr) or []]
    if not maps and op.name not in ("linalg.generic", "linalg.contract"):
        return ""
    if len(maps) != len(op.operands):
        return f"attribute 'indexing_maps' must have a map for each of {len(op.operands)} operands, found {len(maps)}"
    if any(map.num_dims != maps[0].num_dims or map.num_symbols for map in maps):
        return "indexing maps must be of the same dimensions, without symbols"
    for map, operand in zip(maps, op.operands, strict=True):
        rank = _rank(operand)
        if len(map.results) != (rank or 0):
            return f"an indexing map gives {len(map.results)} positions for {operand.type}"
    return ""


def _generic(op: Operation) -> str:
    problem = _indexing(op)
    kinds = cast("ArrayAttr[Attribute]", op.attributes["iterator_types"]).data
    maps = list_of(op.attributes["indexing_maps"], AffineMapAttr)
    if problem or not maps:
        return problem
    unknown = next((str(kind) for kind in kinds if not re.search(r"\b(parallel|reduction|window)\b", str(kind))), None)
    if unknown is not None:
        return f"there is no kind of loop {unknown}"
    count = maps[0].data.num_dims
    return "" if len(kinds) == count else f"attribute 'iterator_types' must have {count} kinds, found {len(kinds)}"


def _windowed(spelling: str) -> Check:
    """Steps of the dimensions that a window moves along: one for each, or one for all."""
    count = sum(letter.isupper() for letter in spelling)

    def check(op: Operation) -> str:
        for name in ("strides", "dilations"):
            steps = numbers_of(op.attributes.get(name))
            if steps is not None and (len(steps) not in (1, count) or min(steps) < 1):
                return f"attribute '{name}' must have {count} positive number{'s' * (count != 1)}, found {list(steps)}"
        return ""

    return check


def _dimension(name: str, of: int = 0) -> Check:
    return lambda op: _places(name, [cast("IntegerAttr[Any]", op.attributes[name]).value.data], _rank(op.operands[of]))


def _picked(name: str, of: int, indices: int) -> Check:
    """The dimensions that an index of so many numbers is for."""

    def check(op: Operation) -> str:
        dims, type = _numbers(op, name), op.operands[indices].type
        shape = type.get_shape() if isinstance(type, ShapedType) else ()
        return _long(name, dims, shape[-1] if shape and shape[-1] != DYNAMIC else None) or _places(name, dims, _rank(op.operands[of]))

    return check


def _reduce(op: Operation) -> str:
    dims, ranks = _numbers(op, "dimensions"), [_rank(operand) for operand in op.operands]
    wrong = _places("dimensions", dims, ranks[0])
    kept = None if ranks[0] is None else ranks[0] - len(dims)
    outputs = ranks[len(ranks) // 2 :]
    return wrong or (
        "" if kept is None or all(rank in (kept, None) for rank in outputs) else f"expected outputs of rank {kept}, without the dimensions {list(dims)}"
    )


def _transpose(op: Operation) -> str:
    order, rank = _numbers(op, "permutation"), _rank(op.operands[0])
    return _long("permutation", order, rank) or _places("permutation", order, rank)


def _broadcast(op: Operation) -> str:
    added, ranks = _numbers(op, "dimensions"), [_rank(operand) for operand in op.operands]
    surplus = None if None in ranks else cast(int, ranks[1]) - cast(int, ranks[0])
    return _long("dimensions", added, surplus) or _places("dimensions", added, ranks[1])


def _cases(op: Operation) -> str:
    return _long("cases", _numbers(op, "cases"), len(op.regions) - 1)


def _predicate(words: Sequence[str]) -> Check:
    def check(op: Operation) -> str:
        number = cast("IntegerAttr[Any]", op.attributes["predicate"]).value.data
        return "" if 0 <= number < len(words) else f"there is no predicate {number}: they are 0 to {len(words) - 1}"

    return check


def _named_predicate(op: Operation) -> str:
    written = op.attributes.get("pred")
    known = re.search(rf"\b({'|'.join(CMPI)})\b", str(written))
    return "" if known else f"attribute 'pred' must be one of the predicates {', '.join(CMPI)}" + ("" if written is None else f", found {written}")


def _constant(op: Operation) -> str:
    value, type = op.attributes.get("value"), op.results[0].type
    own = getattr(value, "type", None)
    if value is None or not isinstance(own, Attribute):
        return "attribute 'value' is missing" if value is None else f"constants are numbers and dense<...>, found {value}"
    return "" if own == type else f"the value is of type {own}, the result of {type}"


_CHECKS: dict[str, Check] = {
    "affine.delinearize_index": _basis,
    "affine.for": _affine_for,
    "affine.linearize_index": _basis,
    "affine.parallel": _affine_parallel,
    "arith.cmpf": _predicate(CMPF),
    "arith.cmpi": _predicate(CMPI),
    "arith.constant": _constant,
    "index.cmp": _named_predicate,
    "linalg.broadcast": _broadcast,
    "linalg.generic": _generic,
    "linalg.pack": _packed(True),
    "linalg.reduce": _reduce,
    "linalg.softmax": _dimension("dimension"),
    "linalg.transpose": _transpose,
    "linalg.unpack": _packed(False),
    **{f"linalg.{name}": _indexing for name in (*CONTRACTIONS, "contract", "elementwise")},
    **{f"linalg.{name}": _windowed(spelling) for name, spelling in (*CONVOLUTIONS.items(), *POOLINGS.items())},
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.reinterpret_cast": _reinterpreted,
    "memref.subview": _slice_of(0, 1),
    "scf.forall": _forall,
    "scf.index_switch": _cases,
    "tensor.collapse_shape": _collapse,
    "tensor.concat": _dimension("dim"),
    "tensor.expand_shape": _expand,
    "tensor.extract_slice": _slice_of(0, 1),
    "tensor.gather": _picked("gather_dims", 0, 1),
    "tensor.insert_slice": _slice_of(1, 2),
    "tensor.pad": _pad,
    "tensor.parallel_insert_slice": _slice_of(1, 2),
    "tensor.scatter": _picked("scatter_dims", 1, 2),
}
