"""The namespace beside array-api-strict, the standard's own reference: traced and at once, the same values, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

strict = pytest.importorskip("array_api_strict", reason="the standard's reference implementation")
import optree

import wengert as wg
import wengert.numpy as wnp

strict.set_array_api_strict_flags(api_version="2024.12")
RNG = np.random.default_rng(0)
X, Y, POSITIVE, SMALL = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4)), 0.2 + RNG.random((3, 4)), RNG.random((3, 4)) - 0.5
F32, Z, I, J, B, U = X.astype(np.float32), X + 1j * Y, np.array([[5, -3, 2], [0, 7, -8]]), np.array([2, 3, -5]), X > 0, np.array([1, 200, 7], np.uint8)
SQUARE = np.array([[4.0, 1, 0.5], [1, 3, -0.2], [0.5, -0.2, 2]])

CASES: list[tuple[Any, ...]] = [
    *[(name, X) for name in "sin cos tan tanh sinh cosh exp expm1 atan asinh abs negative positive square sign ceil floor trunc round".split()],
    *[(name, F32) for name in "sin exp abs sign floor isnan".split()],
    *[(name, POSITIVE) for name in "log log1p log2 log10 sqrt reciprocal".split()],
    *[(name, SMALL) for name in "asin acos atanh".split()],
    ("acosh", POSITIVE + 1),
    *[(name, Z) for name in "abs conj real imag exp sin cos tanh sqrt log square sign negative isfinite isnan isinf".split()],
    *[(name, I) for name in "abs negative positive square sign ceil floor trunc round isfinite isnan isinf bitwise_invert".split()],
    *[(name, X, Y) for name in "add subtract multiply divide floor_divide remainder maximum minimum hypot atan2 logaddexp copysign nextafter".split()],
    *[(name, X, Y) for name in "equal not_equal less less_equal greater greater_equal".split()],
    *[(name, I, J) for name in "add subtract multiply floor_divide remainder maximum minimum bitwise_and bitwise_or bitwise_xor equal less".split()],
    *[(name, U, U) for name in "add subtract multiply floor_divide remainder bitwise_and bitwise_right_shift".split() if name != "bitwise_right_shift"],
    *[(name, I, np.array([1, 2, 3])) for name in "bitwise_left_shift bitwise_right_shift pow".split() if name != "pow"],
    ("pow", POSITIVE, Y),
    ("pow", np.array([2, -3, 4]), np.array([3, 2, 0])),
    *[(name, B, X < 1) for name in "logical_and logical_or logical_xor bitwise_and equal".split()],
    ("logical_not", B),
    ("signbit", np.array([-0.0, 0.0, -1.0, np.nan])),
    ("clip", X, -0.3, 0.4),
    ("where", B, X, Y),
    ("sum", I),
    ("sum", F32, {"axis": 1}),
    ("sum", U),
    ("sum", np.ones((2, 3), np.int8), {"axis": 0}),
    ("prod", X, {"axis": (0, 1)}),
    ("mean", X, {"axis": 0, "keepdims": True}),
    *[(name, X, {"axis": 1}) for name in "max min argmax argmin cumulative_sum cumulative_prod any all count_nonzero".split()],
    ("var", X, {"axis": 1, "correction": 1}),
    ("std", F32, {"axis": 0}),
    ("cumulative_sum", J, {"include_initial": True}),
    ("diff", X, {"n": 2}),
    ("argmax", X),
    ("argmin", X, {"axis": 0, "keepdims": True}),
    ("sort", X, {"axis": 0}),
    ("sort", X, {"descending": True}),
    ("sort", np.array([3.0, np.nan, -0.0, 0.0])),
    ("argsort", I, {"axis": 0}),
    ("argsort", J, {"descending": True}),
    ("searchsorted", np.array([1.0, 2.0, 2.0, 5.0]), np.array([0.0, 2.0, 3.0, 9.0])),
    ("searchsorted", np.array([1.0, 2.0, 2.0, 5.0]), np.array([0.0, 2.0, 3.0, 9.0]), {"side": "right"}),
    ("take", X, np.array([2, 0]), {"axis": 1}),
    ("take_along_axis", X, np.array([[1], [0], [3]]), {"axis": 1}),
    ("reshape", X, (2, -1)),
    ("permute_dims", X, (1, 0)),
    ("moveaxis", X, 0, 1),
    ("squeeze", X[None], 0),
    ("expand_dims", X, {"axis": 1}),
    ("broadcast_to", J, (2, 3)),
    ("flip", X, {"axis": 1}),
    ("roll", X, 2, {"axis": 1}),
    ("roll", X, (1, -1), {"axis": (0, 1)}),
    ("repeat", J, 2),
    ("tile", J, (2, 2)),
    ("tril", X, {"k": 1}),
    ("triu", X),
    ("matrix_transpose", X),
    ("unstack", X),
    ("matmul", X, Y.T),
    ("matmul", Z, Y.T),
    ("vecdot", Z, Z),
    ("tensordot", X, Y, {"axes": 2}),
    ("astype", X, np.float32),
    ("astype", I, np.float64),
    ("astype", B, np.int64),
    ("astype", F32, np.complex64),
    *[(f"linalg.{name}", SQUARE) for name in "cholesky det inv eigvalsh svdvals slogdet trace diagonal matrix_norm matrix_rank".split()],
    ("linalg.solve", SQUARE, X[:, :2]),
    ("linalg.matrix_power", SQUARE, 3),
    ("linalg.pinv", X),
    ("linalg.outer", J, J),
    ("linalg.cross", np.array([1.0, 2, 3]), np.array([0.5, -1, 2])),
    ("linalg.vector_norm", X, {"ord": 3, "axis": 1}),
    ("linalg.vector_norm", X, {"ord": float("inf")}),
    *[(f"fft.{name}", Z) for name in "fft ifft fftn ifftn hfft fftshift ifftshift".split()],
    *[(f"fft.{name}", X) for name in "rfft rfftn ihfft".split()],
    ("fft.irfft", Z, {"n": 5}),
    ("fft.fft", Z, {"n": 6, "norm": "ortho"}),
]


def resolved(namespace: Any, name: str, *arguments: Any) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    options = arguments[-1] if isinstance(arguments[-1], dict) else {}
    return namespace, [a for a in arguments if a is not options], options


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(str(getattr(a, 'dtype', a)) for a in case[1:])}"[:60])
def test_agrees_with_the_standard(case: tuple[Any, ...]) -> None:
    function, arguments, options = resolved(strict, *case)
    reference = function(
        *[strict.asarray(a) if isinstance(a, np.ndarray) else getattr(strict, np.dtype(a).name) if isinstance(a, type) else a for a in arguments], **options
    )
    wanted = [np.asarray(leaf) for leaf in optree.tree_leaves(tuple(reference) if isinstance(reference, tuple | list) else reference)]
    ours, arguments, options = resolved(wnp, *case)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]

    def call(*given: Any) -> Any:
        pending = iter(given)
        return ours(*[next(pending) if isinstance(a, np.ndarray) else a for a in arguments], **options)

    traced = wg.jit(call).program(*arrays).compile("interpreter")(*arrays)  # what is compared is what is traced
    for result in (traced, call(*arrays)):
        leaves = optree.tree_leaves(tuple(result) if isinstance(result, tuple | list) else result)
        assert [(leaf.dtype, leaf.shape) for leaf in leaves] == [(leaf.dtype, leaf.shape) for leaf in wanted]
        for leaf, reference in zip(leaves, wanted, strict=True):
            tolerance = 2e-6 if leaf.dtype in (np.float32, np.complex64) else 1e-12
            np.testing.assert_allclose(leaf, reference, rtol=tolerance, atol=tolerance)


def test_every_name_of_the_standard_is_there() -> None:
    missing = [name for name in strict.__all__ if not hasattr(wnp, name) and not name.startswith("_")]
    assert [name for name in missing if "strict_flags" not in name and not name.startswith("ArrayAPIStrict")] == ["Device"]
    for extension in ("linalg", "fft"):
        assert [n for n in getattr(strict, extension).__all__ if not hasattr(getattr(wnp, extension), n)] == []


def test_the_namespace_describes_itself() -> None:
    info = wnp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == wnp.zeros(1).dtype
    assert info.capabilities()["data-dependent shapes"] is False
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert wg.jit(lambda x: x.__array_namespace__().sin(x))(X).shape == X.shape


@pytest.mark.parametrize("name", ["nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_what_static_shapes_do_not_allow_says_so(name: str) -> None:
    with pytest.raises(wg.TracingError, match=f"the shape of the result of {name} depends on"):
        wg.jit(getattr(wnp, name))(J)
    assert np.size(getattr(wnp, name)(J)) >= 3


OPERANDS = [
    1,
    2.5,
    1j,
    True,
    np.int8(3),
    np.float32(2),
    np.arange(3, dtype=np.uint8),
    np.ones(3, np.float32),
    np.ones(3),
    np.ones(3, np.complex64),
    np.array([True, False, True]),
]


@pytest.mark.parametrize("x", [np.ones(3, d) for d in ("int8", "int64", "uint8", "float32", "float64", "complex64", "bool")], ids=lambda x: x.dtype.name)
def test_dtypes_of_mixed_operands_are_numpys(x: np.ndarray[Any, Any]) -> None:
    functions = (wnp.add, wnp.multiply, lambda a, b: wnp.where(True, a, b))
    call = lambda a: [function(a, other) for other in OPERANDS for function in functions]
    for actual, wanted in zip(wg.jit(call).program(x).compile("interpreter")(x), call(x), strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)


def test_isin_has_a_static_shape() -> None:
    np.testing.assert_array_equal(wg.jit(lambda x: wnp.isin(x, J))(I), np.isin(I, J))
    np.testing.assert_array_equal(wg.jit(lambda x: wnp.isin(I, x, invert=True))(J), np.isin(I, J, invert=True))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64", "float32", "float64"])
def test_division_by_zero_as_at_once(dtype: str) -> None:
    """Traced floor division gives what NumPy gives, for integers too, and its derivative is zero."""
    sign = 1 if dtype.startswith("u") else -1
    x, y = (np.array(v).astype(dtype) for v in ([5, 5 * sign, 0, 7, 7 * sign], [0, 0, 0, 2, 2]))
    with np.errstate(all="ignore"):
        expected = x // y, x % y
    for actual, right in zip(wg.jit(lambda x, y: (x // y, x % y))(x, y), expected, strict=True):
        np.testing.assert_array_equal(actual, right, strict=True)
    if dtype.startswith("f"):
        assert not wg.grad(lambda x: wnp.sum(x // y))(x).any()


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_floored_division_and_sign_at_special_values(backend: str) -> None:
    """Every pair of signed zeros, infinities, NaN and numbers: NumPy's value with NumPy's sign of zero."""
    special = np.array([0.0, -0.0, 1, -1, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e300, 5e-324, -7.25])
    x, y = (np.ravel(v) for v in np.meshgrid(special, special))
    call = lambda x, y: (wnp.floor_divide(x, y), wnp.remainder(x, y), wnp.sign(x))
    with np.errstate(all="ignore"):
        expected = call(x, y)
    for actual, right in zip(wg.jit(call).program(x, y).compile(backend)(x, y), expected, strict=True):
        np.testing.assert_array_equal(actual, right)
        np.testing.assert_array_equal(np.signbit(actual)[~np.isnan(right)], np.signbit(right)[~np.isnan(right)])
    np.testing.assert_array_equal(wg.grad(lambda x: wnp.sum(x % 2.0))(np.array([-4.0, -0.0, 0.0, 2.0, 3.0])), np.ones(5))


@pytest.mark.parametrize("dtype", [np.float32, np.dtype(np.float32), wnp.complex64, np.ones(2, np.float32)], ids=repr)
def test_limits_of_floats_are_pythons_numbers(dtype: Any) -> None:
    limits = wnp.finfo(dtype)
    assert {name: type(getattr(limits, name)) for name in ("bits", "eps", "max", "min", "smallest_normal")} == {
        "bits": int,
        "eps": float,
        "max": float,
        "min": float,
        "smallest_normal": float,
    }
    assert (limits.bits, limits.dtype, limits.tiny) == (32, np.float32, limits.smallest_normal)


def test_dtypes_are_also_numpys_scalar_types() -> None:
    assert (wnp.iinfo(np.int8).max, wnp.iinfo(np.ones(1, np.uint8)).max) == (127, 255)
    assert wnp.result_type(np.float32, np.int8, 1.0) == np.float32
    assert wnp.result_type(np.int8, np.ones(1, np.uint8), 3) == np.int16
    assert wnp.can_cast(np.int8, wnp.int16)
    with pytest.raises(ValueError, match="result_type needs an array or a dtype"):
        wnp.result_type()
    taken = wg.jit(lambda x: x * wnp.finfo(x).eps + wnp.astype(x, wnp.result_type(x, np.float32)))(np.ones(2, np.float32))
    assert taken.dtype == np.float32


def test_arrays_that_belong_together_come_in_lists() -> None:
    assert [type(wnp.meshgrid(J, J)), type(wnp.broadcast_arrays(J, I))] == [list, list]
    kinds: list[type] = []
    wg.jit(lambda x: (kinds.extend([type(wnp.meshgrid(x, x)), type(wnp.broadcast_arrays(x, I))]), x)[1])(J)
    assert kinds == [list, list]


CUBE = np.arange(24.0).reshape(2, 3, 4) - 10
MASK = CUBE % 3 == 0
MASKED: list[tuple[Any, Any, Any]] = [
    (lambda m: m, 5.0, MASK),
    (lambda m: (m, slice(None)), np.arange(4.0), MASK[:, :, 0]),
    (lambda m: (m, 1), 7.0, MASK[:, :, 0]),
    (lambda m: (slice(None), m), 9.0, MASK[0]),
    (lambda m: (0, m), 9.0, MASK[0]),
    (lambda m: (..., m), 9.0, MASK[0, 0]),
    (lambda m: (1, ..., m), np.arange(3.0), MASK[0, 0]),
    (lambda m: (None, m, ...), 2.0, MASK[:, 0, 0]),
    (lambda m: (slice(None), slice(0, 2), m), [[1.0], [2.0]], MASK[0, 0]),
    (lambda m: (slice(None, None, -1), m, 2), -1.0, MASK[0, :, 0]),
]


@pytest.mark.parametrize("case", MASKED, ids=range(len(MASKED)))
def test_updates_at_traced_masks(case: tuple[Any, Any, Any]) -> None:
    """What NumPy does with a concrete mask, and the derivative by the elements that remain."""
    key, y, mask = case
    for change in ("set", "add", "multiply", "min", "max"):
        call = lambda x, m, change=change: getattr(wnp.at(x)[key(m)], change)(np.asarray(y))
        np.testing.assert_array_equal(wg.jit(call)(CUBE, mask), call(CUBE, mask))
    kept = wg.grad(lambda x, m: wnp.sum(wnp.at(x)[key(m)].set(np.asarray(y))))(CUBE, mask)
    np.testing.assert_array_equal(kept, np.equal(wnp.at(np.full_like(CUBE, np.inf))[key(mask)].set(np.asarray(y)), np.inf))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.at[x > 0].set(np.ones(5)), r"cannot get an array of shape \(5,\)"),
        (lambda x: x.at[x[0] > 0].set(1), r"a mask of shape \(3, 4\) cannot choose among elements of shape \(2, 3\)"),
        (lambda x: x.at[x[:, :, 0] > 0, np.array([1, 2])].set(0), "beside a traced mask"),
        (lambda x: x[x > 0], "the shape of x.mask. depends on the elements"),
    ],
)
def test_masks_that_need_more_are_refused(call: Any, message: str) -> None:
    with pytest.raises(wg.TracingError, match=message):
        wg.jit(call)(CUBE)
