"""LAPACK calls, as JAX writes them for the CPU, and core's matrix factorisations.

A call names a routine and its options in letters: ``lapack_dgetrf_ffi``, ``uplo = 76`` ('L'). Those that factorise a matrix or
solve a triangular or tridiagonal system become the core (or StableHLO) op for it; ``geqrf`` and ``orgqr``, which make a QR decomposition
between them, become one op. All others stay calls. On the way back each op is written as the call again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, DictionaryAttr, IndexType, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import Transpose, TransposeAttr
from wengert.ir.attributes import bool_attr, int_attr, int_of, ints
from wengert.ir.location.fused import merged
from wengert.ir.location.places import error_at
from wengert.ir.pipeline import changes
from wengert.ir.tensor_types import c64, c128, element, f32, f64, i32, is_complex, shape, tensor, ui8
from wengert.ir.traversal import ops_of
from wengert.ir.verification.typing_rules import TYPING_RULES
from wengert.transforms.core.recognisers.systems import take_rows
from wengert.transforms.rewriter import Rewriter

_LETTERS: dict[Attribute, str] = {f32: "s", f64: "d", c64: "c", c128: "z"}
Values = Sequence[SSAValue]


def recognise_lapack(module: ModuleOp) -> bool:
    """Replaces the LAPACK calls of a module that stand for an op, in place; returns whether there were any."""
    changed = False
    for op in ops_of(module, hlo.CustomCallOp):
        routine = _routine(op)
        if op.parent is None or routine not in _RECOGNISERS:
            continue
        _check_signature(op, routine)
        rewriter, before = Rewriter("to-core"), op.prev_op
        rewriter.move_to(op)
        if (values := _RECOGNISERS[routine](rewriter, op)) is not None:
            _check_made(op, before, values)
            rewriter.replace(op, values)
            changed = True
    return changed


def _check_signature(op: hlo.CustomCallOp, routine: str) -> None:
    """Refuses a call of a known routine with other operands and results than it has."""
    operands, results = _SIGNATURES[routine]
    if len(op.inputs) != len(operands) or len(op.results) not in results:
        counts = f"{len(op.inputs)} and {len(op.results)}"
        wanted = f"{len(operands)} operands and {' or '.join(map(str, results))} results"
        raise error_at(op, f"@{op.call_target_name.data} has {wanted}, found {counts}")
    for number, (value, dimensions) in enumerate(zip(op.inputs, operands, strict=True)):
        type = value.type
        if not isinstance(type, TensorType) or len(type.get_shape()) < dimensions:
            needed = "a matrix" if dimensions == 2 else "a vector"
            raise error_at(op, f"operand {number} of @{op.call_target_name.data} must be {needed}, or a batch of them, found {type}")


def _check_made(op: hlo.CustomCallOp, before: Operation | None, values: Values) -> None:
    """Refuses a call whose operands and results do not fit each other: a call is not typed, the ops that stand for it are, and LAPACK would write beyond its
    results."""
    assert op.parent is not None
    made = op.parent.first_op if before is None else before.next_op
    while made is not None and made is not op:
        if (rule := TYPING_RULES.get(type(made))) is not None:
            try:
                rule(made)
            except VerifyException as error:
                raise error_at(op, f"@{op.call_target_name.data} does not fit its operands: {error}") from None
        made = made.next_op
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        if value.type != result.type:
            raise error_at(op, f"result {number} of @{op.call_target_name.data} must be {value.type}, found {result.type}")


def _routine(op: hlo.CustomCallOp) -> str:
    name = op.call_target_name.data
    return name[8:-4] if name.startswith("lapack_") and name.endswith("_ffi") and name[7] in "sdcz" else ""


def _option(op: hlo.CustomCallOp, key: str, default: str = "") -> str:
    """An option as its letter; a letter that LAPACK does not have where it is none."""
    code = op.options.get(key)
    return default if code is None else chr(code) if isinstance(code, int) and 0 < code < 128 else "?"


# -- to core


def _trsm(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    how = {"N": Transpose.NO_TRANSPOSE, "T": Transpose.TRANSPOSE, "C": Transpose.ADJOINT}.get(_option(op, "trans_x", "N"))
    if how is None:
        return None
    properties: dict[str, Attribute] = {
        "left_side": bool_attr(_option(op, "side") == "L"),
        "lower": bool_attr(_option(op, "uplo") == "L"),
        "unit_diagonal": bool_attr(_option(op, "diag") == "U"),
        "transpose_a": TransposeAttr(how),
    }
    return b.create(hlo.TriangularSolveOp, op.inputs, [op.results[0].type], properties)


def _potrf(b: OpBuilder, op: hlo.CustomCallOp) -> Values:
    # LAPACK leaves the other triangle as it was
    lower, a = _option(op, "uplo") == "L", op.inputs[0]
    factor, info = b.create(core.CholeskyOp, (a,), [r.type for r in op.results], {"lower": bool_attr(lower)})
    rank, places = len(shape(a)), tensor(shape(a), i32)
    inside = b.compare("GE" if lower else "LE", b.iota(rank - 2, places), b.iota(rank - 1, places))
    return [b.select(inside, factor, a), info]


def _getrf(b: OpBuilder, op: hlo.CustomCallOp) -> Values:
    return b.create(core.LuOp, op.inputs, [r.type for r in op.results])


def _syevd(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    if _option(op, "mode", "V") == "N" and op.results[0].first_use is not None:
        return None
    return b.create(core.EighOp, op.inputs, [r.type for r in op.results], {"lower": bool_attr(_option(op, "uplo") == "L")})


def _gesdd(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    mode, (overwritten, s, u, vh, info) = _option(op, "mode"), op.results
    if overwritten.first_use is not None or (mode == "N" and (u.first_use is not None or vh.first_use is not None)):
        return None
    a = op.inputs[0]
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    k_u, k_v = (m, n) if mode == "A" else (min(m, n), min(m, n))
    types = (tensor([*batch, m, k_u], element(a)), s.type, tensor([*batch, k_v, n], element(a)), info.type)
    properties: dict[str, Attribute] = {"full": bool_attr(mode == "A")}
    if _routine(op) == "gesvd":
        properties["by_iteration"] = bool_attr(True)
    new_u, new_s, new_vh, new_info = b.create(core.SvdOp, (a,), types, properties)
    return [a, new_s, new_u if mode != "N" else _unused(b, u), new_vh if mode != "N" else _unused(b, vh), new_info]


def _geev(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    *values, left, right, info = op.results
    asked = {key: _option(op, key) == "V" for key in ("compute_left", "compute_right")}
    if (left.first_use is not None and not asked["compute_left"]) or (right.first_use is not None and not asked["compute_right"]):
        return None
    w_type = tensor(shape(values[0]), element(left))
    w, new_left, new_right, new_info = b.create(core.EigOp, op.inputs, (w_type, left.type, right.type, info.type))
    parts = [b.real(w), b.imag(w)] if len(values) == 2 else [w]
    return [*parts, new_left, new_right, new_info]


def _unused(b: OpBuilder, value: SSAValue) -> SSAValue:
    """Something to stand for a result that nothing uses."""
    return b.zeros(cast("TensorType[Any]", value.type))


def _geqrf(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    """geqrf whose reflectors are only used by one orgqr, and whose packed result is read in its upper triangle otherwise."""
    packed, tau = op.results
    decomposed = _decomposition(b, op, packed, tau, op.inputs[0])
    return None if decomposed is None else [decomposed(op.inputs[0]), _unused(b, tau)]


def _geqp3(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    """geqp3 as a decomposition of the matrix with its columns in the order that geqp3 gives: the call is kept for its pivots."""
    packed, pivots, tau = op.results
    decomposed = _decomposition(b, op, packed, tau, op.inputs[0])
    if decomposed is None:
        return None
    order = b.insert(op.clone()).results[1]
    columns = take_rows(b, _transposed(b, op.inputs[0]), b.subtract(order, b.full_like(order, 1)))
    assert pivots.type == order.type
    return [decomposed(_transposed(b, columns)), order, _unused(b, tau)]


def _transposed(b: OpBuilder, x: SSAValue) -> SSAValue:
    rank = len(shape(x))
    return b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def _decomposition(b: OpBuilder, op: hlo.CustomCallOp, packed: SSAValue, tau: SSAValue, a: SSAValue) -> Callable[[SSAValue], SSAValue] | None:
    """A function that makes core.qr of a call that packs reflectors, given the matrix: it takes the place of the call that unpacks them, and gives r in the
    shape of what was packed. None where the reflectors are used otherwise."""
    generators = [use.operation for use in tau.uses]
    if len(generators) != 1:
        return None
    (generator,) = generators
    feeder = _unpacks(generator, packed)
    if feeder is None or not _read_above(packed, (generator, feeder)):
        return None
    columns = shape(generator.results[0])[-1]
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    if columns not in (min(m, n), m):
        return None

    def make(matrix: SSAValue) -> SSAValue:
        r_type = tensor([*batch, columns, n], element(a))
        q, r = b.create(core.QrOp, (matrix,), (generator.results[0].type, r_type), {"full": bool_attr(columns > min(m, n))})
        generator.results[0].replace_all_uses_with(q)
        assert isinstance(q.owner, Operation)
        for gone in dict.fromkeys((generator, feeder)):
            assert gone.parent is not None
            q.owner.location = merged(q.owner.location, gone.location, "to-core", gone.name)
            if changes.RECORDER is not None:
                changes.RECORDER.merged(gone, q.owner)
            gone.parent.erase_op(gone)
        high = [0] * len(batch) + [m - columns, 0]
        return r if m == columns else b.pad(r, b.scalar(0, element(r)), [0] * len(high), high)

    return make


def _unpacks(op: Operation, packed: SSAValue) -> Operation | None:
    """The op that takes the packed reflectors to the call that unpacks them: that call, or an op before it that drops columns or adds some."""
    if not isinstance(op, hlo.CustomCallOp) or _routine(op) not in ("orgqr", "ungqr"):
        return None
    given = op.inputs[0]
    if given is packed:
        return op
    feeder = given.owner
    if isinstance(feeder, hlo.SliceOp):
        fits = feeder.operand is packed and not any(ints(feeder.start_indices)) and shape(given)[:-1] == shape(packed)[:-1] and set(ints(feeder.strides)) == {1}
    elif isinstance(feeder, hlo.PadOp):
        inside = any(ints(feeder.edge_padding_low)) or any(ints(feeder.interior_padding)) or shape(given)[:-1] != shape(packed)[:-1]
        fits = feeder.operand is packed and not inside
    else:
        return None
    return feeder if fits and given.has_one_use() else None


def _read_above(packed: SSAValue, others: Sequence[Operation]) -> bool:
    """Whether all other uses select from it (or from a slice of it), as a program does that wants r and not reflectors."""
    for use in packed.uses:
        if use.operation in others:
            continue
        users = [u.operation for u in use.operation.results[0].uses] if isinstance(use.operation, hlo.SliceOp) else [use.operation]
        if not all(isinstance(user, hlo.SelectOp) for user in users):
            return False
    return True


def _gtsv(b: OpBuilder, op: hlo.CustomCallOp) -> Values | None:
    # what elimination leaves in the diagonals has no name in core
    if any(diagonal.first_use is not None for diagonal in op.results[:3]):
        return None
    solved = b.create(core.TridiagonalSolveOp, op.inputs, [r.type for r in op.results[3:]])
    return [*op.inputs[:3], *solved]


_RECOGNISERS: dict[str, Callable[[OpBuilder, hlo.CustomCallOp], Values | None]] = {
    "trsm": _trsm,
    "potrf": _potrf,
    "getrf": _getrf,
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
    "gesvd": _gesdd,
    "geev": _geev,
    "geqrf": _geqrf,
    "geqp3": _geqp3,
    "gtsv": _gtsv,
}


_SIGNATURES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "trsm": ((2, 2), (1,)),
    "potrf": ((2,), (2,)),
    "getrf": ((2,), (3,)),
    "syevd": ((2,), (3,)),
    "heevd": ((2,), (3,)),
    "gesdd": ((2,), (5,)),
    "gesvd": ((2,), (5,)),
    "geev": ((2,), (4, 5)),
    "geqrf": ((2,), (2,)),
    "geqp3": ((2, 1), (3,)),
    "gtsv": ((1, 1, 1, 2), (4, 5)),
}
"""The least rank of each operand of a routine, and how many results it may have."""

# -- back to calls


def _layout(rank: int, matrix: bool) -> Attribute:
    """Column-major for a matrix in the last two dimensions (LAPACK's order), else the dimensions in order of size of step."""
    order = [rank - 2, rank - 1, *reversed(range(rank - 2))] if matrix else list(reversed(range(rank)))
    type = TensorType(IndexType(), [rank])
    return DenseIntOrFPElementsAttr(cast(Any, type), BytesAttr(np.array(order, np.int64).tobytes()))


def lapack_call(b: OpBuilder, routine: str, inputs: Values, results: Sequence[Attribute], options: dict[str, str], batch: int) -> Values:
    """A LAPACK call as JAX writes it; operands and results with two dimensions more than the batch are matrices."""
    letter = _LETTERS.get(element(inputs[0]))
    if letter is None:
        raise error_at(b.location, f"LAPACK has no {routine} for elements of type {element(inputs[0])}", "convert to f32 or f64")
    ranks_in = [len(shape(x)) for x in inputs]
    ranks_out = [len(cast("TensorType[Any]", t).get_shape()) for t in results]
    properties: dict[str, Attribute] = {
        "api_version": int_attr(1, 32),
        "backend_config": StringAttr(""),
        "call_target_name": StringAttr(f"lapack_{letter}{routine}_ffi"),
        "called_computations": ArrayAttr([]),
        "has_side_effect": bool_attr(False),
        "operand_layouts": ArrayAttr([_layout(r, r == batch + 2) for r in ranks_in]),
        "result_layouts": ArrayAttr([_layout(r, r == batch + 2) for r in ranks_out]),
    }
    config = DictionaryAttr({key: IntegerAttr(ord(letter), ui8) for key, letter in options.items()})
    frontend = DictionaryAttr({"num_batch_dims": StringAttr(str(batch))})
    attributes = {"mhlo.backend_config": config, "mhlo.frontend_attributes": frontend}
    call = hlo.CustomCallOp.create(operands=inputs, result_types=results, properties=properties, attributes=attributes)
    return b.insert(call).results


def expand_cholesky(b: OpBuilder, op: core.CholeskyOp) -> Values:
    """potrf, and zeros in the other triangle."""
    lower, a = bool(int_of(op.lower)), op.a
    rank, places = len(shape(a)), tensor(shape(a), i32)
    packed, info = lapack_call(b, "potrf", [a], [a.type, op.info.type], {"uplo": "L" if lower else "U"}, rank - 2)
    inside = b.compare("GE" if lower else "LE", b.iota(rank - 2, places), b.iota(rank - 1, places))
    return [b.select(inside, packed, b.full_like(packed, 0)), info]


def expand_lu(b: OpBuilder, op: core.LuOp) -> Values:
    """getrf."""
    return lapack_call(b, "getrf", [op.a], [r.type for r in op.results], {}, len(shape(op.a)) - 2)


def expand_qr(b: OpBuilder, op: core.QrOp) -> Values:
    """geqrf for r, and orgqr for the columns of q."""
    a, batch = op.a, list(shape(op.a)[:-2])
    (m, n), columns = shape(a)[-2:], shape(op.q)[-1]
    k = min(m, n)
    packed, tau = lapack_call(b, "geqrf", [a], [a.type, tensor([*batch, k], element(a))], {}, len(batch))
    zeros, places = [0] * (len(batch) + 2), tensor(shape(op.r), i32)
    r = packed if columns == m else b.slice(packed, zeros, [*batch, columns, n])
    above = b.compare("LE", b.iota(len(batch), places), b.iota(len(batch) + 1, places))
    r = b.select(above, r, b.full_like(r, 0))
    reflectors = packed
    if columns < n:
        reflectors = b.slice(packed, zeros, [*batch, m, columns])
    elif columns > n:
        reflectors = b.pad(packed, b.scalar(0, element(a)), zeros, [*[0] * (len(batch) + 1), columns - n])
    routine = "ungqr" if is_complex(element(a)) else "orgqr"
    return [lapack_call(b, routine, [reflectors, tau], [op.q.type], {}, len(batch))[0], r]


def expand_eigh(b: OpBuilder, op: core.EighOp) -> Values:
    """syevd, with vectors if they are used."""
    routine = "heevd" if is_complex(element(op.a)) else "syevd"
    options = {"mode": "V" if op.vectors.first_use is not None else "N", "uplo": "L" if int_of(op.lower) else "U"}
    return lapack_call(b, routine, [op.a], [r.type for r in op.results], options, len(shape(op.a)) - 2)


def expand_svd(b: OpBuilder, op: core.SvdOp) -> Values:
    """gesdd or gesvd, with vectors if they are used."""
    used = op.u.first_use is not None or op.vh.first_use is not None
    mode = ("A" if int_of(op.full) else "S") if used else "N"
    types = [op.a.type, op.s.type, op.u.type, op.vh.type, op.info.type]
    routine = "gesvd" if op.by_iteration is not None and int_of(op.by_iteration) else "gesdd"
    _, s, u, vh, info = lapack_call(b, routine, [op.a], types, {"mode": mode}, len(shape(op.a)) - 2)
    return [u, s, vh, info]


def expand_eig(b: OpBuilder, op: core.EigOp) -> Values:
    """geev; a real matrix's eigenvalues come in two parts."""
    options = {key: "V" if value.first_use is not None else "N" for key, value in (("compute_left", op.left), ("compute_right", op.right))}
    w_type, batch = cast("TensorType[Any]", op.values.type), len(shape(op.a)) - 2
    vectors = [op.left.type, op.right.type, op.info.type]
    if is_complex(element(op.a)):
        return lapack_call(b, "geev", [op.a], [w_type, *vectors], options, batch)
    part = tensor(shape(op.values), element(op.a))
    re, im, left, right, info = lapack_call(b, "geev", [op.a], [part, part, *vectors], options, batch)
    return [b.complex(re, im), left, right, info]


def expand_tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp) -> Values:
    """gtsv, which also returns its diagonals."""
    types = [op.lower.type, op.main.type, op.upper.type, op.x.type, op.info.type]
    return lapack_call(b, "gtsv", op.operands, types, {}, len(shape(op.b)) - 2)[3:]
